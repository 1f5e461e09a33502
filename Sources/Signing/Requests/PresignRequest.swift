/// A request that a presigned URL shall allow; the same for every scheme.
public struct PresignRequest: Sendable, Hashable {
    /// How the key is written in the path of the URL. What is signed stays the same.
    public enum PathForm: Sendable, Hashable {
        /// Percent-encoded, `/` kept.
        case slashKept
        /// Percent-encoded, `/` inside the key as `%2F`.
        case slashEscaped
        /// This path, which must decode to the bucket and key.
        indirect case asSent(String)

        /// Whether it is the one that most schemes sign as well.
        var isKey: Bool {
            switch self {
            case .slashKept: true
            case .slashEscaped, .asSent: false
            }
        }
    }

    /// Method in upper case.
    public var method: String
    /// Where the bucket is.
    public var address: BucketAddress
    /// The object's key, decoded; any text, also empty, which stands for the bucket.
    public var key: String
    /// Headers that the URL binds and the client must send; not `host`, which is always bound.
    public var headers: [NamedValue]
    /// Parameters of the query besides those of the signature, decoded.
    public var query: [NamedValue]
    /// Life of the URL in seconds.
    public var expiresInSeconds: Int
    /// How the key is written in the URL.
    public var pathForm: PathForm

    /// Puts a request together; it is checked when it is signed.
    public init(
        method: String,
        address: BucketAddress,
        key: String,
        headers: [NamedValue] = [],
        query: [NamedValue] = [],
        expiresInSeconds: Int,
        pathForm: PathForm = .slashKept
    ) {
        self.method = method
        self.address = address
        self.key = key
        self.headers = headers
        self.query = query
        self.expiresInSeconds = expiresInSeconds
        self.pathForm = pathForm
    }
}

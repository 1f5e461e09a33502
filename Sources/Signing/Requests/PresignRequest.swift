/// A request that a presigned URL allows. It is the same for every scheme.
public struct PresignRequest: Sendable, Hashable {
    /// How the key is written in the path of the URL. The form does not change what is signed.
    public enum PathForm: Sendable, Hashable {
        /// Percent-encoded except for `/`.
        case slashKept
        /// Percent-encoded, including `/` inside the key (`%2F`).
        case slashEscaped
        /// This path, which must decode to the bucket and key.
        indirect case asSent(String)

        /// Whether the path is written as most schemes sign it.
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
    /// The object's key, decoded. Any text is allowed; an empty key means the bucket.
    public var key: String
    /// Headers that the URL binds and the client must send, without `host`, which is always bound.
    public var headers: [NamedValue]
    /// Parameters of the query besides those of the signature, decoded.
    public var query: [NamedValue]
    /// Life of the URL in seconds.
    public var expiresInSeconds: Int
    /// How the key is written in the URL.
    public var pathForm: PathForm

    /// Describes a request. It is checked when it is signed.
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

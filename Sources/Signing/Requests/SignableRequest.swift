/// A request to be sent with an `Authorization` header; the same for every scheme.
public struct SignableRequest: Sendable, Hashable {
    /// Method in upper case.
    public var method: String
    /// Where the bucket is, or the service itself.
    public var address: BucketAddress
    /// The object's key, decoded; any text, also empty, which stands for the bucket.
    public var key: String
    /// Headers of the request besides those that the signer writes. One that it writes may be given with the same value.
    public var headers: [NamedValue]
    /// Parameters of the query, decoded.
    public var query: [NamedValue]
    /// What the signature says of the body; schemes older than version 4 do not look at it.
    public var payload: PayloadHash

    /// Puts a request together; it is checked when it is signed.
    public init(
        method: String,
        address: BucketAddress,
        key: String,
        headers: [NamedValue] = [],
        query: [NamedValue] = [],
        payload: PayloadHash = .unsigned
    ) {
        self.method = method
        self.address = address
        self.key = key
        self.headers = headers
        self.query = query
        self.payload = payload
    }
}

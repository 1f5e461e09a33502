/// A request that is sent with an `Authorization` header. It is the same for every scheme.
public struct SignableRequest: Sendable, Hashable {
    /// Method in upper case.
    public var method: String
    /// Where the bucket is, or the service itself.
    public var address: BucketAddress
    /// The object's key, decoded. Any text is allowed; an empty key means the bucket.
    public var key: String
    /// Headers of the request besides those that the signer writes. A header that the signer writes may be given with
    /// the same value.
    public var headers: [NamedValue]
    /// Parameters of the query, decoded.
    public var query: [NamedValue]
    /// What the signature says about the body. Schemes older than version 4 ignore it.
    public var payload: PayloadHash

    /// Describes a request. It is checked when it is signed.
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

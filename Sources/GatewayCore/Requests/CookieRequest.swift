/// A valid request for cookies with which a client downloads from a bucket's content delivery network.
public struct CookieRequest: Sendable, Equatable {
    /// What the cookies are to open, as a request for a session that downloads.
    let session: SessionRequest
    /// The listing of the bucket, as a request for a session; `nil` unless the cookies open the whole bucket. Their
    /// policy then names all URLs below the host, and the host's own URL lists the bucket.
    let listing: SessionRequest?
    /// Requested lifetime, in seconds. A lifetime above the permitted one is shortened.
    public let expiresIn: Int?

    /// The bucket.
    public var bucket: BucketName { session.bucket }
    /// The literal prefix that the cookies open; see ``KeyPrefix``.
    public var prefix: ExactText { session.prefix }

    /// Validates a request.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - prefix: Empty for the whole bucket, a text that ends in `/`, or one whole key; without the wildcards of
    ///     policies.
    ///   - expiresIn: At least 1 second, or `nil` for the bucket's default.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``.
    public init(bucket: BucketName, prefix: String, expiresIn: Int?) throws(GatewayError) {
        session = try SessionRequest(bucket: bucket, prefix: prefix, actions: [.getObject], duration: nil)
        listing =
            if prefix.isEmpty {
                try SessionRequest(bucket: bucket, prefix: prefix, actions: [.listObjects], duration: nil)
            } else {
                nil
            }
        if let expiresIn, expiresIn < 1 {
            throw .invalidArgument(field: "expiresIn", reason: "The value must be at least 1 second.")
        }
        self.expiresIn = expiresIn
    }

    /// What the cookies permit.
    var actions: Set<Action> { listing == nil ? [.getObject] : [.getObject, .listObjects] }

    /// The keys that the cookies are to open.
    var area: KeyArea { KeyArea(prefix: prefix) }
}

/// What a signed string allows: one operation on one object, or one listing, until one instant.
public struct StringPermission: Sendable, Hashable {
    /// Where the signature is used.
    public enum Use: Sendable, Hashable {
        /// In the `Authorization` header of a request near this date.
        case header(SigningInstant)
        /// In a URL that is valid until this instant.
        case presignedURL(expiresAt: SigningInstant)
    }

    /// The operation on the object.
    public let operation: ObjectOperation
    /// Name of the bucket, well-formed.
    public let bucket: String
    /// Key of the object, as ``KeySyntax`` allows it; empty for a listing.
    public let key: String
    /// Id of the multipart upload. The caller must be the one who started it.
    public let uploadID: String?
    /// Number of the part, 1…10,000.
    public let partNumber: Int?
    /// The content type that is bound. A request that gives the object its type has one.
    public let contentType: String?
    /// The MD5 of the body that is bound, base64 of 16 bytes.
    public let contentMD5: String?
    /// The length of the body that is bound.
    public let contentLength: Int64?
    /// In a header or in a URL.
    public let use: Use
    /// Last instant at which a store can be expected to accept the signature.
    public let validUntil: SigningInstant
    /// Further bound headers, names in lower case.
    public let headers: [NamedValue]
    /// Bound query parameters, except those of the signature.
    public let query: [NamedValue]
}

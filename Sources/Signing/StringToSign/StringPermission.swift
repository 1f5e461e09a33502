/// What whoever gets a string signed may do: exactly one thing with one object, until one instant.
public struct StringPermission: Sendable, Hashable {
    /// How the signature would be used.
    public enum Use: Sendable, Hashable {
        /// In the `Authorization` header of a request of about this date.
        case header(SigningInstant)
        /// In a URL that lives until then.
        case presignedURL(expiresAt: SigningInstant)
    }

    /// What it does with the object.
    public let operation: ObjectOperation
    /// Name of the bucket, well-formed.
    public let bucket: String
    /// Key of the object, one that nobody rewrites.
    public let key: String
    /// Id of the upload in parts; whoever asks has to be the one who started it.
    public let uploadID: String?
    /// Number of the part, 1…10,000.
    public let partNumber: Int?
    /// The content type that is bound; `nil` binds its absence where ``bindsAbsentContentType``.
    public let contentType: String?
    /// Whether a request with a content type is refused by the store when ``contentType`` is `nil`.
    public let bindsAbsentContentType: Bool
    /// The MD5 of the body that is bound, base64 of 16 bytes.
    public let contentMD5: String?
    /// The length of the body that is bound.
    public let contentLength: Int64?
    /// In a header or in a URL.
    public let use: Use
    /// Last instant at which a store can be expected to accept the signature.
    public let validUntil: SigningInstant
    /// Further headers that are bound, names in lower case.
    public let headers: [NamedValue]
    /// Query parameters that are bound, but for those of the signature.
    public let query: [NamedValue]
}

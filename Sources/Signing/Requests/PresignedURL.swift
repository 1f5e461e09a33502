/// A presigned URL with each stage that led to it.
public struct PresignedURL: Sendable, Hashable {
    /// The URL, to be given out as it stands.
    public let url: String
    /// Its percent-encoded path.
    public let path: String
    /// Its query, decoded, in the URL's order.
    public let query: [NamedValue]
    /// What the scheme makes of the request; empty for a scheme that signs the request itself.
    public let canonicalRequest: String
    /// What is signed.
    public let stringToSign: String
    /// The signature, in hexadecimal or base64 as the scheme has it.
    public let signature: String
    /// Headers that the client must send, names in lower case, values as they were given.
    public let requiredHeaders: [NamedValue]
}

/// A presigned URL with each stage of its signature.
public struct PresignedURL: Sendable, Hashable {
    /// The URL, to be handed out unchanged.
    public let url: String
    /// Its percent-encoded path.
    public let path: String
    /// Its query, decoded, in the URL's order.
    public let query: [NamedValue]
    /// The canonical request; empty if the scheme does not have this stage.
    public let canonicalRequest: String
    /// The string to sign.
    public let stringToSign: String
    /// The signature, in hexadecimal or base64, depending on the scheme.
    public let signature: String
    /// Headers that the client must send: names in lower case, values as given.
    public let requiredHeaders: [NamedValue]
}

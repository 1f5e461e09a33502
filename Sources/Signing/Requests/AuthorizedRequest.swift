/// A request with its `Authorization` header, and each stage that led to it.
public struct AuthorizedRequest: Sendable, Hashable {
    /// Method in upper case.
    public let method: String
    /// The URL, to be used as it stands.
    public let url: String
    /// Its percent-encoded path.
    public let path: String
    /// Its query, decoded, in the URL's order.
    public let query: [NamedValue]
    /// Headers to send, `authorization` last and `host` left to the client; names in lower case, values as they were given.
    public let headers: [NamedValue]
    /// The body, where the scheme writes it.
    public let body: String?
    /// What the scheme makes of the request, where it has such a stage.
    public let canonicalRequest: String?
    /// What is signed.
    public let stringToSign: String
    /// The signature, in hexadecimal or base64 as the scheme has it.
    public let signature: String
    /// Value of the `authorization` header; empty where the signature goes into the query.
    public let authorization: String
}

/// A request with its `Authorization` header and each stage of the signature.
public struct AuthorizedRequest: Sendable, Hashable {
    /// Method in upper case.
    public let method: String
    /// The URL, to be used unchanged.
    public let url: String
    /// Its percent-encoded path.
    public let path: String
    /// Its query, decoded, in the URL's order.
    public let query: [NamedValue]
    /// Headers to send: names in lower case, values as given, `authorization` last, without `host`, which the client
    /// adds.
    public let headers: [NamedValue]
    /// The body, if the scheme writes it.
    public let body: String?
    /// The canonical request, if the scheme has this stage.
    public let canonicalRequest: String?
    /// The string to sign.
    public let stringToSign: String
    /// The signature, in hexadecimal or base64, depending on the scheme.
    public let signature: String
    /// Value of the `authorization` header; empty if the signature is in the query.
    public let authorization: String
}

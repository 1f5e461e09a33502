/// How people sign in to the console at an issuer: by an authorization code with PKCE (RFC 7636), which the browser
/// itself exchanges for tokens. The JSON form is that of the API.
public struct ConsoleSignIn: Sendable, Equatable, Codable {
    /// The token that the console sends to the gateway.
    public enum SentToken: String, Sendable, CaseIterable, Codable {
        /// The access token. It has to be a JWT for one of the issuer's audiences.
        case accessToken = "access_token"
        /// The ID token. It names the client as its audience.
        case idToken = "id_token"
    }

    /// The identifier of the public client that is registered at the issuer for the console.
    public var clientID: String
    /// The scopes that the console asks for.
    public var scopes: [String]
    /// Where the browser is sent to sign in; `nil` for the endpoint in the issuer's discovery document.
    public var authorizationEndpoint: String?
    /// Where the browser exchanges the code; `nil` for the endpoint in the issuer's discovery document.
    public var tokenEndpoint: String?
    /// The token that the console sends.
    public var send: SentToken

    /// Describes how people sign in.
    public init(
        clientID: String, scopes: [String] = ["openid"], authorizationEndpoint: String? = nil,
        tokenEndpoint: String? = nil, send: SentToken
    ) {
        self.clientID = clientID
        self.scopes = scopes
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
        self.send = send
    }

    /// Whether both endpoints are known without the discovery document.
    public var hasEndpoints: Bool { authorizationEndpoint != nil && tokenEndpoint != nil }

    /// Whether browsers can be sent to a URL with a code or for one: https, or http within the browser's own machine,
    /// and no fragment (RFC 6749, section 3).
    public static func isEndpoint(_ url: String) -> Bool {
        WebOrigin(ofURL: url)?.isTrustworthy == true && !url.utf8.contains(UInt8(ascii: "#"))
    }
}

import GatewayCore
import StrictJSON

/// The discovery document of an issuer (OpenID Connect Discovery, section 3), as far as the gateway uses it.
struct DiscoveryDocument: Sendable, Equatable {
    /// The name that the issuer states.
    let issuer: String?
    /// The URL of the key set.
    let keysURL: String?
    /// The algorithms of ID tokens.
    let signingAlgorithms: [String]?
    /// Where people sign in.
    let authorizationEndpoint: String?
    /// Where codes are exchanged for tokens.
    let tokenEndpoint: String?
    /// The transformations that PKCE may use; `nil` if the issuer does not say.
    let challengeMethods: [String]?
    /// How clients prove who they are at the token endpoint; `nil` if the issuer does not say.
    let tokenAuthMethods: [String]?
    /// Whether the issuer names itself when it sends the browser back (RFC 9207).
    let namesItselfInAnswers: Bool

    /// Reads a document; `nil` for anything but a JSON object.
    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONReader.read(bytes), case .object = value else { return nil }
        func text(_ name: String) -> String? {
            guard case .string(let text)? = value[name] else { return nil }
            return text
        }
        issuer = text("issuer")
        keysURL = text("jwks_uri")
        signingAlgorithms = value["id_token_signing_alg_values_supported"]?.strings
        authorizationEndpoint = text("authorization_endpoint")
        tokenEndpoint = text("token_endpoint")
        challengeMethods = value["code_challenge_methods_supported"]?.strings
        tokenAuthMethods = value["token_endpoint_auth_methods_supported"]?.strings
        namesItselfInAnswers = value["authorization_response_iss_parameter_supported"] == .bool(true)
    }

    /// The endpoints for sign-in; `nil` if the document is of another issuer or lacks one that can be used.
    func signInEndpoints(of name: String) -> SignInEndpoints? {
        guard let issuer, ExactText(issuer) == ExactText(name), let authorizationEndpoint, let tokenEndpoint,
            ConsoleSignIn.isEndpoint(authorizationEndpoint), ConsoleSignIn.isEndpoint(tokenEndpoint)
        else { return nil }
        return SignInEndpoints(
            authorization: authorizationEndpoint, token: tokenEndpoint, namesItselfInAnswers: namesItselfInAnswers)
    }
}

/// Where people sign in at an issuer.
struct SignInEndpoints: Sendable, Equatable {
    /// Where the browser is sent.
    var authorization: String
    /// Where the browser exchanges the code.
    var token: String
    /// Whether the issuer names itself when it sends the browser back, so that an answer without its name is forged.
    var namesItselfInAnswers: Bool
}

/// Authenticates callers by the credential they send.
public protocol Authenticator: Sendable {
    /// Authenticates the bearer of a token: a JWT of a configured issuer, or an API key.
    ///
    /// - Throws: `unauthenticated`, `expiredToken`, `unavailable`.
    func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller
}

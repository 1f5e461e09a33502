/// Authenticates callers by the credential they send.
public protocol Authenticator: Sendable {
    /// Authenticates the bearer of a token: a JWT of a configured issuer, or an API key.
    ///
    /// - Throws: `unauthenticated`, `expiredToken`, `unavailable`.
    func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller
}

/// Fetches the JWK sets of issuers.
public protocol KeySetFetcher: Sendable {
    /// Fetches the document at a URL. The URL must use https and a public address unless it is allow-listed; time and
    /// size are limited.
    ///
    /// - Returns: The body of the answer, which had status 200.
    /// - Throws: `unavailable`.
    func keySet(at url: String) async throws(GatewayError) -> [UInt8]
}

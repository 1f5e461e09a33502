/// Checks credentials.
public protocol Authenticator: Sendable {
    /// Checks a bearer token: a JWT of a configured issuer, or an API key.
    ///
    /// - Throws: `unauthenticated`, `expiredToken`, `unavailable`.
    func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller
}

/// Fetches JWK sets of issuers.
public protocol KeySetFetcher: Sendable {
    /// Reads the document behind a URL: https and a public address, unless allow-listed; bounded in time and size.
    ///
    /// - Returns: The body of a 200 answer.
    /// - Throws: `unavailable`.
    func keySet(at url: String) async throws(GatewayError) -> [UInt8]
}

/// Fetches the JWK sets of issuers, and the keys with which stores sign their callbacks.
public protocol KeySetFetcher: Sendable {
    /// Fetches the document at a URL. The URL must use https and a public address unless it is allow-listed; time and
    /// size are limited.
    ///
    /// - Returns: The body of the answer, which had status 200.
    /// - Throws: `unavailable`.
    func keySet(at url: String) async throws(GatewayError) -> [UInt8]
}

public import GatewayCore
import LibCrypto

/// Accepts one more key than an authenticator knows: that of the operator, who sets up the first rows with it.
///
/// The principal is ``Principal/bootstrapAdmin``, with the role `admin`.
public struct BootstrapAuthenticator: Authenticator {
    private let keyDigest: Digest
    /// Whether the key has the form of those that others check.
    private let isOfOthersForm: Bool
    private let cache: PolicyCache
    private let others: any Authenticator

    /// Puts the key before an authenticator.
    ///
    /// - Parameters:
    ///   - key: The operator's key, any `b64token` of RFC 6750.
    ///   - cache: Tells the state of policy under which the key was checked.
    ///   - others: Checks every other token.
    public init(key: Secret<String>, cache: PolicyCache, before others: any Authenticator) {
        self.keyDigest = Self.digest(of: key)
        isOfOthersForm = APIKeyText.isMarked(key)
        self.cache = cache
        self.others = others
    }

    /// Checks a token.
    public func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        // Most tokens are API keys, and most operators' keys are not: the comparison can be left out.
        guard isOfOthersForm || !APIKeyText.isMarked(token) else { return try await others.authenticate(token) }
        // Digests have one length, so that the time of the comparison does not reveal how long the key is.
        guard Self.digest(of: token) == keyDigest else {
            return try await others.authenticate(token)
        }
        if cache.position == nil { try await cache.advance() }
        guard let position = cache.position else { throw .unavailable(retryAfter: 1) }
        return Caller(
            principal: .bootstrapAdmin, groups: [], roles: [.admin], claims: [:], expiresAt: nil,
            token: token, scope: nil, position: position
        )
    }

    private static func digest(of token: Secret<String>) -> Digest {
        DigestAlgorithm.sha256.digest(of: token.reveal())
    }
}

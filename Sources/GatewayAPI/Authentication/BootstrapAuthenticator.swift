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
        // Most tokens are keys of another form, which tells nothing of this one.
        guard isOfOthersForm || !APIKeyText.isMarked(token) else { return try await others.authenticate(token) }
        // Digests are of one length, so that the comparison does not even tell how long the key is.
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

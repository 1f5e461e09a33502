public import GatewayCore
import LibCrypto

/// Accepts one key in addition to the tokens of another authenticator: the operator's key, which sets up the first
/// rows.
///
/// Its principal is ``Principal/bootstrapAdmin``, with the role `admin`.
public struct BootstrapAuthenticator: Authenticator {
    private let keyDigest: Digest
    /// Whether the operator's key has the form of an API key, which the other authenticator checks.
    private let isOfOthersForm: Bool
    private let cache: PolicyCache
    private let others: any Authenticator

    /// Puts the operator's key before an authenticator.
    ///
    /// - Parameters:
    ///   - key: The operator's key, any `b64token` of RFC 6750.
    ///   - cache: Supplies the policy position under which the key was checked.
    ///   - others: Checks every other token.
    public init(key: Secret<String>, cache: PolicyCache, before others: any Authenticator) {
        self.keyDigest = Self.digest(of: key)
        isOfOthersForm = APIKeyText.isMarked(key)
        self.cache = cache
        self.others = others
    }

    /// Checks a token.
    public func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        // Most tokens are API keys, and most operators' keys do not have that form. In that case no comparison is
        // needed.
        guard isOfOthersForm || !APIKeyText.isMarked(token) else { return try await others.authenticate(token) }
        // Digests all have the same length, so the time of the comparison does not reveal the length of the key.
        guard Self.digest(of: token) == keyDigest else {
            return try await others.authenticate(token)
        }
        if cache.position == nil { try await cache.advance() }
        guard let position = cache.position else {
            throw .unavailable(retryAfter: 1, cause: "the position of policy is not known")
        }
        return Caller(
            principal: .bootstrapAdmin, groups: [], roles: [.unlimited(.admin)], claims: [:], expiresAt: nil,
            token: token, scope: nil, position: position
        )
    }

    private static func digest(of token: Secret<String>) -> Digest {
        DigestAlgorithm.sha256.digest(of: token.reveal())
    }
}

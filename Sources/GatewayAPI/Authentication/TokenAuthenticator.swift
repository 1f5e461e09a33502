public import Foundation
public import GatewayCore
import LibCrypto
public import Logging
import StrictJSON
import Synchronization

/// Checks JWTs of the configured issuers, API keys and tickets.
///
/// The issuer's or key's row is looked up on every call, also for a token that was verified before: a change of the
/// row, or its end, takes effect with it. Before a signature is verified, refusals tell nothing but that the token is
/// not accepted.
public final class TokenAuthenticator: Authenticator {
    /// Longest bearer token that is looked at unless told otherwise, in bytes: half of what a head may have.
    public static let longestTokenBytes = 8192

    /// How much is read and kept, and how often issuers are asked.
    public struct Limits: Sendable {
        /// Longest JWT that is read, in bytes.
        public var maxTokenBytes: Int
        /// Seconds by which `nbf` and `iat` may lie ahead of our clock. `exp` has no such allowance.
        public var skew: TimeInterval
        /// Most verified tokens that are kept.
        public var maxVerifiedTokens: Int
        /// About the most bytes that they take.
        public var maxVerifiedBytes: Int
        /// Most issuers whose keys are kept.
        public var maxIssuers: Int
        /// Seconds after which a key set is fetched again.
        public var keySetMaxAge: TimeInterval
        /// Fewest seconds between two fetches of a key set, also where a `kid` is unknown.
        public var keySetMinInterval: TimeInterval
        /// Seconds until an issuer is asked again that never answered yet.
        public var keySetRetry: TimeInterval

        /// Sets limits; the defaults suit 100,000 active tokens.
        public init(
            maxTokenBytes: Int = longestTokenBytes, skew: TimeInterval = 60, maxVerifiedTokens: Int = 100_000,
            maxVerifiedBytes: Int = 128 << 20, maxIssuers: Int = 1000, keySetMaxAge: TimeInterval = 600,
            keySetMinInterval: TimeInterval = 60, keySetRetry: TimeInterval = 5
        ) {
            self.maxTokenBytes = maxTokenBytes
            self.skew = skew
            self.maxVerifiedTokens = maxVerifiedTokens
            self.maxVerifiedBytes = maxVerifiedBytes
            self.maxIssuers = maxIssuers
            self.keySetMaxAge = keySetMaxAge
            self.keySetMinInterval = keySetMinInterval
            self.keySetRetry = keySetRetry
        }
    }

    private let cache: PolicyCache
    private let fetcher: any KeySetFetcher
    private let limits: Limits
    private let now: @Sendable () -> Date
    private let logger: Logger
    private let verified: Mutex<LeastRecentlyUsed<TokenDigest, VerifiedToken>>
    private let issuerKeys: Mutex<LeastRecentlyUsed<UUID, IssuerKeys>>

    static let refusal = GatewayError.unauthenticated(reason: "The token is not accepted.")

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - cache: Holds the rows of issuers and API keys.
    ///   - fetcher: Reads key sets that lie behind URLs.
    ///   - limits: How much is read and kept.
    ///   - now: The clock that tokens are judged by.
    ///   - logger: Hears which issuers do not answer and, at level debug, why tokens are refused; never a token.
    public init(
        cache: PolicyCache, fetcher: any KeySetFetcher, limits: Limits = Limits(),
        now: @escaping @Sendable () -> Date, logger: Logger
    ) {
        self.cache = cache
        self.fetcher = fetcher
        self.limits = limits
        self.now = now
        self.logger = logger
        verified = Mutex(
            LeastRecentlyUsed(maxCount: limits.maxVerifiedTokens, maxCost: limits.maxVerifiedBytes))
        issuerKeys = Mutex(LeastRecentlyUsed(maxCount: limits.maxIssuers, maxCost: .max))
    }

    /// Verified tokens that are held, for metrics.
    public var verifiedTokenCount: Int { verified.withLock { $0.count } }

    /// Checks a token.
    ///
    /// - Throws: `unauthenticated`, `expiredToken` for what was good once, `unavailable`, `slowDown`.
    public func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        if let key = APIKeyText(parsing: token) { return try await caller(holding: key) }
        if let ticket = TicketText(parsing: token) { return try await caller(holding: ticket) }
        return try await caller(holdingJWT: token)
    }

    // Apart, as everything that it holds while it waits would have to be found room for with each API key.
    private func caller(holdingJWT token: Secret<String>) async throws(GatewayError) -> Caller {
        let text = Array(token.reveal().utf8)
        guard text.count <= limits.maxTokenBytes else { throw Self.refusal }
        let digest = TokenDigest(of: text)
        if let known = verified.withLock({ $0.value(for: digest) }) {
            let load = try await cache.issuer(known.issuer.issuer)
            if let row = load.rows, row.isSame(as: known.issuer), try await keys(of: row).current() === known.keys {
                guard now() < known.expiresAt else {
                    verified.withLock { $0.remove(digest) }
                    throw .expiredToken
                }
                return known.caller(holding: token, at: load.position)
            }
            verified.withLock { $0.remove(digest) }
        }
        let (fresh, position) = try await verify(text)
        verified.withLock { $0.insert(fresh, for: digest, cost: fresh.cost) }
        return fresh.caller(holding: token, at: position)
    }

    private func caller(holding key: APIKeyText) async throws(GatewayError) -> Caller {
        try caller(holding: key, of: await cache.apiKey(prefix: key.prefix))
    }

    private func caller(holding key: APIKeyText, of load: PolicyLoad<APIKeyRow?>) throws(GatewayError) -> Caller {
        guard let row = load.rows, key.digest.isSame(as: row.key.hash) else { throw Self.refusal }
        if let expiresAt = row.key.expiresAt, now() >= expiresAt { throw .expiredToken }
        return Caller(
            principal: row.key.principal, groups: row.key.groups, roles: row.key.roles, claims: [:],
            expiresAt: row.key.expiresAt, token: key.text, scope: row.scope, position: load.position
        )
    }

    private func caller(holding text: TicketText) async throws(GatewayError) -> Caller {
        let digest = text.digest
        let load = try await cache.ticket(name: text.name)
        guard let row = load.rows, digest.isSame(as: row.hash) else { throw Self.refusal }
        if now() >= row.expiresAt { throw .expiredToken }
        // Read after the ticket, so that the proof from the ticket's position on covers it.
        guard try await stillVouches(row.issuedOn, for: row) else { throw Self.refusal }
        return Caller(
            principal: row.principal, groups: row.groups, roles: [], claims: row.claims, expiresAt: row.expiresAt,
            token: text.text, scope: row.issuedOn, position: load.position, ticket: row
        )
    }

    /// Whether the row on which a ticket was made is there; one that came after the ticket is another.
    private func stillVouches(_ scope: PolicyScope?, for ticket: Ticket) async throws(GatewayError) -> Bool {
        guard let scope else { return true }
        switch PolicyKey(scope) {
        case .issuer(let issuer):
            guard let row = try await cache.issuer(issuer.rawValue).rows else { return false }
            return row.createdAt <= ticket.createdAt
        case .apiKey(let prefix):
            guard let row = try await cache.apiKey(prefix: prefix).rows?.key else { return false }
            return row.createdAt <= ticket.createdAt && row.expiresAt.map { now() < $0 } ?? true
        default: return false
        }
    }

    private func verify(_ text: [UInt8]) async throws(GatewayError) -> (VerifiedToken, PolicyPosition) {
        guard let token = CompactToken(text) else { throw refused("malformed") }
        // An algorithm that no issuer can have is not worth looking an issuer up.
        guard
            Issuer.asymmetricAlgorithms.contains(token.algorithm) || Issuer.secretAlgorithms.contains(token.algorithm),
            case .string(let name)? = token.payload["iss"], 1...512 ~= name.utf8.count
        else { throw refused("no such algorithm, or no issuer") }
        let load = try await cache.issuer(name)
        guard let row = load.rows, ExactText(row.issuer) == ExactText(name) else { throw refused("unknown issuer") }
        guard row.accepts(token.algorithm) else { throw refused("algorithm not configured", of: row) }
        let held = keys(of: row)
        var keys = try await held.current()
        if keys.keys(for: token).isEmpty { keys = try await held.refreshed() }
        guard keys.keys(for: token).contains(where: { $0.verifies(token.signature, of: token.signedBytes) }) else {
            throw refused("no key made the signature", of: row)
        }
        let verified = try VerifiedToken(
            payload: token.payload, issuer: row, keys: keys, at: now(), skew: limits.skew)
        return (verified, load.position)
    }

    private func keys(of row: Issuer) -> IssuerKeys {
        issuerKeys.withLock { held in
            if let keys = held.value(for: row.id), keys.issuer.isSame(as: row) { return keys }
            let keys = IssuerKeys(of: row, fetcher: fetcher, limits: limits, now: now, logger: logger)
            held.insert(keys, for: row.id, cost: 1)
            return keys
        }
    }

    private func refused(_ reason: String, of issuer: Issuer? = nil) -> GatewayError {
        logger.debug("token refused", metadata: ["reason": "\(reason)", "issuer": "\(issuer?.issuer ?? "-")"])
        return Self.refusal
    }
}

extension VerifiedToken {
    /// The caller, by the row's state at a position.
    fileprivate func caller(holding token: Secret<String>, at position: PolicyPosition) -> Caller {
        Caller(
            principal: principal, groups: groups, roles: roles, claims: claims, expiresAt: expiresAt, token: token,
            scope: .issuer(issuer.issuer), position: position
        )
    }
}

extension Issuer {
    /// Whether tokens may be signed so. Shared secrets and public keys are kept apart whatever the row says.
    fileprivate func accepts(_ algorithm: String) -> Bool {
        let fitting = if case .secret = keys { Self.secretAlgorithms } else { Self.asymmetricAlgorithms }
        return algorithms.contains(algorithm) && fitting.contains(algorithm)
    }

    /// Whether two rows mean the same, texts that become part of identities compared by their bytes.
    fileprivate func isSame(as other: Issuer) -> Bool {
        self == other && ExactText(principalPrefix) == ExactText(other.principalPrefix)
            && ExactText(groupPrefix) == ExactText(other.groupPrefix)
            && audiences.elementsEqual(other.audiences) { ExactText($0) == ExactText($1) }
    }
}

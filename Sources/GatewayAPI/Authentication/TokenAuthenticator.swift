import Bytes
public import FoundationEssentials
public import GatewayCore
import JOSE
import LibCrypto
public import Logging
import StrictJSON
import Synchronization

/// Checks JWTs of the configured issuers, API keys and tickets.
///
/// Every call looks up the row of the issuer or key, even for a token that was verified before, so a change or removal
/// of the row takes effect at once. Before a signature is verified, a refusal says only that the token is not accepted.
public final class TokenAuthenticator: Authenticator {
    /// The longest token that is read, in bytes, also where heads of requests may be longer.
    public static let longestTokenBytes = 8192

    /// Number of seconds by which `nbf` and `iat` may lie ahead of the gateway's clock. `exp` has no such allowance.
    static let skew: TimeInterval = 60
    /// Largest number of issuers whose keys are kept.
    private static let maxIssuers = 1000

    /// Limits on tokens and caches.
    public struct Limits: Sendable {
        /// Longest JWT that is read, in bytes.
        var maxTokenBytes: Int
        /// Largest number of verified tokens that are kept.
        var maxVerifiedTokens: Int
        /// Approximate limit on the memory for verified tokens, in bytes.
        var maxVerifiedBytes: Int

        /// Sets the limits. The defaults suit 100,000 active tokens.
        public init(
            maxTokenBytes: Int = longestTokenBytes, maxVerifiedTokens: Int = 100_000,
            maxVerifiedBytes: Int = 128 << 20
        ) {
            self.maxTokenBytes = maxTokenBytes
            self.maxVerifiedTokens = maxVerifiedTokens
            self.maxVerifiedBytes = maxVerifiedBytes
        }
    }

    private let cache: PolicyCache
    private let fetcher: any KeySetFetcher
    private let limits: Limits
    private let now: @Sendable () -> Date
    private let logger: Logger
    private let verified: Mutex<LeastRecentlyUsed<TokenDigest, VerifiedToken>>
    private let issuerKeys: Mutex<LeastRecentlyUsed<UUID, IssuerKeys>>

    /// What the holder of a refused token learns.
    static let refusalText = "The token is not accepted."

    /// The refusal of a token. Its holder learns nothing more; the cause is for operators.
    static func refusal(_ cause: Cause) -> GatewayError {
        .unauthenticated(reason: refusalText, cause: cause)
    }

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - cache: Holds the rows of issuers and API keys.
    ///   - fetcher: Fetches key sets from URLs.
    ///   - limits: Limits on tokens and caches.
    ///   - now: The clock against which the times in tokens are checked.
    ///   - logger: Receives a warning when an issuer does not answer; never a token.
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
        issuerKeys = Mutex(LeastRecentlyUsed(maxCount: Self.maxIssuers, maxCost: .max))
    }

    /// Number of verified tokens that are kept.
    var verifiedTokenCount: Int { verified.withLock { $0.count } }

    /// Checks a token.
    ///
    /// - Throws: `unauthenticated`, `expiredToken` for a token that was valid once, `unavailable`, `slowDown`.
    public func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        if let key = APIKeyText(parsing: token) { return try await caller(holding: key) }
        if let ticket = TicketText(parsing: token) { return try await caller(holding: ticket) }
        return try await caller(holdingJWT: token)
    }

    // A function of its own: an API key would otherwise need room for everything that this one holds while it waits.
    private func caller(holdingJWT token: Secret<String>) async throws(GatewayError) -> Caller {
        let text = Array(token.reveal().utf8)
        guard text.count <= limits.maxTokenBytes else {
            throw Self.refusal(Cause(.malformedToken, "longer than \(limits.maxTokenBytes) bytes"))
        }
        let digest = TokenDigest(of: text)
        if let known = verified.withLock({ $0.value(for: digest) }) {
            let load = try await cache.issuer(known.issuer.issuer)
            // Keys belong to one state of the issuer's row.
            if let row = load.rows, try await keys(of: row).current() === known.keys {
                guard now() < known.expiresAt else {
                    verified.withLock { $0.remove(digest) }
                    throw known.expired
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
        guard let row = load.rows else { throw Self.refusal(Cause(.unknownAPIKey, "prefix \(key.prefix)")) }
        guard key.digest == row.key.hash else {
            throw Self.refusal(Cause(.wrongAPIKey, "API key \(row.key.id.lowercaseText)"))
        }
        if let expiresAt = row.key.expiresAt, now() >= expiresAt {
            let key = "API key \(row.key.id.lowercaseText) of \(row.key.principal)"
            throw .credentialExpired(Cause(.apiKeyExpired, key))
        }
        return Caller(
            principal: row.key.principal, groups: row.key.groups, roles: row.key.conferred, claims: [:],
            expiresAt: row.key.expiresAt, token: key.text, scope: row.scope,
            credentialID: row.key.id, position: load.position
        )
    }

    private func caller(holding text: TicketText) async throws(GatewayError) -> Caller {
        let digest = text.digest
        let load = try await cache.ticket(name: text.name)
        guard let row = load.rows else { throw Self.refusal(Cause(.unknownTicket, "ticket \(text.name)")) }
        guard digest == row.hash else { throw Self.refusal(Cause(.wrongTicket, row.shown)) }
        if now() >= row.expiresAt { throw .credentialExpired(Cause(.ticketExpired, row.shown)) }
        // Read after the ticket, so the proof from the ticket's position also covers this row.
        guard let groups = try await namedGroups(of: row) else {
            throw Self.refusal(Cause(.ticketOrphaned, row.shown))
        }
        return Caller(
            principal: row.principal, groups: groups, roles: [], claims: row.claims, expiresAt: row.expiresAt,
            token: text.text, scope: row.issuedOn, position: load.position, ticket: row
        )
    }

    /// The groups that a ticket names: those that the API key under which it was made has now, or those of the token
    /// with which it was made. `nil` unless the row of the key or issuer still exists, and could give the ticket's
    /// names. A row created after the ticket is a different one.
    private func namedGroups(of ticket: Ticket) async throws(GatewayError) -> [Principal]? {
        guard let scope = ticket.issuedOn else { return ticket.groups }
        switch PolicyKey(scope) {
        case .issuer(let issuer):
            guard let row = try await cache.issuer(issuer.rawValue).rows else { return nil }
            let vouches = row.createdAt <= ticket.createdAt && row.row.canName(ticket.principal, ticket.groups)
            return vouches ? ticket.groups : nil
        case .apiKey(let prefix):
            guard let row = try await cache.apiKey(prefix: prefix).rows?.key else { return nil }
            let vouches = row.createdAt <= ticket.createdAt && row.expiresAt.map { now() < $0 } ?? true
            return vouches ? row.groups : nil
        default: return nil
        }
    }

    private func verify(_ text: [UInt8]) async throws(GatewayError) -> (VerifiedToken, PolicyPosition) {
        guard let token = CompactToken(text) else { throw Self.refusal(Cause(.malformedToken)) }
        // If no issuer can have this algorithm, no issuer is looked up.
        guard
            Issuer.asymmetricAlgorithms.contains(token.algorithm) || Issuer.secretAlgorithms.contains(token.algorithm),
            case .string(let name)? = token.payload["iss"], 1...512 ~= name.utf8.count
        else { throw Self.refusal(Cause(.malformedToken, "no algorithm or issuer that a row can have")) }
        let load = try await cache.issuer(name)
        guard let row = load.rows, ExactText(row.issuer) == ExactText(name) else {
            throw Self.refusal(Cause(.unknownIssuer, "iss \(Self.shown(name))"))
        }
        let issuer = "issuer \(row.id.lowercaseText)"
        guard row.row.accepts(token.algorithm) else {
            throw Self.refusal(Cause(.algorithmNotAccepted, "\(token.algorithm) for \(issuer)"))
        }
        let held = keys(of: row)
        var keys = try await held.current()
        if keys.keys(for: token).isEmpty { keys = try await held.refreshed() }
        guard !keys.keys(for: token).isEmpty else {
            throw Self.refusal(Cause(.unknownKeyID, "kid \(token.keyID.map(Self.shown) ?? "none") for \(issuer)"))
        }
        guard keys.keys(for: token).contains(where: { $0.verifies(token.signature, of: token.signedBytes) }) else {
            throw Self.refusal(Cause(.badSignature, issuer))
        }
        let verified = try VerifiedToken(
            payload: token.payload, issuer: row.row, keys: keys, at: now(), skew: Self.skew)
        return (verified, load.position)
    }

    /// The keys of the row as it is now. A row that was changed, and changed back, may have withdrawn a key: its keys
    /// are read anew.
    private func keys(of row: Stored<Issuer>) -> IssuerKeys {
        issuerKeys.withLock { held in
            if let keys = held.value(for: row.id), keys.revision == row.revision { return keys }
            let keys = IssuerKeys(of: row, fetcher: fetcher, now: now, logger: logger)
            held.insert(keys, for: row.id, cost: 1)
            return keys
        }
    }

    /// What operators see of a text in a token whose signature was not verified: at most 128 visible characters.
    private static func shown(_ text: String) -> String {
        let bytes = text.utf8.prefix(128)
        return bytes.allSatisfy(ByteSet.printable.contains) ? "'\(Substring(bytes))'" : "with unusual characters"
    }
}

extension VerifiedToken {
    /// The caller, by the state of the row at a position.
    fileprivate func caller(holding token: Secret<String>, at position: PolicyPosition) -> Caller {
        Caller(
            principal: principal, groups: groups, roles: conferred, claims: claims, expiresAt: expiresAt,
            issuedAt: issuedAt, token: token, scope: .issuer(issuer.issuer), credentialID: issuer.id, position: position
        )
    }
}

extension Ticket {
    /// The ticket as operators see it.
    fileprivate var shown: String { "ticket \(id.lowercaseText) of \(principal)" }
}

extension Issuer {
    /// Whether names begin as those in tokens of this issuer do. With another prefix, they may be names of another
    /// issuer.
    fileprivate func canName(_ principal: Principal, _ groups: [Principal]) -> Bool {
        principal.rawValue.utf8.starts(with: "user:\(principalPrefix)".utf8)
            && groups.allSatisfy { $0.rawValue.utf8.starts(with: "group:\(groupPrefix)".utf8) }
    }

    /// Whether tokens may be signed with this algorithm. Shared secrets and public keys are kept apart, whatever the
    /// row says.
    func accepts(_ algorithm: String) -> Bool {
        let fitting = if case .secret = keys { Self.secretAlgorithms } else { Self.asymmetricAlgorithms }
        return algorithms.contains(algorithm) && fitting.contains(algorithm)
    }
}

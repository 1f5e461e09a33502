public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle

/// Keeps the state of requests with idempotency keys in PostgreSQL, shared by all gateways.
///
/// A claim lasts a few seconds. While ``run()`` runs, it renews the claims of requests that take longer. So the claims
/// of a gateway that died or stopped soon expire, and no other request may act while a request is being answered. A
/// request that has lost its claim changes nothing.
public struct PostgresIdempotency: IdempotencyStore, Service {
    /// How often claims are renewed. `idempotency_claim_end` makes a claim last several times as long.
    private static let renewal = Duration.seconds(1)
    /// Time for the end of a claim, which nothing cancels. If it fails, the claim soon expires by itself.
    private static let patience = Duration.seconds(5)

    private let claims = LiveClaims()
    private let pool: PostgresPool
    private let statements: StorePool
    /// Ends claims.
    private let endings: StorePool
    private let keys: MasterKeyRing
    private let clock: LedgerClock
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let recordingFailed: @Sendable (PostgresError) -> Void

    /// Settings for the sessions of the pool. They record issuances, so they equal those of the ledger.
    public static var sessionSettings: [(name: String, value: String)] { PostgresLedger.sessionSettings }

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway, with ``sessionSettings``.
    ///   - keys: Master keys that seal answers.
    ///   - clock: The ledger's clock, which is compared with the database's.
    ///   - logger: Receives the reasons why requests cannot be remembered.
    ///   - now: Returns the current time, for identifiers.
    ///   - recordingFailed: Told why issuances were not recorded, as the readiness of the gateway depends on that.
    public init(
        pool: PostgresPool, keys: MasterKeyRing, clock: LedgerClock, logger: Logger,
        now: @escaping @Sendable () -> Date, recordingFailed: @escaping @Sendable (PostgresError) -> Void
    ) {
        self.pool = pool
        statements = StorePool(
            pool: pool, logger: logger, complaint: "idempotency keys cannot be read or written")
        endings = StorePool(
            pool: pool, logger: logger, complaint: "an idempotency key cannot be ended", patience: Self.patience)
        self.keys = keys
        self.clock = clock
        self.logger = logger
        self.now = now
        self.recordingFailed = recordingFailed
    }

    /// Renews claims until the service shuts down.
    public func run() async {
        await doRounds(every: Self.renewal) { await self.renewClaims() }
    }

    /// Renews the claims that existed in the last round already. Most requests are answered before that.
    func renewClaims() async {
        let held = claims.nextRound()
        guard !held.isEmpty else { return }
        do throws(PostgresError) {
            try await pool.perform(IdempotencyKeyTable.renew, held, deadline: .now + Self.renewal * 2)
        } catch {
            logger.report(error, "claims of idempotency keys are not renewed", in: pool.outage)
        }
    }

    /// Claims the key of a request for this gateway, or returns the answer that was kept for it.
    public func begin(_ request: IdempotentRequest) async throws(GatewayError) -> IdempotencyState {
        let claiming = IdempotencyKeyTable.Claiming(
            request: request, id: try .new(at: now()), attempt: try .new(at: now()))
        guard let known = try await statements.execute(IdempotencyKeyTable.claim, claiming).first else {
            throw .noRow(of: "an idempotency key")
        }
        guard known.verdict != "other-request" else { throw .idempotency(.otherRequest) }
        guard let id = known.id, let attempt = known.attempt else {
            throw .idempotency(.inFlight(retryAfter: Int(known.retryAfter)))
        }
        let claim = IdempotencyClaim(id: id, attempt: attempt, issuances: known.issuances)
        if known.verdict == "answered" {
            return .answered(claim, answer: known.sealed.flatMap { opened($0, of: id) })
        }
        claims.insert(claim)
        return known.verdict == "fresh" ? .fresh(claim) : .interrupted(claim)
    }

    /// Ends a claim whose request took effect, and keeps its answer.
    public func finish(_ claim: IdempotencyClaim, answer: [UInt8]?) async throws(GatewayError) {
        defer { claims.remove(claim) }
        let sealed: SealedBytes?
        do throws(MasterKeyError) {
            sealed = try answer.map { (bytes) throws(MasterKeyError) in
                try keys.seal(bytes, in: .idempotencyKey(claim.id))
            }
        } catch {
            throw .unavailable(retryAfter: 1, cause: "an answer cannot be sealed")
        }
        try await endings.perform(IdempotencyKeyTable.finish, (claim, sealed))
    }

    /// Ends a claim whose request had no effect.
    public func abandon(_ claim: IdempotencyClaim) async throws(GatewayError) {
        claims.remove(claim)
        try await endings.perform(IdempotencyKeyTable.abandon, claim)
    }

    /// Returns a ledger that records each issuance of a claim once.
    public func ledger(for claim: IdempotencyClaim) -> any IssuanceLedger {
        OnceLedger(claim: claim, pool: pool, clock: clock, logger: logger, failed: recordingFailed)
    }

    /// Opens a kept answer. Returns `nil` if its master key is gone or its bytes were changed; such an answer is lost.
    private func opened(_ sealed: SealedBytes, of id: UUID) -> [UInt8]? {
        do throws(MasterKeyError) {
            return try keys.open(sealed, in: .idempotencyKey(id))
        } catch {
            logger.warning("a kept answer cannot be opened", metadata: ["id": "\(id)", "reason": "\(error)"])
            return nil
        }
    }
}

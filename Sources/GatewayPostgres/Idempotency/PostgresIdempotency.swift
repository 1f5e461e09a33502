public import Foundation
public import GatewayCore
import LibCrypto
public import LibPQ
public import Logging

/// Requests with idempotency keys in PostgreSQL, for all gateways alike.
public struct PostgresIdempotency: IdempotencyStore {
    /// How long a claim lasts: longer than any request is answered in. A gateway that takes longer than that changes nothing.
    private static let claimSeconds: Int32 = 120

    private let pool: PostgresPool
    private let keys: MasterKeyRing
    private let base: any IssuanceLedger
    private let clock: LedgerClock
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Settings that sessions of the pool should have: they record as the ledger's do.
    public static var sessionSettings: [(name: String, value: String)] { PostgresLedger.sessionSettings }

    /// Makes a store.
    ///
    /// - Parameters:
    ///   - pool: Logged in as the gateway, its sessions with ``sessionSettings``.
    ///   - keys: What answers are sealed with.
    ///   - ledger: Where refusals are counted.
    ///   - clock: What the database's clock is compared with, as the ledger's.
    ///   - logger: Told why requests cannot be remembered.
    ///   - now: The time, for identifiers.
    public init(
        pool: PostgresPool, keys: MasterKeyRing, ledger: any IssuanceLedger, clock: LedgerClock, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.pool = pool
        self.keys = keys
        base = ledger
        self.clock = clock
        self.logger = logger
        self.now = now
    }

    /// Claims a key.
    public func begin(_ request: IdempotentRequest) async throws(GatewayError) -> IdempotencyState {
        guard let random = try? randomBytes(count: 20) else { throw .unavailable(retryAfter: 1) }
        let attempt = UUID.version7(at: now(), randomBytes: Array(random.suffix(10)))
        let known: IdempotencyStatements.Known?
        do throws(PostgresError) {
            known = try await pool.execute(
                IdempotencyStatements.claim,
                .init(
                    request: request, id: .version7(at: now(), randomBytes: random), attempt: attempt,
                    claimSeconds: Self.claimSeconds)
            ).first
        } catch {
            throw refusal(error)
        }
        guard let known else { throw .unavailable(retryAfter: 1) }
        guard let id = known.id else { throw .idempotency(.inFlight(retryAfter: 1)) }
        let claim = IdempotencyClaim(id: id, attempt: attempt, issuances: known.issuances)
        switch known.verdict {
        case "fresh": return .fresh(claim)
        case "interrupted": return .interrupted(claim)
        case "answered": return .answered(claim, answer: known.sealed.flatMap { opened($0, of: id) })
        case "other-request": throw .idempotency(.otherRequest)
        default: throw .idempotency(.inFlight(retryAfter: 1))
        }
    }

    /// Ends a claim that took effect.
    public func finish(_ claim: IdempotencyClaim, answer: [UInt8]?) async throws(GatewayError) {
        let sealed: SealedBytes?
        do throws(MasterKeyError) {
            sealed = try answer.map { (bytes) throws(MasterKeyError) in
                try keys.seal(bytes, in: .idempotencyKey(claim.id))
            }
        } catch {
            throw .unavailable(retryAfter: 1)
        }
        try await perform(IdempotencyStatements.finish, (claim, sealed))
    }

    /// Ends a claim that came to nothing.
    public func abandon(_ claim: IdempotencyClaim) async throws(GatewayError) {
        try await perform(IdempotencyStatements.abandon, claim)
    }

    /// A ledger that records each of a claim's issuances once.
    public func ledger(for claim: IdempotencyClaim) -> any IssuanceLedger {
        OnceLedger(claim: claim, pool: pool, base: base, clock: clock, logger: logger)
    }

    /// An answer whose master key is gone, or that somebody changed, cannot be given again.
    private func opened(_ sealed: SealedBytes, of id: UUID) -> [UInt8]? {
        do throws(MasterKeyError) {
            return try keys.open(sealed, in: .idempotencyKey(id))
        } catch {
            logger.warning("a kept answer cannot be opened", metadata: ["id": "\(id)", "reason": "\(error)"])
            return nil
        }
    }

    private func perform<Parameters>(
        _ statement: Statement<Parameters, Void>, _ parameters: Parameters
    ) async throws(GatewayError) {
        do throws(PostgresError) {
            try await pool.perform(statement, parameters)
        } catch {
            throw refusal(error)
        }
    }

    private func refusal(_ error: PostgresError) -> GatewayError {
        logger.warning("idempotency keys cannot be read or written", metadata: ["reason": "\(error)"])
        return error.asGatewayError
    }
}

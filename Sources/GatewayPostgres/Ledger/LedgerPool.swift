import FoundationEssentials
import GatewayCore
import LibPQ
import Logging

/// The connections that read the ledger, and their time limit.
struct LedgerPool: Sendable {
    private let pool: StorePool
    let now: @Sendable () -> Date

    /// Time allowed for one query, with all its statements.
    static let patience = Duration.seconds(10)

    init(pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.pool = StorePool(
            pool: pool, logger: logger, complaint: "the ledger cannot be read", patience: Self.patience)
        self.now = now
    }

    /// Executes a statement, within ``patience`` unless a deadline is given.
    func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters, deadline: ContinuousClock.Instant? = nil
    ) async throws(GatewayError) -> [Row] {
        try await pool.execute(statement, parameters, deadline: deadline)
    }

    /// The end of a period without an end. No row is recorded later than this, whichever clock is fast.
    var openEnd: Date { now().addingTimeInterval(3600) }
}

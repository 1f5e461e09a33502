import Foundation
import GatewayCore
import LibPQ
import Logging

/// The connections that read the ledger, and how long they may take.
struct LedgerPool: Sendable {
    private let pool: StorePool
    let now: @Sendable () -> Date

    /// How long one question may take, all its statements together.
    static let patience = Duration.seconds(10)

    init(pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.pool = StorePool(
            pool: pool, logger: logger, complaint: "the ledger cannot be read", patience: Self.patience)
        self.now = now
    }

    /// Executes a statement.
    func execute<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters, deadline: ContinuousClock.Instant? = nil
    ) async throws(GatewayError) -> [Row] {
        try await pool.execute(statement, parameters, deadline: deadline)
    }

    /// What an open end stands for: nothing is recorded later, whichever clock is fast.
    var openEnd: Date { now().addingTimeInterval(3600) }

    /// Rows that a page may have.
    static func limit(_ pageSize: Int) -> Int { min(max(pageSize, 1), 1000) }
}

public import Foundation
public import LibPQ

/// Compares counters of quotas with the rows of the ledger that they count.
public struct QuotaAuditor: Sendable {
    /// A counter that is not what the ledger adds up to.
    public struct Discrepancy: Sendable, Equatable {
        /// The quota.
        public var quotaID: UUID
        /// Whose use is counted.
        public var holder: String
        /// When the current period began; the epoch for a total.
        public var periodStart: Date
        /// What the counter says: URLs or bytes.
        public var used: Int64
        /// What the ledger says.
        public var charged: Int64
    }

    private let connection: PostgresConnection

    /// Makes an auditor.
    ///
    /// - Parameter connection: Logged in as the gateway, with a response timeout that lets it read the current month.
    public init(connection: PostgresConnection) {
        self.connection = connection
    }

    /// Finds counters of current periods that are wrong, in one snapshot, so that recording may go on meanwhile.
    public func audit(deadline: ContinuousClock.Instant? = nil) async throws(PostgresError) -> [Discrepancy] {
        try await connection.execute(Self.audit, deadline: deadline)
    }

    /// Sets a counter to what the ledger adds up to then; only who charges that counter waits meanwhile.
    ///
    /// - Returns: What the counter says now.
    @discardableResult
    public func repair(
        _ discrepancy: Discrepancy, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> Int64 {
        try await connection.execute(Self.repair, discrepancy, deadline: deadline).first ?? 0
    }

    static let audit = Statement<Void, Discrepancy>(
        "SELECT quota_id, holder, period_start, used, charged FROM audit_quotas()", onlyReads: true
    ) { row throws(PostgresError) in
        Discrepancy(
            quotaID: try row.next(), holder: try row.next(), periodStart: try row.next(),
            used: try row.next(), charged: try row.next())
    }

    static let repair = Statement<Discrepancy, Int64>("SELECT repair_quota_usage($1, $2, $3)") {
        [$0.quotaID, $0.holder, $0.periodStart]
    } decode: { row throws(PostgresError) in
        try row.next()
    }
}

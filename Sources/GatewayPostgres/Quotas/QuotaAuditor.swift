public import FoundationEssentials
public import LibPQ

/// Compares the counters of quotas with the ledger rows that they count.
public struct QuotaAuditor: Sendable {
    /// A counter that differs from the sum in the ledger.
    public struct Discrepancy: Sendable, Equatable {
        /// Identifier of the quota.
        public var quotaID: UUID
        /// The principal whose use is counted.
        public var holder: String
        /// Start of the current period; the epoch for a total.
        public var periodStart: Date
        /// Use according to the counter, in URLs or bytes.
        public var used: Int64
        /// Use according to the ledger, in URLs or bytes.
        public var charged: Int64
    }

    private let connection: PostgresConnection

    /// Creates an auditor.
    ///
    /// - Parameter connection: Logged in as the gateway. Its response timeout must be long enough to read the current
    ///   month.
    public init(connection: PostgresConnection) {
        self.connection = connection
    }

    /// Finds wrong counters of current periods. It reads one snapshot, so recording continues meanwhile.
    public func audit() async throws(PostgresError) -> [Discrepancy] {
        try await connection.execute(Self.audit)
    }

    /// Sets a counter to the sum in the ledger. Only recordings that charge this counter wait meanwhile.
    ///
    /// - Returns: The new value of the counter.
    @discardableResult
    public func repair(_ discrepancy: Discrepancy) async throws(PostgresError) -> Int64 {
        try await connection.execute(Self.repair, discrepancy).first ?? 0
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
    }
}

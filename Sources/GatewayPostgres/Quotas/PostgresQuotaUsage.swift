import FoundationEssentials
public import GatewayCore
public import LibPQ

/// Reads counters of quotas.
public struct PostgresQuotaUsage: QuotaUsageSource {
    private let pool: PostgresPool

    /// Creates a reader that uses any connection of a pool.
    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Reads what is left of quotas for their holders now, by the database's clock. Answers keep the order of the
    /// holdings.
    public func usage(of holdings: [QuotaHolding]) async throws(GatewayError) -> [QuotaRemainder] {
        guard !holdings.isEmpty else { return [] }
        do throws(PostgresError) {
            let uses = try await pool.execute(Self.read, holdings)
            guard uses.count == holdings.count else { throw .decoding(column: 0, reason: "rows are missing") }
            return zip(holdings, uses).map { holding, use in
                QuotaRemainder(
                    quotaID: holding.quota.id, remaining: holding.quota.limit - use.used,
                    resetsIn: use.resetsIn.map { Int($0) })
            }
        } catch {
            throw error.asGatewayError
        }
    }

    static let read = Statement<[QuotaHolding], (used: Int64, resetsIn: Int32?)>(
        """
        SELECT coalesce(u.used, 0),
            ceil(extract(epoch FROM quota_period_end(h.period, h.period_start) - statement_timestamp()))::integer
        FROM (
            SELECT a.quota_id, a.holder, a.period, a.place, quota_period_start(a.period, statement_timestamp()) AS period_start
            FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY AS a (quota_id, holder, period, place)
        ) h
        LEFT JOIN quota_usage u
            ON u.quota_id = h.quota_id AND u.holder = h.holder AND u.period_start = h.period_start
        ORDER BY h.place
        """, onlyReads: true
    ) { holdings in
        [holdings.map(\.quota.id), holdings.map(\.holder.rawValue), holdings.map(\.quota.period.rawValue)]
    } decode: { row throws(PostgresError) in
        (try row.next(), try row.next())
    }
}

import Foundation
import GatewayCore
import LibPQ

/// A day of the ledger, or a part of it.
struct LedgerDay: Sendable {
    var from: PostgresTimestamp
    var to: PostgresTimestamp
}

/// Where a walk through the ledger ended: in the day that ends so, with this row.
struct LedgerPlace: Sendable {
    var end: PostgresTimestamp
    var id: UUID
}

extension LedgerPool {
    /// Walks through a stretch of the ledger, the last day first and the rows of a day by identifier, the newest first.
    ///
    /// A page mostly ends in the first day, and whoever needs more days asks each of them for as little. A merge of all
    /// days would read every one of them for its first row.
    /// - Parameters:
    ///   - place: Where the walk ended before; its day's end is that of the stretch.
    ///   - limit: Most rows.
    ///   - read: Reads rows of a day before an identifier, if one is given, so many at most, until a deadline.
    /// - Returns: The rows, and where they end if there are more.
    func walk(
        from: PostgresTimestamp, to: PostgresTimestamp, after place: LedgerPlace?, limit: Int,
        _ read: (LedgerDay, UUID?, Int, ContinuousClock.Instant) async throws(GatewayError) -> [RecordedIssuance]
    ) async throws(GatewayError) -> (rows: [RecordedIssuance], last: LedgerPlace?) {
        let deadline = ContinuousClock.now + Self.patience
        var rows: [RecordedIssuance] = []
        var ends: [PostgresTimestamp] = []
        for day in try await execute(Self.days, LedgerDay(from: from, to: to), deadline: deadline)
        where rows.count <= limit {
            let before = day.to == place?.end ? place?.id : nil
            // One more tells whether there is a next page.
            let found = try await read(day, before, limit + 1 - rows.count, deadline)
            rows += found
            ends += repeatElement(day.to, count: found.count)
        }
        guard rows.count > limit, limit > 0 else { return (rows, nil) }
        return (Array(rows.prefix(limit)), LedgerPlace(end: ends[limit - 1], id: rows[limit - 1].id))
    }

    // Without CASE the planner may read a date out of the names of tables that are no partitions, and fail.
    static let days = Statement<LedgerDay, LedgerDay>(
        """
        SELECT greatest(p.day, $1), least(p.day + interval '24 hours', $2)
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        CROSS JOIN LATERAL (
            SELECT CASE WHEN c.relname ~ '^issuances_[0-9]{8}$'
                THEN to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC' END AS day
        ) p
        WHERE i.inhparent = 'public.issuances'::regclass AND p.day < $2 AND p.day + interval '24 hours' > $1
        ORDER BY p.day DESC
        """, onlyReads: true
    ) {
        [$0.from, $0.to]
    } decode: { row throws(PostgresError) in
        LedgerDay(from: try row.next(), to: try row.next())
    }
}

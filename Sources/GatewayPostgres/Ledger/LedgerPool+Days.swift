import FoundationEssentials
import GatewayCore
import LibPQ

/// A day of the ledger, or a part of it.
struct LedgerDay: Sendable {
    var from: PostgresTimestamp
    var to: PostgresTimestamp
}

/// The last row of a page: the end of the row's day, and the row's identifier.
struct LedgerPlace: Sendable {
    var end: PostgresTimestamp
    var id: UUID
}

extension LedgerPool {
    /// Reads a period of the ledger day by day. The newest day comes first, and within a day the newest row, by
    /// identifier.
    ///
    /// Most pages end within the first day, and each further day is asked only for the rows still missing. A merge of
    /// all days would open every one of them for its first row.
    /// - Parameters:
    ///   - from: Begin of the period, inclusive.
    ///   - to: End of the period, exclusive.
    ///   - place: The last row of the previous page. Its day ends where the period ends.
    ///   - limit: Maximum number of rows.
    ///   - read: Reads rows of a day: those before an identifier, if one is given, up to a number of rows, until a
    ///     deadline.
    /// - Returns: The rows, and the last of them if more follow.
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
            // One extra row shows whether there is a next page.
            let found = try await read(day, before, limit + 1 - rows.count, deadline)
            rows += found
            ends += repeatElement(day.to, count: found.count)
        }
        guard rows.count > limit, limit > 0 else { return (rows, nil) }
        return (Array(rows.prefix(limit)), LedgerPlace(end: ends[limit - 1], id: rows[limit - 1].id))
    }

    // Without CASE, the planner may parse a date from the name of a table that is no partition, and fail.
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

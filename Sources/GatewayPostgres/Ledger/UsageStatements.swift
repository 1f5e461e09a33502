import FoundationEssentials
import GatewayCore
import LibPQ

/// Parameters of a count of issuances.
struct UsageRequest: Sendable {
    /// The last row of the previous page.
    struct Place: Sendable {
        var start: PostgresTimestamp
        var urls: Int64
        /// Principal, bucket, grant, action and delivery. A dimension that is not counted separately is empty.
        var names: [String]
    }

    var query: UsageQuery
    var from: PostgresTimestamp
    var to: PostgresTimestamp
    var after: Place?
    var limit: Int

    private static let dimensions: [UsageQuery.Dimension] = [.principal, .bucket, .grant, .action, .delivery]

    private var parameters: [any PostgresValue] {
        var values = query.filter.parameters(
            from: from, to: after.flatMap { $0.start.advanced(by: query.step) }.map { min($0, to) } ?? to)
        values.append(query.step.rawValue)
        for dimension in Self.dimensions { values.append(query.dimensions.contains(dimension)) }
        values.append(after?.start)
        for index in Self.dimensions.indices { values.append(after?.names[index]) }
        values.append(Int64(limit))
        values.append(query.step == .range ? after?.urls : nil)
        values.append(query.filter.reach.parameter)
        return values
    }

    /// The parameters, and the principals by which indexes find what a reach holds.
    private var callerParameters: [any PostgresValue] { parameters + [query.filter.reach.onlyPrincipals] }

    /// The statement that counts the issuances. It uses the kept sums that are detailed enough for the query: by the
    /// minute without callers, or by the day and hour with them. No sum knows keys.
    var statement: Statement<UsageRequest, Usage> {
        let filter = query.filter
        guard filter.prefix == nil, !filter.isAlive,
            filter.reach.scopes?.allSatisfy(\.prefix.rawValue.isEmpty) ?? true
        else { return Self.counted }
        let namesNoCaller =
            filter.principal == nil && filter.grantID == nil
            && filter.reach.scopes?.allSatisfy { $0.principals == nil } ?? true
            && query.dimensions.isDisjoint(with: [.principal, .grant])
        return namesNoCaller ? Self.summed : Self.summedByCaller
    }

    /// Counts in the ledger alone.
    static let counted = statement("", counts("", unsettled: unsettled, landed: landed))

    private static let nothing = "NULL::numeric"

    /// The bytes that an upload `i` has reserved and that are not settled.
    private static let unsettled = """
        CASE WHEN i.quota_ids IS NOT NULL AND i.action <> 'GetObject' AND EXISTS (SELECT FROM reservations)
            THEN (SELECT max(r.amount) FROM reservations r WHERE r.issuance_id = i.id) END
        """

    /// The bytes that landed of an upload `i`.
    private static let landed = """
        CASE WHEN i.action = 'PutObject' AND EXISTS (SELECT FROM landed_uploads)
            THEN (SELECT l.bytes FROM landed_uploads l WHERE l.issuance_id = i.id) END
        """

    /// Adds up the kept sums, and reads the ledger for the rest: minutes that the period cuts, and rows newer than the
    /// sums. What landed is summed up for itself.
    ///
    /// It is one statement, so that sums and rows belong to the same instant.
    static let summed = statement(
        """
        WITH summed AS MATERIALIZED (
            SELECT b.starts_at, b.ends_at
            FROM summed_days d
            CROSS JOIN LATERAL (
                SELECT CASE WHEN d.starts_at >= $1 THEN d.starts_at
                        ELSE date_bin('1 minute', $1 + interval '59.999999 s', timestamptz 'epoch') END AS starts_at,
                    CASE WHEN d.summed_to <= $2 THEN d.summed_to
                        ELSE date_bin('1 minute', $2, timestamptz 'epoch') END AS ends_at
            ) b
            WHERE d.summed_to > $1 AND d.starts_at < $2 AND b.starts_at < b.ends_at
        ),
        gaps AS MATERIALIZED (
            SELECT g.starts_at, g.ends_at
            FROM (
                SELECT coalesce(lag(s.ends_at) OVER (ORDER BY s.starts_at), $1) AS starts_at, s.starts_at AS ends_at
                FROM summed s
                UNION ALL
                SELECT coalesce(max(s.ends_at), $1), $2 FROM summed s
            ) g
            WHERE g.starts_at < g.ends_at
        ),
        landing AS MATERIALIZED (
            SELECT least(date_bin('1 minute', $1 + interval '59.999999 s', timestamptz 'epoch'), $2) AS starts_at,
                date_bin('1 minute', $2, timestamptz 'epoch') AS ends_at
        )
        """,
        """
        (
            SELECT \(start(of: "m.minute")) AS start, NULL::text AS principal,
                CASE WHEN $13 THEN m.bucket END AS bucket, NULL::uuid AS grant_id, CASE WHEN $15 THEN m.action END AS action,
                CASE WHEN $16 THEN m.delivery END AS delivery, m.urls, m.bytes_bound AS bound,
                CASE WHEN m.byte_quotas <> '{}' AND EXISTS (SELECT FROM quotas q WHERE q.id = ANY (m.byte_quotas))
                    THEN m.bytes_reserved END AS reserved,
                NULL::numeric AS unsettled, NULL::numeric AS landed
            FROM summed s
            JOIN issuance_sums m ON m.minute >= s.starts_at AND m.minute < s.ends_at
            WHERE \(condition(principals: "''"))
            UNION ALL
            SELECT \(start(of: "i.issued_at")), NULL, CASE WHEN $13 THEN i.bucket END, NULL,
                CASE WHEN $15 THEN i.action END, CASE WHEN $16 THEN i.delivery END, 0, NULL, NULL, r.amount, NULL
            FROM (
                SELECT r.issuance_id, max(r.amount) AS amount, max(r.dead_at) AS dead_at
                FROM reservations r WHERE r.dead_at > $1 - interval '1 hour' GROUP BY r.issuance_id
            ) r
            CROSS JOIN LATERAL (
                SELECT i.issued_at, i.bucket, i.action, i.delivery
                FROM issuances i
                WHERE i.id = r.issuance_id AND i.issued_at > r.dead_at - interval '8 days' AND i.quota_ids IS NOT NULL
                    AND i.action <> 'GetObject' AND \(IssuanceFilter.condition) AND \(IssuanceFilter.isInside("$25"))
                OFFSET 0
            ) i
            UNION ALL
            SELECT c.start, c.principal, c.bucket, c.grant_id, c.action, c.delivery, c.urls, c.bound, c.reserved, c.unsettled,
                c.landed
            FROM gaps g
            CROSS JOIN LATERAL \(counts(
                "AND i.issued_at >= g.starts_at AND i.issued_at < g.ends_at", unsettled: nothing, landed: nothing)) c
            UNION ALL
            SELECT \(start(of: "m.minute")), NULL, CASE WHEN $13 THEN m.bucket END, NULL, CASE WHEN $15 THEN m.action END,
                CASE WHEN $16 THEN m.delivery END, 0, NULL, NULL, NULL, m.bytes
            FROM landing b
            JOIN landing_sums m ON m.minute >= b.starts_at AND m.minute < b.ends_at
            WHERE \(condition(principals: "''"))
            UNION ALL
            SELECT \(start(of: "i.issued_at")), NULL, CASE WHEN $13 THEN i.bucket END, NULL,
                CASE WHEN $15 THEN i.action END, CASE WHEN $16 THEN i.delivery END, 0, NULL, NULL, NULL, \(landed)
            FROM (
                SELECT $1 AS starts_at, b.starts_at AS ends_at FROM landing b
                UNION ALL
                SELECT greatest(b.starts_at, b.ends_at), $2 FROM landing b
            ) c
            CROSS JOIN LATERAL (
                SELECT i.id, i.issued_at, i.bucket, i.action, i.delivery
                FROM issuances i
                WHERE i.issued_at >= c.starts_at AND i.issued_at < c.ends_at AND \(IssuanceFilter.condition)
                    AND \(IssuanceFilter.isInside("$25"))
                -- Keeps PostgreSQL from reading the whole period.
                OFFSET 0
            ) i
            WHERE c.starts_at < c.ends_at
        )
        """)

    /// Does the same with the sums of whole days and hours, which know callers and grants. Counts by the hour take none
    /// of days.
    static let summedByCaller = statement(
        """
        WITH days AS MATERIALIZED (
            SELECT d.starts_at, d.starts_at + interval '24 hours' AS ends_at
            FROM summed_caller_days d
            WHERE $11 <> 'hour' AND d.starts_at >= $1 AND d.starts_at + interval '24 hours' <= $2
        ),
        hours AS MATERIALIZED (
            SELECT h.starts_at, h.starts_at + interval '1 hour' AS ends_at
            FROM summed_hours h
            WHERE h.starts_at >= $1 AND h.starts_at + interval '1 hour' <= $2
                AND date_trunc('day', h.starts_at, 'UTC') NOT IN (SELECT d.starts_at FROM days d)
        ),
        summed AS MATERIALIZED (
            SELECT d.starts_at, d.ends_at FROM days d
            UNION ALL
            SELECT h.starts_at, h.ends_at FROM hours h
        ),
        gaps AS MATERIALIZED (
            SELECT g.starts_at, g.ends_at
            FROM (
                SELECT coalesce(lag(s.ends_at) OVER (ORDER BY s.starts_at), $1) AS starts_at, s.starts_at AS ends_at
                FROM summed s
                UNION ALL
                SELECT coalesce(max(s.ends_at), $1), $2 FROM summed s
            ) g
            WHERE g.starts_at < g.ends_at
        ),
        landing AS MATERIALIZED (
            SELECT h.starts_at, h.ends_at, d.starts_at AS days_start_at, d.ends_at AS days_end_at
            FROM (
                SELECT date_trunc('hour', $1 + interval '59 minutes 59.999999 s', 'UTC') AS starts_at,
                    date_trunc('hour', $2, 'UTC') AS ends_at
            ) h
            LEFT JOIN (
                SELECT date_trunc('day', $1 + interval '23 hours 59 minutes 59.999999 s', 'UTC') AS starts_at,
                    date_trunc('day', $2, 'UTC') AS ends_at
            ) d ON $11 <> 'hour' AND d.starts_at < d.ends_at
        ),
        landing_days AS MATERIALIZED (
            SELECT l.days_start_at AS starts_at, l.days_end_at AS ends_at FROM landing l WHERE l.days_end_at IS NOT NULL
        ),
        landing_hours AS MATERIALIZED (
            SELECT l.starts_at, coalesce(l.days_start_at, l.ends_at) AS ends_at FROM landing l
            UNION ALL
            SELECT l.days_end_at, l.ends_at FROM landing l WHERE l.days_end_at IS NOT NULL
        ),
        landing_rests AS MATERIALIZED (
            SELECT c.starts_at, c.ends_at
            FROM (
                SELECT $1 AS starts_at, least(l.starts_at, $2) AS ends_at FROM landing l
                UNION ALL
                SELECT greatest(l.starts_at, l.ends_at), $2 FROM landing l
            ) c
            WHERE c.starts_at < c.ends_at
        )
        """,
        """
        (
            \(kept(in: "caller_days", by: "day", of: "days"))
            UNION ALL
            \(kept(in: "caller_sums", by: "hour", of: "hours"))
            UNION ALL
            SELECT \(start(of: "i.issued_at")), \(callerDimensions(of: "i")), 0, NULL, NULL, r.amount, NULL
            FROM (
                SELECT r.issuance_id, max(r.amount) AS amount, max(r.dead_at) AS dead_at
                FROM reservations r WHERE r.dead_at > $1 - interval '1 hour' GROUP BY r.issuance_id
            ) r
            CROSS JOIN LATERAL (
                SELECT i.issued_at, i.principal, i.bucket, i.grant_id, i.action, i.delivery
                FROM issuances i
                WHERE i.id = r.issuance_id AND i.issued_at > r.dead_at - interval '8 days' AND i.quota_ids IS NOT NULL
                    AND i.action <> 'GetObject' AND \(IssuanceFilter.condition) AND \(IssuanceFilter.isInside("$25"))
                OFFSET 0
            ) i
            UNION ALL
            SELECT c.start, c.principal, c.bucket, c.grant_id, c.action, c.delivery, c.urls, c.bound, c.reserved, c.unsettled,
                c.landed
            FROM gaps g
            CROSS JOIN LATERAL \(counts(
                "AND i.issued_at >= g.starts_at AND i.issued_at < g.ends_at", unsettled: nothing, landed: nothing)) c
            UNION ALL
            SELECT k.start, k.principal, k.bucket, k.grant_id, k.action, k.delivery, 0, NULL, NULL, NULL, k.bytes
            FROM landing_days p
            CROSS JOIN LATERAL \(landed(in: "caller_landing_days", by: "day")) k
            UNION ALL
            SELECT k.start, k.principal, k.bucket, k.grant_id, k.action, k.delivery, 0, NULL, NULL, NULL, k.bytes
            FROM landing_hours p
            CROSS JOIN LATERAL \(landed(in: "caller_landings", by: "hour")) k
            UNION ALL
            SELECT \(start(of: "i.issued_at")), \(callerDimensions(of: "i")), 0, NULL, NULL, NULL, l.bytes
            FROM landing_rests c
            CROSS JOIN LATERAL (
                SELECT i.id, i.issued_at, i.principal, i.bucket, i.grant_id, i.action, i.delivery
                FROM issuances i
                WHERE i.issued_at >= c.starts_at AND i.issued_at < c.ends_at AND \(IssuanceFilter.condition)
                    AND \(IssuanceFilter.isInside("$25"))
                    AND i.action = 'PutObject'
                OFFSET 0
            ) i
            CROSS JOIN LATERAL (
                SELECT l.bytes FROM landed_uploads l WHERE l.issuance_id = i.id
                -- Keeps PostgreSQL from reading all of them.
                OFFSET 0
            ) l
        )
        """
    ) {
        $0.callerParameters
    }

    /// Selects the kept sums of the days or hours of a table of the statement. Each is read by itself, so that the sums
    /// of other periods are not.
    private static func kept(in sums: String, by period: String, of periods: String) -> String {
        """
        SELECT k.start, k.principal, k.bucket, k.grant_id, k.action, k.delivery, k.urls, k.bound, k.reserved,
                NULL::numeric AS unsettled, NULL::numeric AS landed
            FROM \(periods) p
            CROSS JOIN LATERAL (
                SELECT \(start(of: "m.\(period)")) AS start, \(callerDimensions(of: "m")), m.urls, m.bytes_bound AS bound,
                    CASE WHEN m.byte_quotas <> '{}' AND EXISTS (SELECT FROM quotas q WHERE q.id = ANY (m.byte_quotas))
                        THEN m.bytes_reserved END AS reserved
                FROM \(sums) m WHERE m.\(period) = p.starts_at AND \(callerCondition)
                OFFSET 0
            ) k
        """
    }

    /// A table of what landed of the issuances of a span `p` of whole days or hours, which is known whether they are
    /// summed up or not.
    private static func landed(in landings: String, by period: String) -> String {
        """
        (
                SELECT \(start(of: "m.\(period)")) AS start, \(callerDimensions(of: "m")), m.bytes
                FROM \(landings) m
                WHERE m.\(period) >= p.starts_at AND m.\(period) < p.ends_at AND \(callerCondition)
                OFFSET 0
            )
        """
    }

    /// The dimensions of a row, as far as they are counted separately.
    private static func callerDimensions(of row: String) -> String {
        """
        CASE WHEN $12 THEN \(row).principal END AS principal, CASE WHEN $13 THEN \(row).bucket END AS bucket,
                CASE WHEN $14 THEN \(row).grant_id END AS grant_id, CASE WHEN $15 THEN \(row).action END AS action,
                CASE WHEN $16 THEN \(row).delivery END AS delivery
        """
    }

    /// The condition that sums `m` without keys meet the filter and lie inside the reach.
    private static func condition(principals: String...) -> String {
        """
        \(SumCondition.ofKinds(bucket: "$4", action: "$6", delivery: "$7", credential: "$9"))
            AND \(ReachCondition.holds("$25", bucket: "m.bucket", places: ["''"], principals: principals))
        """
    }

    private static let callerCondition = """
        \(SumCondition.ofCallers(principal: "$3", grant: "$8", named: "$26"))
            AND \(condition(principals: "m.principal", "m.matched_principal"))
        """

    /// Returns the start of the period that an instant is counted in.
    private static func start(of instant: String) -> String {
        "CASE $11 WHEN 'range' THEN $1 ELSE date_trunc($11, \(instant), 'UTC') END"
    }

    /// Returns a table of counts by all dimensions, for ledger rows that meet the filter and a further condition. What
    /// is unsettled and what landed of each row are expressions.
    ///
    /// The charge of a byte quota is the number of bytes reserved. Several charges of one upload reserve the same
    /// bytes.
    private static func counts(_ condition: String, unsettled: String, landed: String) -> String {
        """
        (
            SELECT n.start, n.principal, n.bucket, n.grant_id, n.action, n.delivery, n.urls, n.bound, n.unsettled, n.landed,
                n.urls * (
                    SELECT max(a.amount) FROM unnest(n.quota_ids, n.quota_amounts) AS a (quota_id, amount)
                    JOIN quotas q ON q.id = a.quota_id AND q.metric = 'bytes'
                ) AS reserved
            FROM (
                SELECT \(start(of: "i.issued_at")) AS start, CASE WHEN $12 THEN i.principal END AS principal,
                    CASE WHEN $13 THEN i.bucket END AS bucket, CASE WHEN $14 THEN i.grant_id END AS grant_id,
                    CASE WHEN $15 THEN i.action END AS action, CASE WHEN $16 THEN i.delivery END AS delivery,
                    CASE WHEN i.action <> 'GetObject' THEN i.quota_ids END AS quota_ids,
                    CASE WHEN i.action <> 'GetObject' THEN i.quota_amounts END AS quota_amounts,
                    count(*) AS urls, sum(i.content_length) AS bound,
                    sum(\(unsettled)) AS unsettled, sum(\(landed)) AS landed
                FROM issuances i
                WHERE \(IssuanceFilter.condition) AND \(IssuanceFilter.isInside("$25")) \(condition)
                GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
            ) n
        )
        """
    }

    private static func statement(
        _ preface: String, _ counts: String,
        encode: @escaping @Sendable (UsageRequest) -> [any PostgresValue] = { $0.parameters }
    ) -> Statement<UsageRequest, Usage> {
        Statement(
            """
            \(preface)
            SELECT u.start, u.principal, u.bucket, u.grant_id, u.action, u.delivery, sum(u.urls)::bigint,
                coalesce(sum(u.bound), 0)::bigint, coalesce(sum(u.reserved), 0)::bigint,
                coalesce(sum(u.unsettled), 0)::bigint, coalesce(sum(u.landed), 0)::bigint
            FROM (
                SELECT t.start, t.principal, t.bucket, t.grant_id, t.action, t.delivery, t.urls, t.bound, t.reserved,
                    t.unsettled, t.landed
                FROM \(counts) t
            ) u
            WHERE $17::timestamptz IS NULL OR $11 = 'range' OR (u.start, coalesce(u.principal, ''), coalesce(u.bucket, ''),
                coalesce(u.grant_id::text, ''), coalesce(u.action, ''), coalesce(u.delivery, ''))
                < ($17, $18::text, $19::text, $20::text, $21::text, $22::text)
            GROUP BY u.start, u.principal, u.bucket, u.grant_id, u.action, u.delivery
            HAVING $24::bigint IS NULL OR (sum(u.urls), coalesce(u.principal, ''), coalesce(u.bucket, ''),
                coalesce(u.grant_id::text, ''), coalesce(u.action, ''), coalesce(u.delivery, ''))
                < ($24, $18, $19, $20, $21, $22)
            ORDER BY CASE $11 WHEN 'range' THEN sum(u.urls) END DESC, u.start DESC, coalesce(u.principal, '') DESC, coalesce(u.bucket, '') DESC,
                coalesce(u.grant_id::text, '') DESC, coalesce(u.action, '') DESC, coalesce(u.delivery, '') DESC
            LIMIT $23
            """, onlyReads: true, encode: encode
        ) { row throws(PostgresError) in
            Usage(
                start: try row.next(), principal: try row.next(), bucket: try row.next(),
                grantID: try row.next(), actions: try row.nextActions(), delivery: try row.next(),
                urls: try row.next(), bytesBound: try row.next(), bytesReserved: try row.next(),
                bytesUnsettled: try row.next(), bytesLanded: try row.next())
        }
    }
}

extension PostgresTimestamp {
    /// The end of the hour or day, in UTC, that begins at this instant; `nil` for the whole period.
    fileprivate func advanced(by step: UsageQuery.Step) -> PostgresTimestamp? {
        let seconds: Int64
        switch step {
        case .hour: seconds = 3600
        case .day: seconds = 86_400
        case .range: return nil
        }
        return PostgresTimestamp(microsecondsSince1970: microsecondsSince1970 + seconds * 1_000_000)
    }
}

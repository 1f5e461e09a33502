import FoundationEssentials
import GatewayCore
import LibPQ

extension UsageRequest {
    private static let names = UsageParameters()

    /// Counts in the ledger alone.
    static let counted = statement("", counts("", unsettled: unsettled, landed: landed), names.list)

    private static let nothing = "NULL::numeric"

    /// The bytes that an upload `i` has reserved and that are not settled. Like those that are reserved, they are of
    /// quotas that exist; the reservations of others are still settled.
    private static let unsettled = """
        CASE WHEN i.quota_ids IS NOT NULL AND i.action <> 'GetObject' AND EXISTS (SELECT FROM reservations)
            THEN (
                SELECT max(r.amount) FROM reservations r JOIN quotas q ON q.id = r.quota_id WHERE r.issuance_id = i.id
            ) END
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
                SELECT CASE WHEN d.starts_at >= \(names.from) THEN d.starts_at
                        ELSE date_bin('1 minute', \(names.from) + interval '59.999999 s', timestamptz 'epoch') END AS starts_at,
                    CASE WHEN d.summed_to <= \(names.to) THEN d.summed_to
                        ELSE date_bin('1 minute', \(names.to), timestamptz 'epoch') END AS ends_at
            ) b
            WHERE d.summed_to > \(names.from) AND d.starts_at < \(names.to) AND b.starts_at < b.ends_at
        ),
        \(gaps),
        landing AS MATERIALIZED (
            SELECT least(date_bin('1 minute', \(names.from) + interval '59.999999 s', timestamptz 'epoch'), \(names.to)) AS starts_at,
                date_bin('1 minute', \(names.to), timestamptz 'epoch') AS ends_at
        )
        """,
        """
        (
            SELECT \(start(of: "m.minute")) AS start, \(names.countedWithoutCallers(of: "m")), m.urls, m.bytes_bound AS bound,
                CASE WHEN m.byte_quotas <> '{}' AND EXISTS (SELECT FROM quotas q WHERE q.id = ANY (m.byte_quotas))
                    THEN m.bytes_reserved END AS reserved,
                NULL::numeric AS unsettled, NULL::numeric AS landed
            FROM summed s
            JOIN issuance_sums m ON m.minute >= s.starts_at AND m.minute < s.ends_at
            WHERE \(condition(principals: "''"))
            UNION ALL
            \(ledgerParts(names.countedWithoutCallers(of: "i"), columns: "i.bucket, i.action, i.delivery"))
            UNION ALL
            SELECT \(start(of: "m.minute")), \(names.countedWithoutCallers(of: "m")), 0, NULL, NULL, NULL, m.bytes
            FROM landing b
            JOIN landing_sums m ON m.minute >= b.starts_at AND m.minute < b.ends_at
            WHERE \(condition(principals: "''"))
            UNION ALL
            SELECT \(start(of: "i.issued_at")), \(names.countedWithoutCallers(of: "i")), 0, NULL, NULL, NULL, \(landed)
            FROM (
                SELECT \(names.from) AS starts_at, b.starts_at AS ends_at FROM landing b
                UNION ALL
                SELECT greatest(b.starts_at, b.ends_at), \(names.to) FROM landing b
            ) c
            CROSS JOIN LATERAL (
                SELECT i.id, i.issued_at, i.bucket, i.action, i.delivery
                FROM issuances i
                WHERE i.issued_at >= c.starts_at AND i.issued_at < c.ends_at AND \(names.filter.condition)
                    AND \(IssuanceFilter.isInside(names.reach))
                -- Keeps PostgreSQL from reading the whole period.
                OFFSET 0
            ) i
            WHERE c.starts_at < c.ends_at
        )
        """, names.list)

    /// Does the same with the sums of whole days and hours, which know callers and grants. Counts by the hour take none
    /// of days.
    static let summedByCaller = statement(
        """
        WITH days AS MATERIALIZED (
            SELECT d.starts_at, d.starts_at + interval '24 hours' AS ends_at
            FROM summed_caller_days d
            WHERE \(names.step) <> 'hour' AND d.starts_at >= \(names.from) AND d.starts_at + interval '24 hours' <= \(names.to)
        ),
        hours AS MATERIALIZED (
            SELECT h.starts_at, h.starts_at + interval '1 hour' AS ends_at
            FROM summed_hours h
            WHERE h.starts_at >= \(names.from) AND h.starts_at + interval '1 hour' <= \(names.to)
                AND date_trunc('day', h.starts_at, 'UTC') NOT IN (SELECT d.starts_at FROM days d)
        ),
        summed AS MATERIALIZED (
            SELECT d.starts_at, d.ends_at FROM days d
            UNION ALL
            SELECT h.starts_at, h.ends_at FROM hours h
        ),
        \(gaps),
        landing AS MATERIALIZED (
            SELECT h.starts_at, h.ends_at, d.starts_at AS days_start_at, d.ends_at AS days_end_at
            FROM (
                SELECT date_trunc('hour', \(names.from) + interval '59 minutes 59.999999 s', 'UTC') AS starts_at,
                    date_trunc('hour', \(names.to), 'UTC') AS ends_at
            ) h
            LEFT JOIN (
                SELECT date_trunc('day', \(names.from) + interval '23 hours 59 minutes 59.999999 s', 'UTC') AS starts_at,
                    date_trunc('day', \(names.to), 'UTC') AS ends_at
            ) d ON \(names.step) <> 'hour' AND d.starts_at < d.ends_at
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
                SELECT \(names.from) AS starts_at, least(l.starts_at, \(names.to)) AS ends_at FROM landing l
                UNION ALL
                SELECT greatest(l.starts_at, l.ends_at), \(names.to) FROM landing l
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
            \(ledgerParts(
                names.counted(of: "i"), columns: "i.principal, i.bucket, i.grant_id, i.action, i.delivery"))
            UNION ALL
            SELECT k.start, \(UsageParameters.columns(of: "k")), 0, NULL, NULL, NULL, k.bytes
            FROM landing_days p
            CROSS JOIN LATERAL \(landed(in: "caller_landing_days", by: "day")) k
            UNION ALL
            SELECT k.start, \(UsageParameters.columns(of: "k")), 0, NULL, NULL, NULL, k.bytes
            FROM landing_hours p
            CROSS JOIN LATERAL \(landed(in: "caller_landings", by: "hour")) k
            UNION ALL
            SELECT \(start(of: "i.issued_at")), \(names.counted(of: "i")), 0, NULL, NULL, NULL, l.bytes
            FROM landing_rests c
            CROSS JOIN LATERAL (
                SELECT i.id, i.issued_at, i.principal, i.bucket, i.grant_id, i.action, i.delivery
                FROM issuances i
                WHERE i.issued_at >= c.starts_at AND i.issued_at < c.ends_at AND \(names.filter.condition)
                    AND \(IssuanceFilter.isInside(names.reach))
                    AND i.action = 'PutObject'
                OFFSET 0
            ) i
            CROSS JOIN LATERAL (
                SELECT l.bytes FROM landed_uploads l WHERE l.issuance_id = i.id
                -- Keeps PostgreSQL from reading all of them.
                OFFSET 0
            ) l
        )
        """, names.callerList)

    /// The spans of the period that lie between those of the table `summed`.
    private static let gaps = """
        gaps AS MATERIALIZED (
            SELECT g.starts_at, g.ends_at
            FROM (
                SELECT coalesce(lag(s.ends_at) OVER (ORDER BY s.starts_at), \(names.from)) AS starts_at, s.starts_at AS ends_at
                FROM summed s
                UNION ALL
                SELECT coalesce(max(s.ends_at), \(names.from)), \(names.to) FROM summed s
            ) g
            WHERE g.starts_at < g.ends_at
        )
        """

    /// Selects what is told by the ledger even where sums are kept: the bytes that are reserved and not settled, and
    /// the rows in the gaps between the sums.
    ///
    /// An upload has a reservation for each byte quota that it was charged to, all of the same bytes.
    ///
    /// - Parameters:
    ///   - dimensions: The dimensions of a reservation `i` by which it is counted.
    ///   - columns: The columns from which they are made.
    private static func ledgerParts(_ dimensions: String, columns: String) -> String {
        """
        SELECT \(start(of: "i.issued_at")), \(dimensions), 0, NULL, NULL, i.amount, NULL
            FROM (
                SELECT DISTINCT ON (i.issuance_id) i.amount, i.issued_at, \(columns)
                FROM reservations i
                JOIN quotas q ON q.id = i.quota_id
                WHERE i.action <> 'GetObject' AND \(names.filter.conditionWithoutEnd)
                    AND \(IssuanceFilter.isInside(names.reach))
                ORDER BY i.issuance_id
            ) i
            UNION ALL
            SELECT c.start, \(UsageParameters.columns(of: "c")), c.urls, c.bound, c.reserved, c.unsettled,
                c.landed
            FROM gaps g
            CROSS JOIN LATERAL \(counts(
                "AND i.issued_at >= g.starts_at AND i.issued_at < g.ends_at", unsettled: nothing, landed: nothing)) c
        """
    }

    /// Selects the kept sums of the days or hours of a table of the statement. Each is read by itself, so that the sums
    /// of other periods are not.
    private static func kept(in sums: String, by period: String, of periods: String) -> String {
        """
        SELECT k.start, \(UsageParameters.columns(of: "k")), k.urls, k.bound, k.reserved,
                NULL::numeric AS unsettled, NULL::numeric AS landed
            FROM \(periods) p
            CROSS JOIN LATERAL (
                SELECT \(start(of: "m.\(period)")) AS start, \(names.counted(of: "m")), m.urls, m.bytes_bound AS bound,
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
                SELECT \(start(of: "m.\(period)")) AS start, \(names.counted(of: "m")), m.bytes
                FROM \(landings) m
                WHERE m.\(period) >= p.starts_at AND m.\(period) < p.ends_at AND \(callerCondition)
                OFFSET 0
            )
        """
    }

    /// The condition that sums `m` without keys meet the filter and lie inside the reach.
    private static func condition(principals: String...) -> String {
        """
        \(SumCondition.ofKinds(
                bucket: names.filter.bucket, action: names.filter.action, delivery: names.filter.delivery,
                credential: names.filter.credential))
            AND \(ReachCondition.holds(names.reach, bucket: "m.bucket", places: ["''"], principals: principals))
        """
    }

    private static let callerCondition = """
        \(SumCondition.ofCallers(
                principal: names.filter.principal, grant: names.filter.grant, named: names.onlyPrincipals))
            AND \(condition(principals: "m.principal", "m.matched_principal"))
        """

    /// Returns the start of the period that an instant is counted in.
    private static func start(of instant: String) -> String {
        "CASE \(names.step) WHEN 'range' THEN \(names.from) ELSE date_trunc(\(names.step), \(instant), 'UTC') END"
    }

    /// Returns a table of counts by all dimensions, for ledger rows that meet the filter and a further condition. What
    /// is unsettled and what landed of each row are expressions.
    ///
    /// The charge of a byte quota is the number of bytes reserved. Several charges of one upload reserve the same
    /// bytes.
    private static func counts(_ condition: String, unsettled: String, landed: String) -> String {
        """
        (
            SELECT n.start, \(UsageParameters.columns(of: "n")), n.urls, n.bound, n.unsettled, n.landed,
                n.urls * (
                    SELECT max(a.amount) FROM unnest(n.quota_ids, n.quota_amounts) AS a (quota_id, amount)
                    JOIN quotas q ON q.id = a.quota_id AND q.metric = 'bytes'
                ) AS reserved
            FROM (
                SELECT \(start(of: "i.issued_at")) AS start, \(names.counted(of: "i")),
                    CASE WHEN i.action <> 'GetObject' THEN i.quota_ids END AS quota_ids,
                    CASE WHEN i.action <> 'GetObject' THEN i.quota_amounts END AS quota_amounts,
                    count(*) AS urls, sum(i.content_length) AS bound,
                    sum(\(unsettled)) AS unsettled, sum(\(landed)) AS landed
                FROM issuances i
                WHERE \(names.filter.condition) AND \(IssuanceFilter.isInside(names.reach)) \(condition)
                GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
            ) n
        )
        """
    }

    private static func statement(
        _ preface: String, _ counts: String, _ parameters: ParameterList<UsageRequest>
    ) -> Statement<UsageRequest, Usage> {
        let ordered = UsageParameters.names(of: "u")
        let place = ordered.joined(separator: ", ")
        let lastTexts = names.lastNames.map { "\($0)::text" }.joined(separator: ", ")
        let descending = ordered.map { "\($0) DESC" }.joined(separator: ", ")
        return Statement(
            """
            \(preface)
            SELECT u.start, \(UsageParameters.columns(of: "u")), sum(u.urls)::bigint,
                coalesce(sum(u.bound), 0)::bigint, coalesce(sum(u.reserved), 0)::bigint,
                coalesce(sum(u.unsettled), 0)::bigint, coalesce(sum(u.landed), 0)::bigint
            FROM (
                SELECT t.start, \(UsageParameters.columns(of: "t")), t.urls, t.bound, t.reserved,
                    t.unsettled, t.landed
                FROM \(counts) t
            ) u
            WHERE \(names.lastStart)::timestamptz IS NULL OR \(names.step) = 'range'
                OR (u.start, \(place)) < (\(names.lastStart), \(lastTexts))
            GROUP BY u.start, \(UsageParameters.columns(of: "u"))
            HAVING \(names.lastURLs)::bigint IS NULL
                OR (sum(u.urls), \(place)) < (\(names.lastURLs), \(lastTexts))
            ORDER BY CASE \(names.step) WHEN 'range' THEN sum(u.urls) END DESC, u.start DESC, \(descending)
            LIMIT \(names.limit)
            """, onlyReads: true
        ) {
            parameters.encode($0)
        } decode: { row throws(PostgresError) in
            Usage(
                start: try row.next(), principal: try row.next(), bucket: try row.next(),
                grantID: try row.next(), actions: try row.nextActions(), delivery: try row.next(),
                urls: try row.next(), bytesBound: try row.next(), bytesReserved: try row.next(),
                bytesUnsettled: try row.next(), bytesLanded: try row.next())
        }
    }
}

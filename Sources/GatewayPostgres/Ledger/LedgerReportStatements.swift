import FoundationEssentials
import GatewayCore
import LibPQ

/// Parameters of a page of refusals.
struct DenialRequest: Sendable {
    var query: DenialQuery
    var from: PostgresTimestamp
    var to: PostgresTimestamp
    /// The last row of the previous page: its start, then principal, bucket and code. A dimension that is not counted
    /// separately is empty.
    var before: (minute: PostgresTimestamp, names: [String])?
    var limit: Int

    /// Whether the table's rows are what is asked for, so that nothing needs to be added up.
    var isDetailed: Bool { query.step == .minute && query.dimensions.count == DenialQuery.Dimension.allCases.count }
}

/// Parameters of a page of grants and their use.
struct GrantUseRequest: Sendable {
    var query: GrantUseQuery
    var from: PostgresTimestamp
    var since: PostgresTimestamp
    var after: UUID?
    var limit: Int

    var parameters: [any PostgresValue] {
        [
            from, query.bucket?.rawValue, query.principal?.rawValue, since, after, Int64(limit), query.reach.parameter,
            query.reach.onlyPrincipals,
        ]
    }
}

extension PostgresLedgerReports {
    static let denials = Statement<DenialRequest, CountedDenial>(
        """
        SELECT d.minute, d.principal, nullif(d.bucket, ''), d.code, d.count FROM denials d
        WHERE d.minute >= $1 AND d.minute < $2 AND ($3::text IS NULL OR d.principal = $3)
            AND ($4::text IS NULL OR d.bucket = $4) AND ($5::text IS NULL OR d.code = $5)
            AND ($6::timestamptz IS NULL OR d.minute <= $6)
            AND ($6::timestamptz IS NULL OR (d.minute, d.principal, d.bucket, d.code) < ($6, $7::text, $8::text, $9::text))
            AND \(ReachCondition.holds("$11", bucket: "d.bucket", place: "''", principals: "d.principal"))
        ORDER BY d.minute DESC, d.principal DESC, d.bucket DESC, d.code DESC LIMIT $10
        """, onlyReads: true
    ) { request in
        let names = request.before?.names
        return [
            request.from, request.to, request.query.principal?.rawValue, request.query.bucket?.rawValue,
            request.query.code, request.before?.minute, names?[0], names?[1], names?[2], Int64(request.limit),
            request.query.reach.parameter,
        ]
    } decode: { row throws(PostgresError) in
        try CountedDenial(&row)
    }

    /// Adds up refusals by time and by some of the dimensions.
    static let summedDenials = Statement<DenialRequest, CountedDenial>(
        """
        SELECT s.start, s.principal, nullif(s.bucket, ''), s.code, sum(s.count)::bigint
        FROM (
            SELECT date_trunc($11, d.minute, 'UTC') AS start, CASE WHEN $12 THEN d.principal END AS principal,
                CASE WHEN $13 THEN d.bucket END AS bucket, CASE WHEN $14 THEN d.code END AS code, d.count
            FROM denials d
            WHERE d.minute >= $1 AND d.minute < $2 AND ($3::text IS NULL OR d.principal = $3)
                AND ($4::text IS NULL OR d.bucket = $4) AND ($5::text IS NULL OR d.code = $5)
                AND \(ReachCondition.holds("$15", bucket: "d.bucket", place: "''", principals: "d.principal"))
        ) s
        WHERE $6::timestamptz IS NULL OR (s.start, coalesce(s.principal, ''), coalesce(s.bucket, ''), coalesce(s.code, ''))
            < ($6, $7::text, $8::text, $9::text)
        GROUP BY s.start, s.principal, s.bucket, s.code
        ORDER BY s.start DESC, coalesce(s.principal, '') DESC, coalesce(s.bucket, '') DESC, coalesce(s.code, '') DESC
        LIMIT $10
        """, onlyReads: true
    ) { request in
        let names = request.before?.names
        let dimensions = request.query.dimensions
        return [
            request.from, request.to, request.query.principal?.rawValue, request.query.bucket?.rawValue,
            request.query.code, request.before?.minute, names?[0], names?[1], names?[2], Int64(request.limit),
            request.query.step.rawValue, dimensions.contains(.principal), dimensions.contains(.bucket),
            dimensions.contains(.code), request.query.reach.parameter,
        ]
    } decode: { row throws(PostgresError) in
        try CountedDenial(&row)
    }

    /// Counts reservations.
    static let backlog = Statement<Void, SettlingBacklog>(
        """
        SELECT count(*), coalesce(sum(r.amount), 0)::bigint, count(*) FILTER (WHERE r.dead_at < statement_timestamp()),
            min(r.dead_at) FILTER (WHERE r.dead_at < statement_timestamp())
        FROM reservations r
        """, onlyReads: true
    ) {
        []
    } decode: { row throws(PostgresError) in
        SettlingBacklog(
            reservations: try row.next(), bytes: try row.next(), expired: try row.next(), expiredSince: try row.next())
    }

    /// Reads a page of grants with their use. Deny grants are left out, because they are never the reason for an
    /// issuance.
    static let grantUse = grantUse(where: "$4::timestamptz IS NOT NULL")

    /// Reads a page of the grants that were not used since `since`, with their use before. Grants created after it are
    /// left out: they had no chance to be used before.
    static let unusedGrants = grantUse(
        where: """
            g.created_at < $4
                AND NOT EXISTS (
                    SELECT FROM grant_uses u
                    WHERE u.grant_id = g.id AND u.last_issued_at >= $4 AND ($2::text IS NULL OR u.bucket = $2)
                )
                AND g.id NOT IN (SELECT n.grant_id FROM unsummed n WHERE n.last_at >= $4) AND NOT \(wasOutside)
            """)

    /// The condition that a grant `g` lay outside the reach `$7` when the period began, or later. The clock of a gateway
    /// that recorded a use may be ahead by some seconds.
    private static let wasOutside = """
        EXISTS (
            SELECT FROM grants o
            WHERE o.id = g.id AND o.removed_at >= $1 - interval '1 minute'
                AND NOT \(GrantTable.isInside("$7", grant: "o"))
        )
        """

    /// When a grant was last used is kept. The ledger is read only for hours that are not summed up, and for the part
    /// of an hour with which the period begins.
    ///
    /// A grant that was moved into the reach during the period may have been used outside, for other keys, in another
    /// bucket or for another principal. Its use is not shown, and it is not among the unused ones, whatever it was.
    private static func grantUse(where condition: String) -> Statement<GrantUseRequest, GrantUse> {
        Statement(
            """
            WITH gaps AS MATERIALIZED (
                SELECT g.starts_at, g.ends_at
                FROM (
                    SELECT coalesce(lag(h.starts_at + interval '1 hour') OVER (ORDER BY h.starts_at), $1) AS starts_at,
                        h.starts_at AS ends_at
                    FROM summed_hours h
                    WHERE h.starts_at >= $1
                    UNION ALL
                    SELECT coalesce(max(h.starts_at) + interval '1 hour', $1), 'infinity' FROM summed_hours h
                    WHERE h.starts_at >= $1
                ) g
                WHERE g.starts_at < g.ends_at
            ),
            unsummed AS MATERIALIZED (
                SELECT i.grant_id, count(*) AS urls, max(i.issued_at) AS last_at, min(i.object_key) AS first_key,
                    max(i.object_key) AS last_key
                FROM gaps g
                CROSS JOIN LATERAL (
                    SELECT i.grant_id, i.issued_at, i.object_key FROM issuances i
                    WHERE i.issued_at >= g.starts_at AND i.issued_at < g.ends_at AND ($2::text IS NULL OR i.bucket = $2)
                    -- Keeps PostgreSQL from reading the whole period.
                    OFFSET 0
                ) i
                GROUP BY i.grant_id
            ),
            page AS MATERIALIZED (
                SELECT \(GrantTable.columns.stored(of: "g")), \(wasOutside) AS was_outside FROM grants g
                WHERE g.removed_at IS NULL AND g.effect = 'allow' AND ($2::text IS NULL OR g.bucket = $2)
                    AND ($3::text IS NULL OR g.principal = $3)
                    AND \(condition)
                    AND ($5::uuid IS NULL OR g.id < $5) AND \(GrantTable.isInside("$7"))
                    AND ($8::text[] IS NULL OR g.principal = ANY ($8))
                ORDER BY g.id DESC LIMIT $6
            ),
            uses AS (
                SELECT t.grant_id, sum(t.urls)::bigint AS urls, max(t.last_at) AS last_at, min(t.first_key) AS first_key,
                    max(t.last_key) AS last_key
                FROM (
                    SELECT m.grant_id, m.urls, m.last_issued_at AS last_at, m.first_key, m.last_key
                    FROM page g
                    CROSS JOIN LATERAL (
                        SELECT m.* FROM caller_sums m
                        WHERE m.grant_id = g.id AND m.hour >= $1 AND ($2::text IS NULL OR m.bucket = $2)
                        -- Makes PostgreSQL look up each grant by the index.
                        OFFSET 0
                    ) m
                    UNION ALL
                    SELECT n.grant_id, n.urls, n.last_at, n.first_key, n.last_key
                    FROM unsummed n
                    WHERE n.grant_id IN (SELECT g.id FROM page g)
                ) t
                GROUP BY t.grant_id
            )
            SELECT \(GrantTable.columns.selected(of: "g")), u.urls, u.last_at, u.first_key, u.last_key
            FROM page g
            LEFT JOIN uses u ON u.grant_id = g.id AND NOT g.was_outside
            ORDER BY g.id DESC
            """, onlyReads: true
        ) {
            $0.parameters
        } decode: { row throws(PostgresError) in
            GrantUse(
                grant: try Grant(&row),
                use: try row.nextJoined(4) { row throws(PostgresError) in
                    GrantUse.Use(
                        urls: try row.next(), lastAt: try row.next(), firstKey: try row.next(), lastKey: try row.next())
                })
        }
    }
}

extension CountedDenial {
    /// Reads start, principal, bucket, code and count.
    fileprivate init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            start: try row.next(), principal: try row.next(), bucket: try row.next(), code: try row.next(),
            count: try row.next())
    }
}

/// A question about live issuances, and what may be seen of the answer.
struct BlastRadiusQuestion: Sendable {
    var cause: BlastRadius.Cause
    var reach: AdminReach
}

/// One count in a report on live issuances.
struct AliveShare: Sendable {
    var kind: String
    var share: BlastRadius.Share
    var principalCount: Int64

    /// The first instant of which a live issuance may be. Of days that are over and summed up, the sums by caller and
    /// grant tell the hours that have any.
    private static let first = """
        (
            SELECT least(
                (
                    SELECT min(m.hour) FROM caller_sums m
                    WHERE ($1::uuid IS NULL OR m.grant_id = $1) AND ($2::uuid IS NULL OR m.credential_id = $2)
                        AND ($3::text IS NULL OR m.principal = $3)
                        AND m.hour > now() - interval '8 days' - interval '1 hour' AND m.last_expires_at > now()
                ),
                (
                    SELECT min(p.day) FROM \(LedgerPool.partitions) p
                    WHERE p.day > now() - interval '9 days'
                        AND NOT EXISTS (SELECT FROM summed_caller_days s WHERE s.starts_at = p.day)
                ),
                now()
            )
        )
        """

    /// Counts the live issuances. None lives longer than a week, so older days need not be read.
    static let statement = Statement<BlastRadiusQuestion, AliveShare>(
        """
        WITH alive AS MATERIALIZED (
            SELECT i.principal, i.bucket, i.delivery, i.credential_id::text AS credential, i.grant_id::text AS grant_id,
                i.expires_at
            FROM issuances i
            WHERE i.issued_at > now() - interval '8 days' AND i.issued_at >= \(first) AND i.expires_at > now()
                AND ($1::uuid IS NULL OR i.grant_id = $1) AND ($2::uuid IS NULL OR i.credential_id = $2)
                AND ($3::text IS NULL OR i.principal = $3) AND \(IssuanceFilter.isInside("$4"))
                AND ($5::text[] IS NULL OR i.principal = ANY ($5))
        )
        SELECT 'all', '', count(*), coalesce(max(a.expires_at), now()), count(DISTINCT a.principal) FROM alive a
        UNION ALL
        (
            SELECT 'principal', a.principal, count(*), max(a.expires_at), 0 FROM alive a
            GROUP BY a.principal ORDER BY count(*) DESC, a.principal LIMIT \(BlastRadius.maxPrincipals)
        )
        UNION ALL
        (
            SELECT 'grant', a.grant_id, count(*), max(a.expires_at), 0 FROM alive a
            GROUP BY a.grant_id ORDER BY count(*) DESC, a.grant_id LIMIT \(BlastRadius.maxPrincipals)
        )
        UNION ALL
        SELECT 'delivery', a.delivery, count(*), max(a.expires_at), 0 FROM alive a GROUP BY a.delivery
        UNION ALL
        SELECT 'bucket', a.bucket, count(*), max(a.expires_at), 0 FROM alive a GROUP BY a.bucket
        UNION ALL
        SELECT 'credential', a.credential, count(*), max(a.expires_at), 0 FROM alive a GROUP BY a.credential
        """, onlyReads: true
    ) {
        $0.cause.parameters + [$0.reach.parameter, $0.reach.onlyUsers]
    } decode: { row throws(PostgresError) in
        AliveShare(
            kind: try row.next(),
            share: BlastRadius.Share(
                name: try row.next(), count: try row.next(), aliveUntil: try row.next()),
            principalCount: try row.next())
    }

    /// Tests whether the grant or credential exists or ever existed.
    static let isKnown = Statement<BlastRadius.Cause, Bool>(
        """
        SELECT EXISTS (SELECT FROM grants g WHERE g.id = $1::uuid)
            OR EXISTS (SELECT FROM storage_credentials c WHERE c.id = $2::uuid) OR $3::text IS NOT NULL
        """, onlyReads: true
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try row.next()
    }
}

/// One live session in a report on live issuances.
struct AliveSession: Sendable {
    var session: BlastRadius.Session
    /// The number of all sessions, including those not listed.
    var total: Int64

    /// Lists the live sessions and cookies that may rest on a grant or credential.
    ///
    /// For each session, the ledger names only the widest of the grants it rests on. Any other allow grant of the
    /// bucket may have contributed if it shares an action, and its prefix lies above or below the session's. Past group
    /// memberships are not known, so grants to groups count for every session.
    static let statement = Statement<BlastRadiusQuestion, AliveSession>(
        """
        SELECT i.principal, i.bucket, i.object_key, string_to_array(i.action, ','), i.credential_id, i.expires_at,
            count(*) OVER ()
        FROM issuances i
        WHERE i.issued_at > now() - interval '8 days' AND i.expires_at > now()
            AND i.delivery IN ('sts', 'cdn-cookies')
            AND ($2::uuid IS NULL OR i.credential_id = $2) AND ($3::text IS NULL OR i.principal = $3)
            AND \(IssuanceFilter.isInside("$4"))
            AND (
                $1::uuid IS NULL OR i.grant_id = $1
                OR EXISTS (
                    SELECT FROM grants g
                    WHERE g.id = $1 AND g.effect = 'allow' AND g.bucket = i.bucket
                        AND (g.principal = i.principal OR NOT starts_with(g.principal, 'user:'))
                        AND g.actions && string_to_array(i.action, ',')
                        AND (
                            starts_with(i.object_key, split_part(g.prefix, '${', 1))
                            OR starts_with(split_part(g.prefix, '${', 1), i.object_key)
                        )
                )
            )
        GROUP BY i.principal, i.bucket, i.object_key, i.action, i.credential_id, i.expires_at
        ORDER BY i.expires_at DESC, i.principal, i.bucket, i.object_key LIMIT \(BlastRadius.maxSessions)
        """, onlyReads: true
    ) {
        $0.cause.parameters + [$0.reach.parameter]
    } decode: { row throws(PostgresError) in
        AliveSession(
            session: BlastRadius.Session(
                principal: try row.next(), bucket: try row.next(), prefix: try row.next(),
                actions: try row.next(), credentialID: try row.next(), expiresAt: try row.next()),
            total: try row.next())
    }
}

extension BlastRadius.Cause {
    /// The grant, the credential and the principal. Two of them are absent.
    fileprivate var parameters: [any PostgresValue] {
        let none: UUID? = nil
        let nobody: String? = nil
        return switch self {
        case .grant(let id): [UUID?.some(id), none, nobody]
        case .credential(let id): [none, UUID?.some(id), nobody]
        case .principal(let principal): [none, none, String?.some(principal.rawValue)]
        }
    }
}

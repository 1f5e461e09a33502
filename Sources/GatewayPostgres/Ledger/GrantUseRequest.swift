import FoundationEssentials
import GatewayCore
import LibPQ

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

extension GrantUseRequest {
    /// Reads a page of grants with their use. Deny grants are left out, because they are never the reason for an
    /// issuance.
    static let all = page(where: "$4::timestamptz IS NOT NULL")

    /// Reads a page of the grants that were not used since `since`, with their use before. Grants created after it are
    /// left out: they had no chance to be used before.
    static let unused = page(
        where: """
            g.created_at < $4
                AND NOT EXISTS (
                    SELECT FROM grant_uses u
                    WHERE u.grant_id = g.id AND u.last_issued_at >= $4 AND ($2::text IS NULL OR u.bucket = $2)
                )
                AND g.id NOT IN (SELECT n.grant_id FROM unsummed n WHERE n.last_at >= $4) AND NOT \(wasOutside)
            """)

    /// The condition that a grant `g` lay outside the reach `$7` when the period began, or later. The clock of a
    /// gateway that recorded a use may be ahead by some seconds.
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
    private static func page(where condition: String) -> Statement<GrantUseRequest, GrantUse> {
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
            let grant = try Grant(&row)
            let use = try row.nextJoined(4) { row throws(PostgresError) in
                GrantUse.Use(
                    urls: try row.next(), lastAt: try row.next(), firstKey: try row.next(), lastKey: try row.next(),
                    actions: grant.actions)
            }
            return GrantUse(grant: grant, use: use)
        }
    }
}

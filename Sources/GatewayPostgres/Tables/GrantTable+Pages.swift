import GatewayCore
import LibPQ

/// The lists of grants, each by the index that suits its filters or its reach.
extension GrantTable {
    /// Describes lists and exports of grants. ``isListed`` takes the values of the filters as its first parameters.
    static let listing = PagedList(
        of: .grant,
        filters: [
            .text("principal"), .text("bucket"), .text("prefix"), .text("action"), .text("effect"),
            .instant("activeAt"), .text("covers"),
        ],
        order: [.text("principal"), .text("bucket"), .text("prefix"), .uuid("id")], isNarrowed: true)

    /// Makes the condition that a grant lies inside a reach.
    static func isInside(_ parameter: String, grant: String = "g") -> String {
        ReachCondition.holds(
            parameter, bucket: "\(grant).bucket", place: "\(grant).prefix", principals: "\(grant).principal")
    }

    /// The condition that a grant `g` is live and passes the filters `$1` to `$7`.
    static let isListed = """
        g.removed_at IS NULL AND ($1::text IS NULL OR g.principal = $1) AND ($2::text IS NULL OR g.bucket = $2)
            AND ($3::text IS NULL OR g.prefix = $3) AND ($4::text IS NULL OR g.actions @> ARRAY[$4::text])
            AND ($5::text IS NULL OR g.effect = $5)
            AND ($6::text IS NULL OR (coalesce(g.not_before <= $6::text::timestamptz, true)
                AND coalesce(g.not_after > $6::text::timestamptz, true)))
            AND ($7::text IS NULL OR \(covers("$7")))
        """

    /// The condition that a grant covers a key, or may cover it for some caller. One that denies by a template covers
    /// all keys below the text before its first variable, for callers whom the variable does not fit.
    static func covers(_ key: String, grant: String = "g") -> String {
        let prefix = "\(grant).prefix"
        return """
            CASE WHEN NOT \(grant).is_template
                THEN \(prefix) = \(key) OR (right(\(prefix), 1) IN ('', '/') AND starts_with(\(key), \(prefix)))
                WHEN \(grant).effect = 'deny' THEN starts_with(\(key), split_part(\(prefix), '${', 1))
                ELSE template_place(\(prefix), \(key)) = 'covers' END
            """
    }

    /// Reads a page of grants in the order of the index by principal, so that every page costs the same.
    static let page = page(from: "grants g")

    /// Reads a page of grants that may cover a key, by the index of the places in a bucket. ``page`` would read all
    /// grants of the bucket.
    static let pageCovering = page(
        from: """
            (SELECT DISTINCT p.text COLLATE "C" AS text FROM covering_prefixes($2, $7) AS p (text)) c
            CROSS JOIN LATERAL (
                SELECT \(columns.stored(of: "g")), g.removed_at FROM grants g
                WHERE g.bucket = $2 AND g.prefix = c.text AND g.principal >= coalesce($1, $8, '')
                    AND g.principal <= coalesce($1, '~') AND \(isListed) AND \(isAfter)
                ORDER BY g.principal FETCH FIRST $12 ROWS WITH TIES
            ) g
            """)

    /// Reads a page of the grants inside a reach whose scopes all name principals, by the index by principal. Of
    /// patterns that overlap, the widest is read.
    static let pageOfPrincipals = Statement<PageRequest, Grant>(
        """
        WITH named AS MATERIALIZED (
            SELECT DISTINCT n.low, n.is_pattern
            FROM \(ReachCondition.scopes("$13"))
            CROSS JOIN LATERAL (
                SELECT right(s.principal, 1) = '*' AS is_pattern,
                    CASE right(s.principal, 1) WHEN '*' THEN left(s.principal, -1) ELSE s.principal END COLLATE "C" AS low
            ) n
        )
        SELECT \(columns.selected(of: "g")) FROM named w
        CROSS JOIN LATERAL (
            SELECT \(columns.stored(of: "g")) FROM grants g
            WHERE g.principal >= w.low AND g.principal <= CASE WHEN w.is_pattern THEN w.low || repeat(chr(1114111), 256)
                    ELSE w.low END COLLATE "C"
                AND \(isListed) AND \(isAfter) AND \(isInside("$13"))
            ORDER BY g.principal, g.bucket, g.prefix, g.id LIMIT $12
        ) g
        WHERE NOT EXISTS (
            SELECT FROM named o
            WHERE o.is_pattern AND (o.low, o.is_pattern) <> (w.low, w.is_pattern) AND starts_with(w.low, o.low)
        )
        ORDER BY g.principal, g.bucket, g.prefix, g.id LIMIT $12
        """, onlyReads: true
    ) {
        $0.narrowedParameters
    }

    /// Reads a page of the grants inside a reach that covers a whole bucket, in the order of ``page``: most of what is
    /// read is inside.
    static let pageWithinBuckets = Statement<PageRequest, Grant>(
        """
        SELECT \(columns.selected(of: "g")) FROM grants g
        WHERE \(isListed) AND \(isAfter) AND \(isInside("$13"))
        ORDER BY g.principal, g.bucket, g.prefix, g.id LIMIT $12
        """, onlyReads: true
    ) {
        $0.narrowedParameters
    }

    /// Reads a page of the grants inside a reach, by the index of the places in a bucket: at the widest of the prefixes
    /// of each bucket, which do not overlap. In the order of bytes, the texts that begin with a prefix lie between it
    /// and the prefix with its last byte, `/`, replaced by the next one, `0`.
    static let pageWithin = Statement<PageRequest, Grant>(
        """
        WITH scopes AS MATERIALIZED (SELECT DISTINCT s.bucket, s.prefix FROM \(ReachCondition.scopes("$13")))
        SELECT \(columns.selected(of: "g")) FROM scopes w
        CROSS JOIN LATERAL (
            SELECT \(columns.stored(of: "g")) FROM grants g
            WHERE g.bucket = w.bucket AND g.prefix >= w.prefix COLLATE "C"
                AND g.prefix < CASE WHEN w.prefix = '' THEN repeat(chr(1114111), 256) ELSE left(w.prefix, -1) || '0' END
                AND \(isListed) AND \(isAfter) AND \(isInside("$13"))
            -- Keeps PostgreSQL from reading the grants of all places.
            OFFSET 0
        ) g
        WHERE NOT EXISTS (
            SELECT FROM scopes o WHERE o.bucket = w.bucket AND o.prefix <> w.prefix AND starts_with(w.prefix, o.prefix)
        )
        ORDER BY g.principal, g.bucket, g.prefix, g.id LIMIT $12
        """, onlyReads: true
    ) {
        $0.narrowedParameters
    }

    /// The condition that a grant `g` comes after the page before.
    private static let isAfter = """
        ($8::text IS NULL OR (g.principal, g.bucket, g.prefix, g.id) > ($8, $9, $10, $11::text::uuid))
        """

    private static func page(from source: String) -> Statement<PageRequest, Grant> {
        Statement(
            """
            SELECT \(columns.selected(of: "g")) FROM \(source)
            WHERE \(isListed) AND \(isAfter)
            ORDER BY g.principal, g.bucket, g.prefix, g.id LIMIT $12
            """, onlyReads: true
        ) {
            $0.parameters
        }
    }
}

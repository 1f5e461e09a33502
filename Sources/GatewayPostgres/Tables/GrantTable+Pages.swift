import GatewayCore
import LibPQ

/// The lists of grants, each by the index that suits its filters or its reach.
extension GrantTable {
    /// Describes lists and exports of live grants `g`.
    static let listing = PagedList(
        of: .grant,
        filters: [
            .text("principal", is: "g.principal"), .text("bucket", is: "g.bucket"), .text("prefix", is: "g.prefix"),
            .text("action") { "g.actions @> ARRAY[\($0)::text]" }, .text("effect", is: "g.effect"),
            .instant("activeAt") { "coalesce(g.not_before <= \($0), true) AND coalesce(g.not_after > \($0), true)" },
            .text("covers") { covers($0) },
        ],
        order: [.text("g.principal"), .text("g.bucket"), .text("g.prefix"), .uuid("g.id")],
        restriction: "g.removed_at IS NULL", isNarrowed: true)

    /// Makes the condition that a grant lies inside a reach.
    static func isInside(_ parameter: String, grant: String = "g") -> String {
        ReachCondition.holds(
            parameter, bucket: "\(grant).bucket", place: "\(grant).prefix", principals: "\(grant).principal")
    }

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
    static let page: Statement<PageRequest, Grant> = AdminStatements.page(
        of: listing, columns.selected(of: "g"), from: "grants g")

    /// Reads a page of grants that may cover a key, by the index of the places in a bucket. ``page`` would read all
    /// grants of the bucket.
    static let pageCovering: Statement<PageRequest, Grant> = {
        let (principal, bucket) = (listing.parameter(of: "principal"), listing.parameter(of: "bucket"))
        let places = "covering_prefixes(\(bucket), \(listing.parameter(of: "covers")))"
        return AdminStatements.page(
            of: listing, columns.selected(of: "g"),
            from: """
                (SELECT DISTINCT p.text COLLATE "C" AS text FROM \(places) AS p (text)) c
                CROSS JOIN LATERAL (
                    SELECT \(columns.stored(of: "g")), g.removed_at FROM grants g
                    WHERE g.bucket = \(bucket) AND g.prefix = c.text
                        AND g.principal >= coalesce(\(principal), \(listing.after("g.principal")), '')
                        AND g.principal <= coalesce(\(principal), '~') AND \(listing.isListed)
                    ORDER BY g.principal FETCH FIRST \(listing.limit) ROWS WITH TIES
                ) g
                """)
    }()

    /// Reads a page of the grants inside a reach whose scopes all name principals, by the index by principal. Of
    /// patterns that overlap, the widest is read.
    static let pageOfPrincipals = Statement<PageRequest, Grant>(
        """
        WITH named AS MATERIALIZED (
            SELECT DISTINCT n.low, n.is_pattern
            FROM \(ReachCondition.scopes(listing.reach))
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
                AND \(listing.isListed) AND \(isInside(listing.reach))
            ORDER BY \(listing.sorting) LIMIT \(listing.limit)
        ) g
        WHERE NOT EXISTS (
            SELECT FROM named o
            WHERE o.is_pattern AND (o.low, o.is_pattern) <> (w.low, w.is_pattern) AND starts_with(w.low, o.low)
        )
        ORDER BY \(listing.sorting) LIMIT \(listing.limit)
        """, onlyReads: true
    ) {
        $0.narrowedParameters
    }

    /// Reads a page of the grants inside a reach that covers a whole bucket, in the order of ``page``: most of what is
    /// read is inside.
    static let pageWithinBuckets = Statement<PageRequest, Grant>(
        """
        SELECT \(columns.selected(of: "g")) FROM grants g
        WHERE \(listing.isListed) AND \(isInside(listing.reach))
        ORDER BY \(listing.sorting) LIMIT \(listing.limit)
        """, onlyReads: true
    ) {
        $0.narrowedParameters
    }

    /// Reads a page of the grants inside a reach, by the index of the places in a bucket: at the widest of the prefixes
    /// of each bucket, which do not overlap. In the order of bytes, the texts that begin with a prefix lie between it
    /// and the prefix with its last byte, `/`, replaced by the next one, `0`.
    static let pageWithin = Statement<PageRequest, Grant>(
        """
        WITH scopes AS MATERIALIZED (SELECT DISTINCT s.bucket, s.prefix FROM \(ReachCondition.scopes(listing.reach)))
        SELECT \(columns.selected(of: "g")) FROM scopes w
        CROSS JOIN LATERAL (
            SELECT \(columns.stored(of: "g")) FROM grants g
            WHERE g.bucket = w.bucket AND g.prefix >= w.prefix COLLATE "C"
                AND g.prefix < CASE WHEN w.prefix = '' THEN repeat(chr(1114111), 256) ELSE left(w.prefix, -1) || '0' END
                AND \(listing.isListed) AND \(isInside(listing.reach))
            -- Keeps PostgreSQL from reading the grants of all places.
            OFFSET 0
        ) g
        WHERE NOT EXISTS (
            SELECT FROM scopes o WHERE o.bucket = w.bucket AND o.prefix <> w.prefix AND starts_with(w.prefix, o.prefix)
        )
        ORDER BY \(listing.sorting) LIMIT \(listing.limit)
        """, onlyReads: true
    ) {
        $0.narrowedParameters
    }
}

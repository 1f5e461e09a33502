public import GatewayCore
public import LibPQ
public import Logging

/// Reads grants for reviews of access in PostgreSQL. Each page costs the same, however many grants there are.
public struct PostgresAccess: AccessRows {
    private let pool: StorePool

    /// Creates a reader on connections logged in as the gateway.
    public init(pool: PostgresPool, logger: Logger) {
        self.pool = StorePool(pool: pool, logger: logger, complaint: "access cannot be reviewed")
    }

    private static let byPrincipal = PagedList(
        name: "access of a principal", filters: [.text("principal"), .text("bucket")],
        order: [.text("principal"), .text("bucket"), .text("prefix"), .uuid("id")], isNarrowed: true)
    private static let byPrefix = PagedList(
        name: "access around a prefix", filters: [.text("bucket"), .text("prefix")],
        order: [.text("prefix"), .text("principal"), .uuid("id")], isNarrowed: true)
    private static let byKey = PagedList(
        name: "access to a key", filters: [.text("bucket"), .text("key"), .text("members")],
        order: [.text("principal")], isNarrowed: true)

    /// Reads the grants of some principals.
    public func grants(
        of principals: [Principal], in bucket: BucketName?, _ page: ListQuery
    ) async throws(GatewayError) -> Page<Grant> {
        let rows = try await pool.execute(
            AccessStatements.ofPrincipals,
            AccessQuestion(page: Self.byPrincipal.request(page), bucket: bucket, principals: principals))
        return Self.byPrincipal.page(rows, of: page) {
            [$0.principal.rawValue, $0.bucket.rawValue, $0.prefix.text, $0.id.lowercaseText]
        }
    }

    /// Reads the grants that cover a prefix or lie below it.
    public func grants(
        around prefix: ExactText, in bucket: BucketName, _ page: ListQuery
    ) async throws(GatewayError) -> Page<PlacedGrant> {
        let request = try Self.byPrefix.request(page)
        let rows = try await pool.execute(
            request.onlyPrincipals == nil ? AccessStatements.aroundPrefix : AccessStatements.ofNamedAroundPrefix,
            AccessQuestion(page: request, bucket: bucket, place: prefix.rawValue))
        return Self.byPrefix.page(rows, of: page) {
            [$0.grant.prefix.text, $0.grant.principal.rawValue, $0.grant.id.lowercaseText]
        }
    }

    /// Reads the principals of grants that may cover a key.
    public func principals(
        reaching key: ObjectKey, in bucket: BucketName, includesMembers: Bool, _ page: ListQuery
    ) async throws(GatewayError) -> Page<Principal> {
        let rows = try await pool.execute(
            AccessStatements.reachingKey,
            AccessQuestion(
                page: Self.byKey.request(page), bucket: bucket, place: key.rawValue, includesMembers: includesMembers))
        return Self.byKey.page(rows, of: page) { [$0.rawValue] }
    }

    /// Reads the grants of some principals that may cover a key.
    public func grants(
        of principals: [Principal], reaching key: ObjectKey, in bucket: BucketName, limit: Int
    ) async throws(GatewayError) -> [Grant] {
        guard !principals.isEmpty else { return [] }
        let page = PageRequest(filters: [], after: [], limit: Int64(limit))
        return try await pool.execute(
            AccessStatements.onKey,
            AccessQuestion(page: page, bucket: bucket, place: key.rawValue, principals: principals))
    }

    /// Counts the members of groups.
    public func memberCounts(of groups: [Principal]) async throws(GatewayError) -> [Principal: Int64] {
        guard !groups.isEmpty else { return [:] }
        let rows = try await pool.execute(AccessStatements.memberCounts, groups)
        return Dictionary(rows.map { ($0.group, $0.count) }) { first, _ in first }
    }
}

/// What a statement of ``AccessStatements`` is asked.
struct AccessQuestion: Sendable {
    var page: PageRequest
    var bucket: BucketName?
    /// A key or a prefix.
    var place = ""
    var principals: [Principal] = []
    var includesMembers = false

    /// The place after which the page begins, then the number of rows.
    fileprivate var end: [any PostgresValue] {
        page.after.map { $0 as any PostgresValue } + [page.limit]
    }
}

/// Statements that read grants by principal and by place. Each `LATERAL` follows an index from the end of the page
/// before, and stops after as many rows as a page has. Where a page begins is one condition on the index itself, also
/// in a plan that serves all pages: no text of a row is empty, and `~` is after every name of a bucket. The index does
/// not have the identifiers, so a `LATERAL` reads `WITH TIES` in the order of the index; otherwise PostgreSQL, which
/// expects one row, reads and sorts all.
enum AccessStatements {
    /// Makes the condition that a grant `r` lies inside a reach.
    private static func isInside(_ parameter: String) -> String {
        ReachCondition.holds(parameter, bucket: "r.bucket", place: "r.prefix", principals: "r.principal")
    }

    static let ofPrincipals = Statement<AccessQuestion, Grant>(
        """
        SELECT \(GrantTable.columns.selected(of: "g")) FROM unnest($1::text[]) AS p (principal)
        CROSS JOIN LATERAL (
            SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
            WHERE r.principal = p.principal AND r.removed_at IS NULL
                AND r.bucket <= coalesce($2, '~')
                AND (r.bucket, r.prefix) >= (
                    CASE WHEN p.principal = $3 THEN $4 ELSE coalesce($2, '') END,
                    CASE WHEN p.principal = $3 THEN $5 ELSE '' END
                )
                AND ($3::text IS NULL OR (r.principal, r.bucket, r.prefix, r.id) > ($3, $4, $5, $6::text::uuid))
                AND \(isInside("$8"))
            ORDER BY r.bucket, r.prefix FETCH FIRST $7 ROWS WITH TIES
        ) g
        WHERE p.principal COLLATE "C" >= coalesce($3, '')
        ORDER BY g.principal, g.bucket, g.prefix, g.id LIMIT $7
        """, onlyReads: true
    ) {
        [$0.principals.map(\.rawValue), $0.bucket?.rawValue] + $0.end + [$0.page.reach]
    }

    /// Reads grants at the beginnings of a prefix and below it. A text below begins with the prefix, so that it lies
    /// between the prefix with a byte that no text has, and the prefix with its last byte, `/`, replaced by the next
    /// one, `0`; where the prefix is empty, before a text that is longer than any.
    static let aroundPrefix = aroundPrefix(where: "$8::text[] IS NULL")

    /// Does the same where a reach names the principals, by the index by principal.
    static let ofNamedAroundPrefix = aroundPrefix(where: "r.principal = ANY ($8::text[])")

    private static func aroundPrefix(where condition: String) -> Statement<AccessQuestion, PlacedGrant> {
        Statement(
            """
            WITH above AS MATERIALIZED (
                SELECT p.text COLLATE "C" AS text FROM covering_prefixes($1, $2) AS p (text)
                WHERE p.text = $2 OR NOT starts_with(p.text, $2)
                UNION
                SELECT t.text FROM templates_at($1, $2) AS t (text)
                WHERE NOT starts_with(t.text, $2) AND template_place(t.text, $2) = 'below'
            )
            SELECT \(GrantTable.columns.selected(of: "g")),
                CASE WHEN \(GrantTable.covers("$2")) THEN 'covers' ELSE 'below' END
            FROM (
                (
                    SELECT \(GrantTable.columns.stored(of: "r")) FROM above a
                    CROSS JOIN LATERAL (
                        SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
                        WHERE r.bucket = $1 AND r.prefix = a.text AND r.removed_at IS NULL
                            AND (\(GrantTable.covers("$2", grant: "r")) OR template_place(r.prefix, $2) = 'below')
                            AND r.principal >= CASE WHEN a.text = $3 THEN $4 ELSE '' END
                            AND ($3::text IS NULL OR (r.prefix, r.principal, r.id) > ($3, $4, $5::text::uuid))
                            AND \(isInside("$7")) AND \(condition)
                        ORDER BY r.principal FETCH FIRST $6 ROWS WITH TIES
                    ) r
                    WHERE a.text >= coalesce($3, '')
                    ORDER BY r.prefix, r.principal, r.id LIMIT $6
                )
                UNION ALL
                (
                    SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
                    WHERE r.bucket = $1 AND r.removed_at IS NULL
                        AND (r.prefix, r.principal) >= (
                            CASE WHEN $3 > $2 COLLATE "C" THEN $3 ELSE $2 || chr(1) END,
                            CASE WHEN $3 > $2 COLLATE "C" THEN $4 ELSE '' END
                        )
                        AND r.prefix < CASE WHEN $2 = '' THEN repeat(chr(1114111), 256) ELSE rtrim($2, '/') || '0' END
                        AND ($3::text IS NULL OR (r.prefix, r.principal, r.id) > ($3, $4, $5::text::uuid))
                        AND \(isInside("$7")) AND \(condition)
                    ORDER BY r.prefix, r.principal FETCH FIRST $6 ROWS WITH TIES
                )
            ) g
            ORDER BY g.prefix, g.principal, g.id LIMIT $6
            """, onlyReads: true
        ) {
            [$0.bucket?.rawValue, $0.place] + $0.end + [$0.page.reach, $0.page.onlyPrincipals]
        } decode: { row throws(PostgresError) in
            PlacedGrant(grant: try Grant(&row), relation: try row.nextWord())
        }
    }

    /// Reads the principals of grants at the texts that may cover a key and, if asked for, the members of the groups
    /// among them. ';' is the byte after ':'. Of a limited reach are the principals for whom the key lies inside; the
    /// groups through which they reach it may lie outside. Each name or beginning of names is a range of an index, so
    /// that nothing outside is read.
    static let reachingKey = Statement<AccessQuestion, Principal>(
        """
        WITH texts AS MATERIALIZED (
            SELECT DISTINCT p.text COLLATE "C" AS text FROM covering_prefixes($1, $2) AS p (text)
        ),
        named AS MATERIALIZED (
            SELECT '' AS low, '~' AS high WHERE $6::text IS NULL
            UNION
            SELECT CASE WHEN s.principal IS NULL THEN '' WHEN right(s.principal, 1) = '*' THEN left(s.principal, -1)
                    ELSE s.principal END,
                CASE WHEN s.principal IS NULL THEN '~'
                    WHEN right(s.principal, 1) = '*' THEN left(s.principal, -1) || repeat(chr(1114111), 256)
                    ELSE s.principal END
            FROM \(ReachCondition.scopes("$6"))
            WHERE s.bucket = $1 AND starts_with($2, s.prefix)
        ),
        direct AS (
            SELECT d.principal FROM texts t CROSS JOIN named n CROSS JOIN LATERAL (
                SELECT DISTINCT g.principal FROM grants g
                WHERE g.bucket = $1 AND g.prefix = t.text AND g.removed_at IS NULL AND \(GrantTable.covers("$2"))
                    AND g.principal > coalesce($4, '') AND g.principal >= n.low AND g.principal <= n.high
                ORDER BY g.principal LIMIT $5
            ) d
        ),
        reaching AS (
            SELECT DISTINCT d.principal FROM texts t CROSS JOIN LATERAL (
                SELECT DISTINCT g.principal FROM grants g
                WHERE g.bucket = $1 AND g.prefix = t.text AND g.removed_at IS NULL AND \(GrantTable.covers("$2"))
                    AND g.principal > 'group:' AND g.principal < 'group;'
            ) d
            WHERE $3
        ),
        members AS (
            SELECT m.member_principal FROM reaching g CROSS JOIN named n CROSS JOIN LATERAL (
                SELECT m.member_principal FROM group_members m
                WHERE m.group_principal = g.principal AND m.member_principal > coalesce($4, '')
                    AND m.member_principal >= n.low AND m.member_principal <= n.high
                ORDER BY m.member_principal LIMIT $5
            ) m
        )
        SELECT u.principal FROM (
            SELECT d.principal FROM direct d UNION SELECT m.member_principal FROM members m
        ) u
        ORDER BY u.principal LIMIT $5
        """, onlyReads: true
    ) {
        [$0.bucket?.rawValue, $0.place, $0.includesMembers] + $0.end + [$0.page.reach]
    } decode: { row throws(PostgresError) in
        try row.nextParsed(Principal.init(_:))
    }

    static let onKey = Statement<AccessQuestion, Grant>(
        """
        WITH texts AS MATERIALIZED (
            SELECT DISTINCT p.text COLLATE "C" AS text FROM covering_prefixes($2, $3) AS p (text)
        )
        SELECT \(GrantTable.columns.selected(of: "g")) FROM unnest($1::text[]) AS p (principal)
        CROSS JOIN LATERAL (
            SELECT \(GrantTable.columns.stored(of: "r")) FROM texts t
            CROSS JOIN LATERAL (
                SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
                WHERE r.principal = p.principal AND r.bucket = $2 AND r.prefix = t.text AND r.removed_at IS NULL
                    AND \(GrantTable.covers("$3", grant: "r"))
                ORDER BY r.id LIMIT $4
            ) r
            ORDER BY r.prefix, r.id LIMIT $4
        ) g
        ORDER BY g.principal, g.bucket, g.prefix, g.id
        """, onlyReads: true
    ) {
        [$0.principals.map(\.rawValue), $0.bucket?.rawValue, $0.place] + $0.end
    }

    static let memberCounts = Statement<[Principal], (group: Principal, count: Int64)>(
        """
        SELECT g.name, (SELECT count(*) FROM group_members m WHERE m.group_principal = g.name)
        FROM unnest($1::text[]) AS g (name)
        """, onlyReads: true
    ) {
        [$0.map(\.rawValue)]
    } decode: { row throws(PostgresError) in
        (try row.nextParsed(Principal.init(_:)), try row.next())
    }
}

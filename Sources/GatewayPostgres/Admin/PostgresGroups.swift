import FoundationEssentials
import GatewayCore
import LibPQ
import Logging

/// Lists the groups that memberships and grants name.
struct PostgresGroups: GroupDirectory {
    private static let listing = PagedList(name: "Group", filters: [.text("member")], order: [.text("group")])

    private let pool: StorePool

    init(pool: PostgresPool, logger: Logger) {
        self.pool = StorePool(pool: pool, logger: logger, complaint: "groups cannot be read")
    }

    /// Reads a page of groups, ordered by the bytes of their names.
    func groups(_ query: ListQuery) async throws(GatewayError) -> Page<GroupSummary> {
        let request = try Self.listing.request(query)
        let rows = try await pool.execute(query.filters["member"] == nil ? Self.page : Self.pageOfMember, request)
        return Self.listing.page(rows, of: query) { [$0.group.rawValue] }
    }
}

extension PostgresGroups {
    private static let counts = """
        (SELECT count(*) FROM group_members m WHERE m.group_principal = g.name),
        (SELECT count(*) FROM grants r WHERE r.principal = g.name AND r.removed_at IS NULL)
        """

    /// Reads a page of groups.
    ///
    /// The statement steps from one name to the next by two indexes. A group with a million grants costs no more than a
    /// group with one; only the count reads all of them. ";" is the byte after ":".
    static let page = Statement<PageRequest, GroupSummary>(
        """
        WITH RECURSIVE names (name) AS (
            SELECT least(
                (SELECT min(m.group_principal) FROM group_members m WHERE m.group_principal > coalesce($1, 'group:')),
                (SELECT min(r.principal) FROM grants r
                    WHERE r.removed_at IS NULL AND r.principal > coalesce($1, 'group:') AND r.principal < 'group;')
            )
            UNION ALL
            SELECT least(
                (SELECT min(m.group_principal) FROM group_members m WHERE m.group_principal > n.name),
                (SELECT min(r.principal) FROM grants r
                    WHERE r.removed_at IS NULL AND r.principal > n.name AND r.principal < 'group;')
            )
            FROM names n WHERE n.name IS NOT NULL
        )
        SELECT g.name, \(counts) FROM (SELECT n.name FROM names n WHERE n.name IS NOT NULL LIMIT $2) g
        """, onlyReads: true
    ) {
        $0.after.map { $0 as any PostgresValue } + [$0.limit]
    }

    static let pageOfMember = Statement<PageRequest, GroupSummary>(
        """
        SELECT g.name, \(counts)
        FROM (
            SELECT m.group_principal AS name FROM group_members m
            WHERE m.member_principal = $1 AND ($2::text IS NULL OR m.group_principal > $2)
            ORDER BY m.group_principal LIMIT $3
        ) g
        ORDER BY g.name
        """, onlyReads: true
    ) {
        $0.parameters
    }
}

extension GroupSummary: RowReadable {
    init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            group: try row.nextParsed(Principal.init(_:)), memberCount: try row.next(), grantCount: try row.next())
    }
}

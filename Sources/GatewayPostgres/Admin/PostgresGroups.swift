import Foundation
public import GatewayCore
import LibPQ
import Logging

/// Groups in PostgreSQL: the names that memberships and grants mention.
public struct PostgresGroups: GroupDirectory {
    private let pool: PostgresPool
    private let logger: Logger

    init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// Reads a page of groups, in the order of their names' bytes.
    public func groups(_ query: ListQuery) async throws(GatewayError) -> Page<GroupSummary> {
        for name in query.filters.keys where name != "member" {
            throw .invalidArgument(field: name, reason: "There is no such filter.")
        }
        let tokens = PageToken(of: "Group", filters: query.filters)
        let limit = min(max(query.pageSize, 1), 1000)
        let question = GroupQuestion(
            member: query.filters["member"],
            after: try query.pageToken.map { (text) throws(GatewayError) in try tokens.values(in: text, count: 1)[0] },
            // One more tells whether there is a next page.
            limit: Int64(limit) + 1)
        guard [question.member, question.after].allSatisfy({ $0?.utf8.contains(0) != true }) else {
            throw .invalidArgument(field: "member", reason: "No row can have this value.")
        }
        var rows: [GroupSummary]
        do throws(PostgresError) {
            rows = try await pool.execute(question.member == nil ? Self.page : Self.pageOfMember, question)
        } catch {
            logger.report(error, "groups cannot be read", in: pool.outage)
            throw error.asGatewayError
        }
        guard rows.count > limit else { return Page(items: rows, nextPageToken: nil) }
        rows.removeLast()
        return Page(items: rows, nextPageToken: rows.last.map { tokens.text(after: [$0.group.rawValue]) })
    }
}

/// Which groups are read.
struct GroupQuestion: Sendable {
    var member: String?
    var after: String?
    var limit: Int64
}

extension PostgresGroups {
    private static let counts = """
        (SELECT count(*) FROM group_members m WHERE m.group_principal = g.name),
        (SELECT count(*) FROM grants r WHERE r.principal = g.name AND r.removed_at IS NULL)
        """

    /// From one name to the next by two indexes, so that a group with a million grants costs no more than one with a single
    /// one; only the counting reads them. ";" is the byte after ":".
    static let page = Statement<GroupQuestion, GroupSummary>(
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
        [$0.after, $0.limit]
    } decode: { row throws(PostgresError) in
        GroupSummary(
            group: try row.principal(0), memberCount: try row.decode(1), grantCount: try row.decode(2))
    }

    static let pageOfMember = Statement<GroupQuestion, GroupSummary>(
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
        [$0.member, $0.after, $0.limit]
    } decode: { row throws(PostgresError) in
        GroupSummary(
            group: try row.principal(0), memberCount: try row.decode(1), grantCount: try row.decode(2))
    }
}

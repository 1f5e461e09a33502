import Foundation
import GatewayCore
import LibPQ

/// Statements about memberships; an identifier is taken apart at its U+001F.
enum GroupMemberStatements {
    static let insert = Statement<GroupMember, Void>(
        "INSERT INTO group_members (group_principal, member_principal) VALUES ($1, $2)"
    ) { [$0.group.rawValue, $0.member.rawValue] }

    private static let columns = "m.group_principal, m.member_principal, m.created_at"

    private static func whereIs(_ row: String, _ parameter: String) -> String {
        """
        \(row).group_principal = split_part(\(parameter), chr(31), 1)
            AND \(row).member_principal = split_part(\(parameter), chr(31), 2)
        """
    }

    static let read = AdminStatements.read(
        "m.revision", columns, from: "group_members m WHERE \(whereIs("m", "$1"))"
    ) { row, first throws(PostgresError) in try GroupMember(row, from: first) }

    static let page = Statement<PageRequest, GroupMember>(
        """
        SELECT \(columns) FROM group_members m
        WHERE ($1::text IS NULL OR m.group_principal = $1) AND ($2::text IS NULL OR m.member_principal = $2)
            AND ($3::text IS NULL OR (m.group_principal, m.member_principal) > ($3, $4))
        ORDER BY m.group_principal, m.member_principal LIMIT $5
        """, onlyReads: true
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try GroupMember(row, from: 0)
    }

    /// Without a lock, which the gateway's role may not take: a membership never changes, and its removal tells whether it was
    /// still there.
    static let readScope = Statement<String, LockedRow>(
        "SELECT m.member_principal, m.revision FROM group_members m WHERE \(whereIs("m", "$1"))"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        LockedRow(scopes: [try row.decode(0)], revision: try row.decode(1))
    }

    static let delete = Statement<String, Void>("DELETE FROM group_members m WHERE \(whereIs("m", "$1"))") { [$0] }

    static let document = AdminStatements.document(
        "'group', r.group_principal, 'member', r.member_principal, 'createdAt', r.created_at",
        from: "group_members r WHERE \(whereIs("r", "$1"))")
}

extension GroupMember {
    fileprivate init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        self.init(
            group: try row.principal(first), member: try row.principal(first + 1),
            createdAt: try row.decode(first + 2))
    }
}

extension AdminTable<GroupMember> {
    static var groupMembers: Self {
        AdminTable(
            kind: .groupMember, filters: [.text("group"), .text("member")], order: [.text("group"), .text("member")],
            position: { [$0.group.rawValue, $0.member.rawValue] }, identifier: \.identifier,
            isIdentifier: { !$0.utf8.contains(0) && $0.utf8.count { $0 == 0x1f } == 1 },
            referenceConflict: "Something refers to the membership.",
            insert: { member, transaction in try transaction.perform(GroupMemberStatements.insert, member) },
            read: GroupMemberStatements.read, page: GroupMemberStatements.page,
            lockRow: GroupMemberStatements.readScope,
            delete: { removal, transaction in
                guard try transaction.perform(GroupMemberStatements.delete, removal.id) == 1 else {
                    throw GatewayError.notFound(.groupMember)
                }
            },
            document: GroupMemberStatements.document)
    }
}

import Foundation
import GatewayCore
import LibPQ

/// Statements about memberships; an identifier is taken apart at its U+001F.
enum GroupMemberStatements {
    static let insert = Statement<GroupMember, Date>(
        "INSERT INTO group_members (group_principal, member_principal) VALUES ($1, $2) RETURNING created_at"
    ) {
        [$0.group.rawValue, $0.member.rawValue]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    private static let columns = "m.group_principal, m.member_principal, m.created_at"

    private static func whereIs(_ row: String, _ parameter: String) -> String {
        """
        \(row).group_principal = split_part(\(parameter), chr(31), 1)
            AND \(row).member_principal = split_part(\(parameter), chr(31), 2)
        """
    }

    static let read = Statement<String, GroupMember>(
        "SELECT \(columns) FROM group_members m WHERE \(whereIs("m", "$1"))"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try GroupMember(row)
    }

    static let page = Statement<PageRequest, GroupMember>(
        """
        SELECT \(columns) FROM group_members m
        WHERE ($1::text IS NULL OR m.group_principal = $1) AND ($2::text IS NULL OR m.member_principal = $2)
            AND ($3::text IS NULL OR (m.group_principal, m.member_principal) > ($3, $4))
        ORDER BY m.group_principal, m.member_principal LIMIT $5
        """
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try GroupMember(row)
    }

    /// Without a lock, which the gateway's role may not take: a membership never changes, and its removal tells whether it was
    /// still there.
    static let readScope = Statement<String, String>(
        "SELECT m.member_principal FROM group_members m WHERE \(whereIs("m", "$1"))"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let delete = Statement<String, Void>("DELETE FROM group_members m WHERE \(whereIs("m", "$1"))") { [$0] }

    static let audit = AdminStatements.audit(
        "GroupMember",
        members: "'group', r.group_principal, 'member', r.member_principal, 'createdAt', r.created_at",
        from: "group_members r WHERE \(whereIs("r", "$3"))")
}

extension GroupMember {
    fileprivate init(_ row: borrowing PostgresRow) throws(PostgresError) {
        self.init(group: try row.principal(0), member: try row.principal(1), createdAt: try row.decode(2))
    }
}

extension AdminTable<GroupMember> {
    static var groupMembers: Self {
        AdminTable(
            kind: .groupMember, filters: [.text("group"), .text("member")], order: [.text("group"), .text("member")],
            position: { [$0.group.rawValue, $0.member.rawValue] }, identifier: \.identifier,
            isIdentifier: { !$0.utf8.contains(0) && $0.utf8.count { $0 == 0x1f } == 1 }, createdAt: \.createdAt,
            referenceConflict: "Something refers to the membership.",
            insert: { member, transaction in try transaction.execute(GroupMemberStatements.insert, member) },
            read: GroupMemberStatements.read, page: GroupMemberStatements.page,
            lockRow: GroupMemberStatements.readScope,
            delete: { removal, transaction in
                guard try transaction.perform(GroupMemberStatements.delete, removal.id) == 1 else {
                    throw GatewayError.notFound(.groupMember)
                }
            },
            audit: GroupMemberStatements.audit)
    }
}

import FoundationEssentials
import GatewayCore
import LibPQ

/// The table `group_members`. Statements split the identifier of a row at its U+001F.
enum GroupMemberTable {
    /// The columns, in the order in which ``GroupMember/init(_:)`` reads them.
    static let columns = Columns<GroupMember>(
        Column("group_principal", as: "group") { $0.group.rawValue },
        Column("member_principal", as: "member") { $0.member.rawValue },
        Column("created_at", as: "createdAt"))

    static let insert = columns.insert(into: "group_members")

    private static func whereIs(_ row: String, _ parameter: String) -> String {
        """
        \(row).group_principal = split_part(\(parameter), chr(31), 1)
            AND \(row).member_principal = split_part(\(parameter), chr(31), 2)
        """
    }

    static let read: Statement<String, Stored<GroupMember>> = AdminStatements.read(
        "m.revision", columns.selected(of: "m"), from: "group_members m WHERE \(whereIs("m", "$1"))")

    static let listing = PagedList(
        of: .groupMember,
        filters: [.text("group", is: "m.group_principal"), .text("member", is: "m.member_principal")],
        order: [.text("m.group_principal"), .text("m.member_principal")])

    static let page: Statement<PageRequest, GroupMember> = AdminStatements.page(
        of: listing, columns.selected(of: "m"), from: "group_members m")

    /// Reads the scope and the revision of a membership without a lock, which the gateway's role may not take. A
    /// membership never changes, but another may take its place, so its removal tells whether it still existed.
    static let readScope = Statement<String, LockedRow>(
        "SELECT m.member_principal, m.revision FROM group_members m WHERE \(whereIs("m", "$1"))"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        LockedRow(scopes: [try row.next()], revision: try row.next())
    }

    /// Removes a membership, if it still has the given revision. NULL accepts any.
    static let delete = Statement<Removal, Void>(
        "DELETE FROM group_members m WHERE \(whereIs("m", "$1")) AND ($2::uuid IS NULL OR m.revision = $2)"
    ) { [$0.id, $0.revision] }

    static let document = AdminStatements.document(
        columns.document, from: "group_members r WHERE \(whereIs("r", "$1"))")
}

extension GroupMember: RowReadable {
    /// Reads the columns of ``GroupMemberTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            group: try row.nextParsed(Principal.init(_:)), member: try row.nextParsed(Principal.init(_:)),
            createdAt: try row.next())
    }
}

extension AdminTable<GroupMember> {
    static var groupMembers: Self {
        AdminTable(
            kind: .groupMember, listing: GroupMemberTable.listing,
            position: { [$0.group.rawValue, $0.member.rawValue] }, identifier: \.identifier,
            isIdentifier: { !$0.utf8.contains(0) && $0.utf8.count { $0 == 0x1f } == 1 },
            referenceConflict: "Something refers to the membership.",
            insert: { member, transaction in try transaction.perform(GroupMemberTable.insert, member) },
            read: GroupMemberTable.read, page: GroupMemberTable.page,
            lockRow: GroupMemberTable.readScope,
            delete: { removal, transaction in
                guard try transaction.perform(GroupMemberTable.delete, removal) == 1 else {
                    let isReplaced = try !transaction.execute(GroupMemberTable.readScope, removal.id).isEmpty
                    throw isReplaced ? GatewayError.preconditionFailed : .notFound(.groupMember)
                }
            },
            document: GroupMemberTable.document)
    }
}

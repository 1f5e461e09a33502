public import FoundationEssentials

/// A row that makes a user a member of a group.
public struct GroupMember: Sendable, Equatable {
    /// The group.
    public var group: Principal
    /// The member, a user.
    public var member: Principal
    /// When the membership was created. The store of rows sets it.
    public var createdAt: Date

    /// Identifier of the row in stores: group and member, separated by U+001F, which neither can contain.
    public var identifier: String { group.rawValue + "\u{1f}" + member.rawValue }

    /// An identifier of a row in the form that admins see and ask for: no query can contain U+001F. Identifiers of
    /// other rows do not contain it.
    public static func shown(_ identifier: String) -> String { identifier.replacing("\u{1f}", with: "/") }

    /// Creates a membership.
    public init(group: Principal, member: Principal, createdAt: Date) {
        self.group = group
        self.member = member
        self.createdAt = createdAt
    }
}

/// A group that has members or grants. Groups are only names; they have no rows of their own.
public struct GroupSummary: Sendable, Equatable {
    /// The principal of the group.
    public var group: Principal
    /// Number of members named by rows. Members named by tokens are known only to their issuers.
    public var memberCount: Int64
    /// Number of grants for the group.
    public var grantCount: Int64

    /// Creates a summary of a group.
    public init(group: Principal, memberCount: Int64, grantCount: Int64) {
        self.group = group
        self.memberCount = memberCount
        self.grantCount = grantCount
    }
}

/// Lists groups.
public protocol GroupDirectory: Sendable {
    /// Reads a page of groups, sorted by the bytes of their names. The filter `member` selects the groups that rows put
    /// a user in.
    ///
    /// - Throws: `invalidArgument` for an unknown filter or an invalid token, `unavailable`.
    func groups(_ query: ListQuery) async throws(GatewayError) -> Page<GroupSummary>
}

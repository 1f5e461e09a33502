/// A group that has members or grants; groups are names, and no rows of their own.
public struct GroupSummary: Sendable, Equatable {
    /// The group.
    public var group: Principal
    /// Members that rows name; those that tokens name are known to their issuers only.
    public var memberCount: Int64
    /// Grants for it.
    public var grantCount: Int64

    /// Puts a summary together.
    public init(group: Principal, memberCount: Int64, grantCount: Int64) {
        self.group = group
        self.memberCount = memberCount
        self.grantCount = grantCount
    }
}

/// Finds groups.
public protocol GroupDirectory: Sendable {
    /// Reads a page of groups, in the order of their names' bytes; the filter `member` leaves those that rows say a user is in.
    ///
    /// - Throws: `invalidArgument` for a filter or token that is not ours, `unavailable`.
    func groups(_ query: ListQuery) async throws(GatewayError) -> Page<GroupSummary>
}

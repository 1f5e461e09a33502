/// A query for one page of a list.
public struct ListQuery: Sendable {
    /// Equality filters by JSON name, for example `principal` or `bucket`. Each store defines the names that it
    /// accepts.
    public var filters: [String: String]
    /// Rows per page, 1…1,000.
    public var pageSize: Int
    /// The `nextPageToken` of the previous page; `nil` for the first page.
    public var pageToken: String?
    /// The rows that may be seen, besides the filters. A store whose rows are closed to delegated admins throws
    /// `outsideAdminScope` if it is limited.
    public var reach: AdminReach

    /// Creates a query.
    public init(
        filters: [String: String] = [:], pageSize: Int = 100, pageToken: String? = nil, reach: AdminReach = .unlimited
    ) {
        self.filters = filters
        self.pageSize = pageSize
        self.pageToken = pageToken
        self.reach = reach
    }
}

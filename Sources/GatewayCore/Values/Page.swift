/// What to list.
public struct ListQuery: Sendable {
    /// Equality filters by JSON name, for example `principal` or `bucket`; the store knows which it takes.
    public var filters: [String: String]
    /// Rows on a page, 1…1,000.
    public var pageSize: Int
    /// Where to go on, as a former page said.
    public var pageToken: String?

    /// Puts a query together.
    public init(filters: [String: String] = [:], pageSize: Int = 100, pageToken: String? = nil) {
        self.filters = filters
        self.pageSize = pageSize
        self.pageToken = pageToken
    }
}

/// A page of rows.
public struct Page<Item: Sendable>: Sendable {
    /// The rows.
    public var items: [Item]
    /// Where to go on; `nil` on the last page.
    public var nextPageToken: String?

    /// Puts a page together.
    public init(items: [Item], nextPageToken: String?) {
        self.items = items
        self.nextPageToken = nextPageToken
    }
}

/// A page of the ledger, with the time range that was searched.
public struct LedgerPage<Item: Sendable>: Sendable {
    /// The rows of this page.
    public var items: [Item]
    /// Token that continues the list; `nil` on the last page.
    public var nextPageToken: String?
    /// The time range that was searched.
    public var range: LedgerRange

    /// Creates a page.
    public init(items: [Item], nextPageToken: String?, range: LedgerRange) {
        self.items = items
        self.nextPageToken = nextPageToken
        self.range = range
    }

    /// Creates a page of rows of which one more than the page may have was asked for.
    ///
    /// - Parameters:
    ///   - rows: The rows that were found. If there is one more than `limit`, another page follows.
    ///   - limit: Number of rows that the page may have.
    ///   - range: The time range that was searched.
    ///   - token: Returns the token that continues the list after a row.
    package init(_ rows: [Item], limit: Int, in range: LedgerRange, token: (Item) -> String) {
        let page = Page(rows, limit: limit, token: token)
        self.init(items: page.items, nextPageToken: page.nextPageToken, range: range)
    }
}

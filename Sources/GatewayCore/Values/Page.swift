/// One page of a list.
public struct Page<Item: Sendable>: Sendable {
    /// The rows of this page.
    public var items: [Item]
    /// Token that continues the list; `nil` on the last page.
    public var nextPageToken: String?

    /// Creates a page.
    public init(items: [Item], nextPageToken: String?) {
        self.items = items
        self.nextPageToken = nextPageToken
    }

    /// Creates a page of rows of which one more than the page may have was asked for.
    ///
    /// - Parameters:
    ///   - rows: The rows that were found. If there is one more than `limit`, another page follows.
    ///   - limit: Number of rows that the page may have.
    ///   - token: Returns the token that continues the list after a row.
    package init(_ rows: [Item], limit: Int, token: (Item) -> String) {
        let items = Array(rows.prefix(limit))
        self.init(items: items, nextPageToken: rows.count > limit ? items.last.map(token) : nil)
    }
}

/// The number of rows on a page.
package enum PageSize {
    /// Largest number of rows on a page.
    private static let largest = 1000

    /// Returns the number of rows that a page may have, for the number that a query asks for.
    package static func rows(_ asked: Int) -> Int { min(max(asked, 1), largest) }
}

import Foundation
import GatewayCore
import LibPQ

/// A list that is read page by page: what narrows it, and what its rows are ordered by.
struct Listing: Sendable {
    /// What its page tokens are for.
    let name: String
    /// Filters, in the order of the page statement's first parameters.
    let filters: [ListColumn]
    /// What rows are ordered by, in the order of the parameters after those of the filters.
    let order: [ListColumn]

    /// Most rows of a page.
    private static let maxPageSize = 1000

    /// What the page statement is asked for a query.
    func request(_ query: ListQuery) throws(GatewayError) -> PageRequest {
        PageRequest(
            filters: try filterValues(query.filters), after: try cursor(query),
            // One more tells whether there is a next page.
            limit: Int64(Self.limit(query)) + 1)
    }

    /// Makes a page of the rows that were read.
    ///
    /// - Parameter position: The values of a row for ``order``.
    func page<Row: Sendable>(_ rows: [Row], of query: ListQuery, position: (Row) -> [String]) -> Page<Row> {
        let limit = Self.limit(query)
        guard rows.count > limit else { return Page(items: rows, nextPageToken: nil) }
        let items = Array(rows.prefix(limit))
        let tokens = PageToken(of: name, filters: query.filters)
        return Page(items: items, nextPageToken: items.last.map { tokens.text(after: position($0)) })
    }

    /// How many rows a page has at most.
    private static func limit(_ query: ListQuery) -> Int {
        min(max(query.pageSize, 1), maxPageSize)
    }

    /// The values of filters, in the order of the statement.
    func filterValues(_ values: [String: String]) throws(GatewayError) -> [String?] {
        for (name, value) in values {
            guard let filter = filters.first(where: { $0.name == name }) else {
                throw .invalidArgument(field: name, reason: "There is no such filter.")
            }
            guard filter.takes(value) else {
                throw .invalidArgument(field: name, reason: "No row can have this value.")
            }
        }
        return filters.map { values[$0.name] }
    }

    /// Where a page begins.
    private func cursor(_ query: ListQuery) throws(GatewayError) -> [String?] {
        guard let text = query.pageToken else { return order.map { _ in nil } }
        let parts = try PageToken(of: name, filters: query.filters).values(in: text, count: order.count)
        guard zip(order, parts).allSatisfy({ $0.takes($1) }) else { throw PageToken.foreign }
        return parts
    }
}

extension Listing {
    /// A list of rows of a kind.
    init(of kind: ResourceKind, filters: [ListColumn], order: [ListColumn]) {
        self.init(name: kind.rawValue, filters: filters, order: order)
    }
}

/// A column that lists are narrowed or ordered by.
enum ListColumn: Sendable {
    case text(String)
    case uuid(String)
    case instant(String)

    /// The name in queries.
    var name: String {
        switch self {
        case .text(let name), .uuid(let name), .instant(let name): name
        }
    }

    /// Whether a value can be compared with the column.
    func takes(_ value: String) -> Bool {
        switch self {
        case .text: !value.utf8.contains(0)
        case .uuid: UUID(uuidString: value) != nil
        case .instant: Self.isInstant(value)
        }
    }

    private static func isInstant(_ text: String) -> Bool {
        [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)].contains { style in
            (try? Date(text, strategy: style)) != nil
        }
    }
}

/// Parameters of a page: filters, then where the last page ended, then how many rows.
struct PageRequest: Sendable {
    var filters: [String?]
    var after: [String?]
    var limit: Int64

    /// In the order of ``Listing/filters`` and ``Listing/order``.
    var parameters: [any PostgresValue] {
        filters.map { $0 as any PostgresValue } + after.map { $0 as any PostgresValue } + [limit]
    }
}

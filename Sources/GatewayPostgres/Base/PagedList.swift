import FoundationEssentials
import GatewayCore
import LibPQ

/// Describes a list that is read page by page: its rows, its filters and the order of its rows.
struct PagedList: Sendable {
    /// Name of the list in page tokens. A token is valid for its own list only.
    let name: String
    /// Filters, in the order of the page statement's first parameters.
    let filters: [ListColumn]
    /// Columns that order the rows. Their parameters follow those of the filters.
    let order: [ListColumn]
    /// Whether rows with higher values come first.
    var isDescending = false
    /// A condition in SQL for all rows of the list.
    var restriction: String?
    /// Whether its statement narrows the rows to a reach. Other lists are closed to delegated admins.
    var isNarrowed = false

    /// Makes the parameters of the page statement for a query.
    func request(_ query: ListQuery) throws(GatewayError) -> PageRequest {
        if !isNarrowed { try query.reach.requireAll() }
        return PageRequest(
            filters: try filterValues(query.filters), after: try cursor(query),
            // One extra row shows whether there is a next page.
            limit: Int64(PageSize.rows(query.pageSize)) + 1, reach: query.reach.parameter,
            onlyPrincipals: query.reach.onlyPrincipals)
    }

    /// Makes a page of the rows read.
    ///
    /// - Parameter position: Returns the values of a row for ``order``.
    func page<Row: Sendable>(_ rows: [Row], of query: ListQuery, position: (Row) -> [String]) -> Page<Row> {
        Page(rows, limit: PageSize.rows(query.pageSize)) { last in
            PageToken(of: name, filters: query.filters).text(after: position(last))
        }
    }

    /// Returns the values of all filters, in the order of the statement.
    func filterValues(_ values: [String: String]) throws(GatewayError) -> [String?] {
        for (name, value) in values {
            guard let filter = filters.first(where: { $0.name == name }) else {
                throw .invalidArgument(field: name, reason: "The filter does not exist.")
            }
            guard filter.takes(value) else {
                throw .invalidArgument(field: name, reason: "No row can have this value.")
            }
        }
        return filters.map { values[$0.name] }
    }

    /// Returns the position after which a page begins.
    private func cursor(_ query: ListQuery) throws(GatewayError) -> [String?] {
        guard let text = query.pageToken else { return order.map { _ in nil } }
        let parts = try PageToken(of: name, filters: query.filters).values(in: text, count: order.count)
        guard zip(order, parts).allSatisfy({ $0.takes($1) }) else { throw PageToken.foreign }
        return parts
    }
}

extension PagedList {
    /// Describes a list of resources of a kind.
    init(
        of kind: ResourceKind, filters: [ListColumn], order: [ListColumn], isDescending: Bool = false,
        restriction: String? = nil, isNarrowed: Bool = false
    ) {
        self.init(
            name: kind.rawValue, filters: filters, order: order, isDescending: isDescending, restriction: restriction,
            isNarrowed: isNarrowed)
    }
}

/// A column that filters or orders a list.
struct ListColumn: Sendable {
    /// The form of the values, with the cast of a parameter to it.
    enum Form: String {
        case text = ""
        case uuid = "::text::uuid"
        case instant = "::text::timestamptz"
        case number = "::text::float8"
    }

    /// Makes the condition that a row passes a filter, from the filter's parameter with its cast.
    typealias Condition = @Sendable (_ parameter: String) -> String

    /// The name of a filter in queries; the name of a column that orders the rows in SQL.
    let name: String
    let form: Form
    /// By default, that the column of this name has the value.
    let condition: Condition

    private init(_ name: String, _ form: Form, _ condition: Condition?) {
        self.name = name
        self.form = form
        self.condition = condition ?? { "\(name) = \($0)" }
    }

    static func text(_ name: String, _ condition: Condition? = nil) -> Self { Self(name, .text, condition) }
    static func uuid(_ name: String, _ condition: Condition? = nil) -> Self { Self(name, .uuid, condition) }
    static func instant(_ name: String, _ condition: Condition? = nil) -> Self { Self(name, .instant, condition) }
    /// A number that a column is compared with.
    static func number(_ name: String, _ condition: Condition? = nil) -> Self { Self(name, .number, condition) }

    /// A filter for the values of a column.
    static func text(_ name: String, is column: String) -> Self { text(name) { "\(column) = \($0)" } }

    /// Tests whether a value can be compared with the column.
    func takes(_ value: String) -> Bool {
        switch form {
        case .text: !value.utf8.contains(0)
        case .uuid: UUID(uuidString: value) != nil
        case .instant: Self.isInstant(value)
        case .number: Double(value)?.isFinite ?? false
        }
    }

    private static func isInstant(_ text: String) -> Bool {
        [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)].contains { style in
            (try? Date(text, strategy: style)) != nil
        }
    }
}

/// Parameters of a page: the filters, the end of the previous page, and the number of rows.
struct PageRequest: Sendable {
    var filters: [String?]
    var after: [String?]
    var limit: Int64
    /// ``AdminReach/parameter`` of the query.
    var reach: String?
    /// ``AdminReach/onlyPrincipals`` of the query.
    var onlyPrincipals: [String]?

    /// The values of ``parameters``, then the reach.
    var narrowedParameters: [any PostgresValue] { parameters + [reach] }

    /// The values of all parameters, in the order of ``PagedList/filters`` and ``PagedList/order``, then the limit.
    var parameters: [any PostgresValue] {
        filters.map { $0 as any PostgresValue } + after.map { $0 as any PostgresValue } + [limit]
    }
}

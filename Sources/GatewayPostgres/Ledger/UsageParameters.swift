import GatewayCore
import LibPQ

extension UsageQuery.Dimension {
    /// The column of the ledger, and of the sums that have it.
    fileprivate var column: String {
        switch self {
        case .principal: "principal"
        case .bucket: "bucket"
        case .grant: "grant_id"
        case .action: "action"
        case .delivery: "delivery"
        }
    }

    /// The type of the column.
    fileprivate var type: String { self == .grant ? "uuid" : "text" }

    /// Whether only sums with callers have the column.
    var isOfCaller: Bool { self == .principal || self == .grant }
}

/// The parameters of the statements that count issuances, by their names in SQL, and lists of columns by dimension.
struct UsageParameters: Sendable {
    /// The values for all statements.
    let list: ParameterList<UsageRequest>
    /// The values for statements that name ``onlyPrincipals`` too.
    let callerList: ParameterList<UsageRequest>

    /// The parameters of the filter.
    let filter: FilterParameters
    /// The length of an interval.
    let step: String
    /// Whether each dimension is counted separately.
    private let isCounted: [UsageQuery.Dimension: String]
    /// The start of the last row of the previous page.
    let lastStart: String
    /// The names of the last row of the previous page, by dimension.
    let lastNames: [String]
    /// Maximum number of rows.
    let limit: String
    /// The number of the last row of the previous page, where rows are ordered by it.
    let lastURLs: String
    /// The reach.
    let reach: String
    /// The principals by which indexes find what a reach holds.
    let onlyPrincipals: String

    /// Numbers the parameters.
    init() {
        var list = ParameterList<UsageRequest>()
        filter = FilterParameters(in: &list, from: { $0.from }, to: { $0.end }, filter: { $0.query.filter })
        step = list.add { $0.query.step.rawValue }
        var isCounted: [UsageQuery.Dimension: String] = [:]
        for dimension in UsageQuery.Dimension.allCases {
            isCounted[dimension] = list.add { $0.query.dimensions.contains(dimension) }
        }
        self.isCounted = isCounted
        lastStart = list.add { $0.after?.start }
        var lastNames: [String] = []
        for index in UsageQuery.Dimension.allCases.indices {
            lastNames.append(list.add { $0.after?.names[index] })
        }
        self.lastNames = lastNames
        limit = list.add { Int64($0.limit) }
        lastURLs = list.add { $0.lastURLs }
        reach = list.add { $0.query.filter.reach.parameter }
        self.list = list
        onlyPrincipals = list.add { $0.query.filter.reach.onlyPrincipals }
        callerList = list
    }

    /// The begin of what is read, inclusive.
    var from: String { filter.from }

    /// The end of what is read, exclusive.
    var to: String { filter.to }

    /// Returns the columns of a row, one for each dimension.
    static func columns(of row: String) -> String {
        UsageQuery.Dimension.allCases.map { "\(row).\($0.column)" }.joined(separator: ", ")
    }

    /// Returns the texts by which a row is ordered; a dimension that is not counted separately is empty.
    static func names(of row: String) -> [String] {
        UsageQuery.Dimension.allCases.map { dimension in
            let cast = dimension.type == "text" ? "" : "::text"
            return "coalesce(\(row).\(dimension.column)\(cast), '')"
        }
    }

    /// Returns the columns of a row, as far as they are counted separately.
    func counted(of row: String) -> String {
        UsageQuery.Dimension.allCases.map { counted($0, of: row) }.joined(separator: ", ")
    }

    /// Returns the columns of a row of sums without callers, as far as they are counted separately.
    func countedWithoutCallers(of row: String) -> String {
        UsageQuery.Dimension.allCases.map { dimension in
            dimension.isOfCaller
                ? "NULL::\(dimension.type) AS \(dimension.column)" : counted(dimension, of: row)
        }.joined(separator: ", ")
    }

    private func counted(_ dimension: UsageQuery.Dimension, of row: String) -> String {
        guard let isCounted = isCounted[dimension] else { preconditionFailure("every dimension has a parameter") }
        return "CASE WHEN \(isCounted) THEN \(row).\(dimension.column) END AS \(dimension.column)"
    }
}

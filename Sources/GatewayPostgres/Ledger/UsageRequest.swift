import GatewayCore
import LibPQ

/// A count of issuances, with the values of its parameters.
struct UsageRequest: Sendable {
    /// The last row of the previous page.
    struct Place: Sendable {
        var start: PostgresTimestamp
        var urls: Int64
        /// One text for each dimension, in the order of their declaration. A dimension that is not counted separately
        /// is empty.
        var names: [String]
    }

    var query: UsageQuery
    var from: PostgresTimestamp
    var to: PostgresTimestamp
    var after: Place?
    var limit: Int

    /// The end of what is read: what is later than the previous page is not counted again.
    var end: PostgresTimestamp {
        after.flatMap { $0.start.advanced(by: query.step) }.map { min($0, to) } ?? to
    }

    /// The number of the last row of the previous page, where rows are ordered by it.
    var lastURLs: Int64? { query.step == .range ? after?.urls : nil }

    /// The statement that counts the issuances. It uses the kept sums that are detailed enough for the query: by the
    /// minute without callers, or by the day and hour with them. No sum knows keys.
    var statement: Statement<UsageRequest, Usage> {
        let filter = query.filter
        guard filter.prefix == nil, !filter.isAlive,
            filter.reach.scopes?.allSatisfy(\.prefix.rawValue.isEmpty) ?? true
        else { return Self.counted }
        let namesNoCaller =
            filter.principal == nil && filter.grantID == nil
            && filter.reach.scopes?.allSatisfy { $0.principals == nil } ?? true
            && !query.dimensions.contains(where: \.isOfCaller)
        return namesNoCaller ? Self.summed : Self.summedByCaller
    }
}

extension PostgresTimestamp {
    /// The end of the hour or day, in UTC, that begins at this instant; `nil` for the whole period.
    fileprivate func advanced(by step: UsageQuery.Step) -> PostgresTimestamp? {
        let seconds: Int64
        switch step {
        case .hour: seconds = 3600
        case .day: seconds = 86_400
        case .range: return nil
        }
        return PostgresTimestamp(microsecondsSince1970: microsecondsSince1970 + seconds * 1_000_000)
    }
}

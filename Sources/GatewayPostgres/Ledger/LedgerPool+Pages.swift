import FoundationEssentials
import GatewayCore
import LibPQ

/// What to read of a day for a page.
struct LedgerDayRequest: Sendable {
    var day: LedgerDay
    /// The identifier before which rows are read; `nil` for all.
    var before: UUID?
    /// Maximum number of rows.
    var limit: Int
    var deadline: ContinuousClock.Instant
}

extension LedgerPool {
    /// Reads a page of a list of the ledger. The newest day comes first, and within a day the newest row, by
    /// identifier.
    ///
    /// Most pages end within the first day, and each further day is asked only for the rows still missing. A merge of
    /// all days would open every one of them for its first row.
    /// - Parameters:
    ///   - list: The list, for its tokens.
    ///   - token: The token of the page before; `nil` for the first page.
    ///   - asked: The time range that the request states. A token has that of the first page.
    ///   - filter: A filter that all rows to be read pass.
    ///   - limit: Maximum number of rows.
    ///   - id: Returns the identifier of a row.
    ///   - read: Reads rows of a day.
    func page<Row>(
        of list: PageToken, after token: String?, in asked: LedgerRange, passing filter: IssuanceFilter, limit: Int,
        id: (Row) -> UUID, _ read: (LedgerDayRequest) async throws(GatewayError) -> [Row]
    ) async throws(GatewayError) -> LedgerPage<Row> {
        let place = try token.map { text throws(GatewayError) in try LedgerPlace(text, of: list, in: asked) }
        let range = place?.range ?? asked
        let end = place?.dayEnd ?? PostgresTimestamp(range.to ?? openEnd)
        let period = LedgerDaysRequest(filter: filter, from: PostgresTimestamp(range.from), to: end)
        let deadline = ContinuousClock.now + Self.patience
        var rows: [Row] = []
        var dayEnds: [PostgresTimestamp] = []
        for var day in try await days(period, deadline: deadline) where rows.count <= limit {
            day.endsPeriod = day.end == end
            // One extra row shows whether there is a next page.
            let found = try await read(
                LedgerDayRequest(
                    day: day, before: day.endsPeriod ? place?.id : nil, limit: limit + 1 - rows.count,
                    deadline: deadline))
            rows += found
            dayEnds += repeatElement(day.end, count: found.count)
        }
        guard rows.count > limit, limit > 0 else { return LedgerPage(items: rows, nextPageToken: nil, range: range) }
        let last = LedgerPlace(range: range, dayEnd: dayEnds[limit - 1], id: id(rows[limit - 1]))
        return LedgerPage(items: Array(rows.prefix(limit)), nextPageToken: last.text(of: list), range: range)
    }

    /// Reads a page of a day from its newest rows, if they fill it: from few, or from many where what is among the few
    /// makes a full page likely. A frequent caller's page is among them; for others an index is sooner asked.
    /// - Parameters:
    ///   - limit: The number of rows that fill the page.
    ///   - read: Reads what passes of so many of the newest rows.
    /// - Returns: The page, or `nil` if there may be more rows than were looked at.
    func newestPage<Row>(
        of limit: Int, _ read: (_ newest: Int64) async throws(GatewayError) -> [Row]
    ) async throws(GatewayError) -> [Row]? {
        let some = try await read(Self.fewNewest)
        if some.count == limit { return some }
        guard some.count * Int(Self.manyNewest / Self.fewNewest) >= limit else { return nil }
        let more = try await read(Self.manyNewest)
        return more.count == limit ? more : nil
    }

    private static let fewNewest: Int64 = 5_000
    private static let manyNewest: Int64 = 50_000
}

/// The last row of a page.
private struct LedgerPlace {
    /// The time range of the list.
    var range: LedgerRange
    /// The end of the row's day, or of the period if that ends earlier.
    var dayEnd: PostgresTimestamp
    /// The identifier of the row.
    var id: UUID

    init(range: LedgerRange, dayEnd: PostgresTimestamp, id: UUID) {
        self.range = range
        self.dayEnd = dayEnd
        self.id = id
    }

    /// Reads a token of a list whose request states a time range.
    init(_ token: String, of list: PageToken, in asked: LedgerRange) throws(GatewayError) {
        let values = try list.values(in: token, count: 4)
        range = asked
        range.from = try PostgresTimestamp(token: values[0]).date
        range.to = values[1].isEmpty ? nil : try PostgresTimestamp(token: values[1]).date
        dayEnd = try PostgresTimestamp(token: values[2])
        guard let id = UUID(uuidString: values[3]) else { throw PageToken.foreign }
        self.id = id
    }

    /// Makes the token.
    func text(of list: PageToken) -> String {
        list.text(after: [
            PostgresTimestamp(range.from).tokenText, range.to.map { PostgresTimestamp($0).tokenText } ?? "",
            dayEnd.tokenText, id.lowercaseText,
        ])
    }
}

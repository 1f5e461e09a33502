public import FoundationEssentials

/// Reads individual rows of the ledger.
public protocol IssuanceReader: Sendable {
    /// Reads a page of issuances: newest day first, and within a day newest identifier first.
    ///
    /// - Throws: `invalidArgument` if the page token is not from this query, `slowDown` if the query takes too long,
    ///   `unavailable`.
    func issuances(_ query: IssuanceQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance>

    /// Reads one issuance.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func issuance(_ id: UUID) async throws(GatewayError) -> RecordedIssuance
}

extension IssuanceReader {
    /// Reads one issuance for an admin. An issuance outside the reach does not exist.
    ///
    /// - Throws: `notFound`, `unavailable`.
    public func issuance(
        _ id: UUID, within reach: AdminReach
    ) async throws(GatewayError) -> RecordedIssuance {
        let row = try await issuance(id)
        guard reach.holds(bucket: row.bucket, place: row.key, principals: [row.principal, row.matchedPrincipal]) else {
            throw .notFound(.issuance)
        }
        return row.shown(within: reach)
    }

    /// Reads a page of issuances, as an admin may see them who has the reach of the query.
    ///
    /// - Throws: The errors of ``issuances(_:)``.
    public func shownIssuances(
        _ query: IssuanceQuery
    ) async throws(GatewayError) -> LedgerPage<RecordedIssuance> {
        var page = try await issuances(query)
        page.items = page.items.map { $0.shown(within: query.filter.reach) }
        return page
    }
}

/// A request for a page of issuances.
public struct IssuanceQuery: Sendable {
    /// The filter. Without `from`, the period begins one day before its end, or eight days before it if only unexpired
    /// issuances are selected.
    public var filter: IssuanceFilter
    /// Rows per page, 1…1,000.
    public var pageSize: Int
    /// Token from the previous page of the same filter; `nil` for the first page.
    public var pageToken: String?

    /// Creates a query.
    public init(_ filter: IssuanceFilter = IssuanceFilter(), pageSize: Int = 100, pageToken: String? = nil) {
        self.filter = filter
        self.pageSize = pageSize
        self.pageToken = pageToken
    }

    /// Returns the period to search.
    ///
    /// - Throws: `invalidArgument` if the period is empty.
    package func range(now: Date) throws(GatewayError) -> LedgerRange {
        try LedgerRange(
            from: filter.from, to: filter.to, span: filter.isAlive ? LedgerRange.longestLife : LedgerRange.day,
            now: now)
    }
}

extension RecordedIssuance {
    /// The row as an admin may see it: without the charges if the reach is limited, as quotas may lie outside.
    fileprivate func shown(within reach: AdminReach) -> RecordedIssuance {
        guard !reach.isUnlimited else { return self }
        var row = self
        row.charges = []
        return row
    }
}

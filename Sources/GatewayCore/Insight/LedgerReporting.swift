public import FoundationEssentials

/// Sums up the ledger for admins. It decides which period is searched where a query does not say, and where pages end.
public struct LedgerReporting: Sendable {
    private let reports: any LedgerReports
    private let grants: any AdminStore<Grant>
    private let now: @Sendable () -> Date

    /// Creates the use case from its parts.
    public init(reports: any LedgerReports, grants: any AdminStore<Grant>, now: @escaping @Sendable () -> Date) {
        self.reports = reports
        self.grants = grants
        self.now = now
    }

    /// Counts issuances by hour or day and by the dimensions of the query, newest first; or those of the whole period,
    /// the largest counts first.
    ///
    /// - Throws: `invalidArgument` if the period is empty, or if the page token is not from this query; `slowDown` if
    ///   the query takes too long, `unavailable`. The methods below throw the same unless they say otherwise.
    public func usage(_ query: UsageQuery) async throws(GatewayError) -> LedgerPage<Usage> {
        let (filter, isDaily) = (query.filter, query.step == .day)
        var range = try LedgerRange(
            from: filter.from, to: filter.to, span: isDaily ? 31 * LedgerRange.day : LedgerRange.day, now: now())
        if filter.from == nil { range.beginEarlier(at: isDaily ? LedgerRange.day : LedgerRange.hour) }
        let token = PageToken(of: "usage", filters: query.texts)
        // A whole period lists the largest counts first. All its pages count up to one instant: otherwise whoever
        // overtakes the last row of a page would be on no page.
        var end = now()
        var place: UsageQuery.Place?
        if let text = query.pageToken {
            let values = try token.values(in: text, count: 9)
            guard let urls = Int64(values[3]) else { throw PageToken.foreign }
            range.from = try PageToken.instant(values[0])
            end = try PageToken.instant(values[1])
            place = UsageQuery.Place(start: try PageToken.instant(values[2]), urls: urls, names: Array(values[4...]))
        }
        var counted = range
        if query.step == .range { counted.to = min(range.to ?? end, end) }
        let limit = PageSize.rows(query.pageSize)
        let rows = try await reports.usage(query, in: counted, after: place, limit: limit + 1)
        return LedgerPage(rows, limit: limit, in: range) { last in
            token.text(
                after: [
                    PageToken.text(of: range.from), PageToken.text(of: end), PageToken.text(of: last.start),
                    String(last.urls),
                ] + UsageQuery.Dimension.allCases.map { last.name(of: $0) ?? "" })
        }
    }

    /// Reads a page of refusals, counted by time and by the dimensions of the query, newest first.
    public func denials(_ query: DenialQuery) async throws(GatewayError) -> LedgerPage<CountedDenial> {
        var range = try LedgerRange(from: query.from, to: query.to, span: LedgerRange.day, now: now())
        range.beginEarlier(at: LedgerRange.minute)
        let token = PageToken(of: "denials", filters: query.texts)
        var place: DenialQuery.Place?
        if let text = query.pageToken {
            let values = try token.values(in: text, count: 5)
            range.from = try PageToken.instant(values[0])
            place = DenialQuery.Place(start: try PageToken.instant(values[1]), names: Array(values[2...]))
        }
        let limit = PageSize.rows(query.pageSize)
        let rows = try await reports.denials(query, in: range, after: place, limit: limit + 1)
        return LedgerPage(rows, limit: limit, in: range) { last in
            token.text(after: [
                PageToken.text(of: range.from), PageToken.text(of: last.start), last.principal ?? "",
                last.bucket ?? "", last.code ?? "",
            ])
        }
    }

    /// Reads a page of live allow grants with the use of each, newest first.
    ///
    /// - Throws: Also `invalidArgument` if the period begins later than the time since which grants are unused.
    public func grantUse(_ query: GrantUseQuery) async throws(GatewayError) -> LedgerPage<GrantUse> {
        let now = now()
        var range = try LedgerRange(from: query.from, to: nil, span: 32 * LedgerRange.day, now: now)
        var since = query.unusedSince ?? now.addingTimeInterval(-7 * LedgerRange.day)
        if query.from == nil {
            range.from = min(range.from, since)
            range.beginEarlier(at: LedgerRange.hour)
        }
        let token = PageToken(of: "grants:unused", filters: query.texts)
        var place: UUID?
        if let text = query.pageToken {
            let values = try token.values(in: text, count: 3)
            range.from = try PageToken.instant(values[0])
            since = try PageToken.instant(values[1])
            guard let id = UUID(uuidString: values[2]) else { throw PageToken.foreign }
            place = id
        }
        try require(range.from <= since, "from", "'from' must not be later than 'unusedSince'.")
        let limit = PageSize.rows(query.pageSize)
        let rows = try await reports.grantUse(
            query, from: range.from, unusedSince: since, after: place, limit: limit + 1)
        return LedgerPage(rows, limit: limit, in: range) { last in
            token.text(after: [
                PageToken.text(of: range.from), PageToken.text(of: since), last.grant.id.lowercaseText,
            ])
        }
    }

    /// Counts the reservations that are not settled yet.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    public func settlingBacklog() async throws(GatewayError) -> SettlingBacklog {
        try await reports.settlingBacklog()
    }

    /// Counts the usable issuances that a storage credential signed, as far as they may be seen.
    ///
    /// - Throws: `notFound` if the credential does not exist and none of its issuances is usable; `slowDown`,
    ///   `unavailable`.
    public func blastRadius(
        ofCredential id: UUID, within reach: AdminReach
    ) async throws(GatewayError) -> BlastRadius {
        try await reports.blastRadius(of: .credential(id), within: reach)
    }

    /// Counts the usable issuances that result from a grant. A delegated admin asks about grants that exist and lie
    /// inside; others also about removed ones.
    ///
    /// - Throws: `notFound`, `slowDown`, `unavailable`.
    public func blastRadius(ofGrant id: UUID, within reach: AdminReach) async throws(GatewayError) -> BlastRadius {
        if !reach.isUnlimited { _ = try await grants.get(id.lowercaseText, within: reach) }
        return try await reports.blastRadius(of: .grant(id), within: reach)
    }
}

extension UsageQuery {
    /// All filters and dimensions, as texts by name.
    fileprivate var texts: [String: String] {
        var texts = filter.texts
        texts["by"] = step.rawValue
        texts["groupBy"] = dimensions.map(\.rawValue).sorted().joined(separator: ",")
        return texts
    }
}

extension Usage {
    /// What all issuances of the row have in common in a dimension; `nil` if the report does not group by it.
    fileprivate func name(of dimension: UsageQuery.Dimension) -> String? {
        switch dimension {
        case .principal: principal
        case .bucket: bucket
        case .grant: grantID?.lowercaseText
        case .action: actions?.joined(separator: ",")
        case .delivery: delivery
        }
    }
}

extension DenialQuery {
    fileprivate var texts: [String: String] {
        var texts: [String: String] = [:]
        texts["from"] = from.map { PageToken.text(of: $0) }
        texts["to"] = to.map { PageToken.text(of: $0) }
        texts["principal"] = principal?.rawValue
        texts["bucket"] = bucket?.rawValue
        texts["code"] = code
        texts["by"] = step.rawValue
        texts["groupBy"] = dimensions.map(\.rawValue).sorted().joined(separator: ",")
        return texts
    }
}

extension GrantUseQuery {
    fileprivate var texts: [String: String] {
        var texts: [String: String] = [:]
        texts["from"] = from.map { PageToken.text(of: $0) }
        texts["unusedSince"] = unusedSince.map { PageToken.text(of: $0) }
        texts["includeUsed"] = includesUsed ? "true" : nil
        texts["principal"] = principal?.rawValue
        texts["bucket"] = bucket?.rawValue
        return texts
    }
}

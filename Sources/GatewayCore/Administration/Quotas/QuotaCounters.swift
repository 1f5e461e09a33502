public import FoundationEssentials

/// Shows and resets the use of quotas, for admins.
public struct QuotaCounters: Sendable {
    private let store: any QuotaCounterStore

    /// Creates the use case on a store.
    public init(store: any QuotaCounterStore) {
        self.store = store
    }

    /// Summarizes the use of quotas; ids of quotas that do not exist are left out.
    ///
    /// - Throws: `unavailable`.
    public func summaries(of quotas: [UUID]) async throws(GatewayError) -> [UUID: QuotaUseSummary] {
        try await store.summaries(of: quotas)
    }

    /// Reads a page of holders, largest use first; the filter `holder` selects one.
    ///
    /// - Throws: `outsideAdminScope` for a delegated admin, `invalidArgument` for an unknown filter or an invalid
    ///   token, `unavailable`.
    public func uses(of quota: UUID, _ query: ListQuery) async throws(GatewayError) -> Page<QuotaUse> {
        try query.reach.requireAll()
        for (name, value) in query.filters {
            try require(
                name == "holder" && !value.utf8.contains(0), name, "The filter or its value does not exist.")
        }
        let token = PageToken(of: "QuotaUse \(quota.lowercaseText)", filters: query.filters)
        var place: QuotaUse.Place?
        if let text = query.pageToken {
            let values = try token.values(in: text, count: 2)
            guard let used = Int64(values[0]) else { throw PageToken.foreign }
            place = QuotaUse.Place(used: used, holder: values[1])
        }
        let limit = PageSize.rows(query.pageSize)
        let rows = try await store.uses(of: quota, holder: query.filters["holder"], after: place, limit: limit + 1)
        return Page(rows, limit: limit) { token.text(after: [String($0.used), $0.holder.rawValue]) }
    }

    /// Sets the counters of the current period to zero, for some holders.
    ///
    /// - Throws: The errors of ``QuotaCounterStore/reset(_:of:by:)``.
    public func reset(
        _ quota: UUID, of holders: QuotaHolders, by change: ChangeContext
    ) async throws(GatewayError) -> QuotaReset {
        try await store.reset(quota, of: holders, by: change)
    }
}

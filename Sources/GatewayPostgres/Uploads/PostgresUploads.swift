public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging

/// Keeps the outcomes of uploads in PostgreSQL.
public struct PostgresUploads: UploadRecords {
    private let pool: StorePool
    private let ledger: LedgerPool

    /// Creates an adapter.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway, with ``PostgresAdminStores/sessionSettings``.
    ///   - ledgerPool: A second such pool, with ``PostgresIssuances/sessionSettings``.
    ///   - logger: Receives the reasons why rows cannot be read or written.
    ///   - now: Returns the current time.
    public init(
        pool: PostgresPool, ledgerPool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.pool = StorePool(pool: pool, logger: logger, complaint: "uploads cannot be read or written")
        ledger = LedgerPool(pool: ledgerPool, logger: logger, now: now)
    }

    /// Reads an issuance, whatever action it permits, with what is known of its upload.
    public func upload(_ id: UUID) async throws(GatewayError) -> ListedUpload? {
        guard let period = LedgerLife.recording(of: id) else { return nil }
        return try await pool.execute(LandingTable.find, (id, period.lowerBound, period.upperBound)).first
    }

    /// Records a finding. An earlier confirmation that the upload landed stays, and so does any finding that it landed
    /// if this one finds nothing. Returns the finding that is on record.
    public func note(_ finding: UploadFinding, on id: UUID) async throws(GatewayError) -> UploadFinding {
        guard let noted = try await pool.execute(LandingTable.note, (id, finding)).first else {
            throw .noRow(of: "a finding")
        }
        return noted
    }

    /// Reads a page of uploads with their states, the newest first.
    public func uploads(_ query: UploadQuery) async throws(GatewayError) -> LedgerPage<ListedUpload> {
        try await ledger.page(
            of: PageToken(of: "uploads", filters: query.texts), after: query.pageToken,
            in: query.range(now: ledger.now()), passing: query.ledgerFilter, limit: PageSize.rows(query.pageSize),
            id: \.record.id
        ) { request async throws(GatewayError) in
            var parameters = LandingTable.PageRequest(
                query: query, from: request.day.from, to: request.day.to, before: request.before, limit: request.limit)
            guard query.principal != nil || query.reach.onlyUsers != nil else {
                return try await ledger.execute(LandingTable.page, parameters, deadline: request.deadline)
            }
            if query.state == .mismatched || query.state == .unverified {
                return try await ledger.execute(LandingTable.found, parameters, deadline: request.deadline)
            }
            if !request.day.hasFew {
                let page = try await ledger.newestPage(of: request.limit) { newest async throws(GatewayError) in
                    parameters.newest = newest
                    return try await ledger.execute(LandingTable.newest, parameters, deadline: request.deadline)
                }
                if let page { return page }
            }
            return try await ledger.execute(LandingTable.rare, parameters, deadline: request.deadline)
        }
    }
}

extension UploadQuery {
    /// A filter that the issuances of all uploads asked for pass.
    fileprivate var ledgerFilter: IssuanceFilter {
        var filter = IssuanceFilter()
        filter.principal = principal
        filter.bucket = bucket
        filter.action = .putObject
        filter.reach = reach
        return filter
    }

    /// All filters, as texts by name.
    fileprivate var texts: [String: String] {
        var texts: [String: String] = [:]
        texts["state"] = state?.rawValue
        texts["bucket"] = bucket?.rawValue
        texts["principal"] = principal?.rawValue
        texts["from"] = from.map { PostgresTimestamp($0).tokenText }
        texts["to"] = to.map { PostgresTimestamp($0).tokenText }
        return texts
    }
}

public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging

/// Reads issuances from the ledger in PostgreSQL.
public struct PostgresIssuances: IssuanceReader {
    /// Settings for the sessions of the pool. PostgreSQL plans each query for its own values, so that it opens no days
    /// out of range and finds rare values by the right index.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("default_transaction_read_only", "on"),
        ("statement_timeout", "10s"), ("idle_in_transaction_session_timeout", "1s"),
        ("plan_cache_mode", "force_custom_plan"), ("work_mem", "32MB"),
    ]

    let ledger: LedgerPool

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway, with ``sessionSettings``.
    ///   - logger: Receives the reasons why rows cannot be read.
    ///   - now: Returns the current time.
    public init(pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        ledger = LedgerPool(pool: pool, logger: logger, now: now)
    }

    /// Reads a page of issuances, the newest first.
    public func issuances(_ query: IssuanceQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance> {
        let filter = query.filter
        return try await ledger.page(
            of: PageToken(of: "issuances", filters: filter.texts), after: query.pageToken,
            in: query.range(now: ledger.now()), passing: filter, limit: PageSize.rows(query.pageSize), id: \.id
        ) { request async throws(GatewayError) in
            var parameters = PageRequest(filter: filter, request: request)
            let day = request.day
            guard filter.mayBeRare || day.isShort else {
                return try await ledger.execute(Self.page, parameters, deadline: request.deadline)
            }
            if day.endsPeriod, !day.hasFew {
                let page = try await ledger.newestPage(of: request.limit) { newest async throws(GatewayError) in
                    parameters.newest = newest
                    return try await ledger.execute(Self.newest, parameters, deadline: request.deadline)
                }
                if let page { return page }
            }
            return try await ledger.execute(Self.rare, parameters, deadline: request.deadline)
        }
    }

    /// Reads one issuance by its identifier, which holds the day, using the primary key of that day and its neighbours.
    public func issuance(_ id: UUID) async throws(GatewayError) -> RecordedIssuance {
        guard let period = LedgerLife.recording(of: id),
            let row = try await ledger.execute(Self.one, (id, period.lowerBound, period.upperBound)).first
        else { throw .notFound(.issuance) }
        return row
    }
}

extension PostgresIssuances: RequestIssuances {
    /// Reads the issuances of a request by the primary key, whose identifiers hold the time of signing.
    public func issuances(
        ofRequest id: String, from: Date, to: Date
    ) async throws(GatewayError) -> [RecordedIssuance] {
        try await ledger.execute(Self.ofRequest, RequestPeriod(requestID: id, from: from, to: to))
    }

    struct RequestPeriod: Sendable {
        var requestID: String
        var from: Date
        var to: Date
    }

    static let ofRequest = Statement<RequestPeriod, RecordedIssuance>(
        """
        SELECT \(IssuanceTable.columns) FROM issuances i
        WHERE i.request_id = $1 AND i.id >= $2 AND i.id < $3 AND i.issued_at >= $4 AND i.issued_at < $5
        ORDER BY i.id DESC LIMIT $6
        """, onlyReads: true
    ) {
        [
            $0.requestID, UUID.version7(at: $0.from, randomBytes: []), UUID.version7(at: $0.to, randomBytes: []),
            $0.from, $0.to, Int64(RequestTraces.maxRows),
        ]
    }
}

extension PostgresIssuances {
    struct PageRequest: Sendable {
        var filter: IssuanceFilter
        var request: LedgerDayRequest
        /// The number of the newest rows that ``newest`` looks at.
        var newest: Int64 = 0
    }

    /// The parameters of a page, by their names in SQL.
    private struct PageParameters: Sendable {
        let list: ParameterList<PageRequest>
        let filter: FilterParameters
        let before: String
        let limit: String
        let reach: String
        let onlyUsers: String

        init() {
            var list = ParameterList<PageRequest>()
            filter = FilterParameters(
                in: &list, from: { $0.request.day.from }, to: { $0.request.day.to }, filter: { $0.filter })
            before = list.add { $0.request.before }
            limit = list.add { Int64($0.request.limit) }
            reach = list.add { $0.filter.reach.parameter }
            onlyUsers = list.add { $0.filter.reach.onlyUsers }
            self.list = list
        }
    }

    private static let names = PageParameters()

    /// Reads a page of a day. Walks from the newest row on, as long as most rows pass.
    static let page = page(from: "issuances i", where: isListed)

    /// Reads what passes of the newest rows of a day. A frequent caller's page is among them.
    static let newest: Statement<PageRequest, RecordedIssuance> = {
        var parameters = names.list
        let newest = parameters.add { $0.newest }
        return page(
            from: """
                (
                    SELECT \(IssuanceTable.stored) FROM issuances i
                    WHERE i.issued_at >= \(names.filter.from) AND i.issued_at < \(names.filter.to)
                        AND (\(names.before)::uuid IS NULL OR i.id < \(names.before))
                    ORDER BY i.id DESC LIMIT \(newest)
                ) i
                """, where: isListed, parameters)
    }()

    /// Reads a page of a day by the index that finds rare rows. PostgreSQL would expect rows soon, and walk all of the
    /// day where there are none.
    static let rare = page(
        from: "(SELECT \(IssuanceTable.stored) FROM issuances i WHERE \(isListed) OFFSET 0) i", where: "true")

    private static let isListed = """
        \(names.filter.condition) AND (\(names.before)::uuid IS NULL OR i.id < \(names.before))
            AND \(IssuanceFilter.isInside(names.reach))
            AND (\(names.onlyUsers)::text[] IS NULL OR i.principal = ANY (\(names.onlyUsers)))
        """

    private static func page(
        from source: String, where condition: String, _ parameters: ParameterList<PageRequest> = names.list
    ) -> Statement<PageRequest, RecordedIssuance> {
        Statement(
            """
            SELECT \(IssuanceTable.columns) FROM \(source)
            WHERE \(condition)
            ORDER BY i.id DESC LIMIT \(names.limit)
            """, onlyReads: true
        ) {
            parameters.encode($0)
        }
    }

    static let one = Statement<(id: UUID, from: Date, to: Date), RecordedIssuance>(
        """
        SELECT \(IssuanceTable.columns) FROM issuances i
        WHERE i.id = $1 AND i.issued_at >= $2 AND i.issued_at < $3 LIMIT 1
        """, onlyReads: true
    ) {
        [$0.id, $0.from, $0.to]
    }
}

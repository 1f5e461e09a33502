public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging

/// Computes totals from the ledger in PostgreSQL.
public struct PostgresLedgerReports: LedgerReports {
    private let ledger: LedgerPool

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway, with ``PostgresIssuances/sessionSettings``.
    ///   - logger: Receives the reasons why rows cannot be read.
    ///   - now: Returns the current time.
    public init(pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        ledger = LedgerPool(pool: pool, logger: logger, now: now)
    }

    /// Counts issuances by hour or day and by the dimensions of the query, newest first; or those of the whole period,
    /// the largest counts first.
    public func usage(_ query: UsageQuery) async throws(GatewayError) -> LedgerPage<Usage> {
        let limit = LedgerPool.limit(query.pageSize)
        let token = PageToken(of: "usage", filters: query.texts)
        var range = try LedgerRange(
            from: query.filter.from, to: query.filter.to,
            span: query.step == .day ? 31 * LedgerRange.day : LedgerRange.day, now: ledger.now())
        if query.filter.from == nil { range.beginEarlier(at: query.step == .day ? LedgerRange.day : 3600) }
        var after: UsageRequest.Place?
        if let text = query.pageToken {
            let values = try token.values(in: text, count: 8)
            guard let urls = Int64(values[2]) else { throw PageToken.foreign }
            range.from = try PostgresTimestamp(token: values[0]).date
            after = .init(start: try PostgresTimestamp(token: values[1]), urls: urls, names: Array(values[3...]))
        }
        let request = UsageRequest(
            query: query, from: PostgresTimestamp(range.from),
            to: PostgresTimestamp(range.to ?? ledger.openEnd), after: after, limit: limit + 1)
        var rows = try await ledger.execute(request.statement, request)
        guard rows.count > limit else { return LedgerPage(items: rows, nextPageToken: nil, range: range) }
        rows.removeLast()
        let next = rows.last.map { last in
            token.text(
                after: [
                    PostgresTimestamp(range.from).tokenText, PostgresTimestamp(last.start).tokenText, String(last.urls),
                ]
                    + [last.principal, last.bucket, last.grantID?.lowercaseText, last.action, last.delivery].map {
                        $0 ?? ""
                    })
        }
        return LedgerPage(items: rows, nextPageToken: next, range: range)
    }

    /// Reads a page of refusals, counted by time and by the dimensions of the query, newest first.
    public func denials(_ query: DenialQuery) async throws(GatewayError) -> LedgerPage<CountedDenial> {
        let limit = LedgerPool.limit(query.pageSize)
        let token = PageToken(of: "denials", filters: query.texts)
        var range = try LedgerRange(from: query.from, to: query.to, span: LedgerRange.day, now: ledger.now())
        var before: (minute: PostgresTimestamp, names: [String])?
        if let text = query.pageToken {
            let values = try token.values(in: text, count: 5)
            range.from = try PostgresTimestamp(token: values[0]).date
            before = (try PostgresTimestamp(token: values[1]), Array(values[2...]))
        }
        let request = DenialRequest(
            query: query, from: PostgresTimestamp(range.from), to: PostgresTimestamp(range.to ?? ledger.openEnd),
            before: before, limit: limit + 1)
        var rows = try await ledger.execute(request.isDetailed ? Self.denials : Self.summedDenials, request)
        guard rows.count > limit else { return LedgerPage(items: rows, nextPageToken: nil, range: range) }
        rows.removeLast()
        let next = rows.last.map { last in
            token.text(after: [
                PostgresTimestamp(range.from).tokenText, PostgresTimestamp(last.start).tokenText,
                last.principal ?? "", last.bucket ?? "", last.code ?? "",
            ])
        }
        return LedgerPage(items: rows, nextPageToken: next, range: range)
    }

    /// Counts the reservations that are not settled yet.
    public func settlingBacklog() async throws(GatewayError) -> SettlingBacklog {
        guard let backlog = try await ledger.execute(Self.backlog, ()).first else {
            throw .noRow(of: "the backlog of settling")
        }
        return backlog
    }

    /// Counts reservations.
    static let backlog = Statement<Void, SettlingBacklog>(
        """
        SELECT count(*), coalesce(sum(r.amount), 0)::bigint, count(*) FILTER (WHERE r.dead_at < statement_timestamp()),
            min(r.dead_at) FILTER (WHERE r.dead_at < statement_timestamp())
        FROM reservations r
        """, onlyReads: true
    ) {
        []
    } decode: { row throws(PostgresError) in
        SettlingBacklog(
            reservations: try row.next(), bytes: try row.next(), expired: try row.next(), expiredSince: try row.next())
    }

    /// Reads a page of live allow grants with their use, newest first.
    public func grantUse(_ query: GrantUseQuery) async throws(GatewayError) -> LedgerPage<GrantUse> {
        let limit = LedgerPool.limit(query.pageSize)
        let token = PageToken(of: "grants:unused", filters: query.texts)
        let now = ledger.now()
        var range = try LedgerRange(from: query.from, to: nil, span: 32 * LedgerRange.day, now: now)
        if query.from == nil { range.beginEarlier(at: 3600) }
        var since = query.unusedSince ?? now.addingTimeInterval(-7 * LedgerRange.day)
        var after: UUID?
        if let text = query.pageToken {
            let values = try token.values(in: text, count: 3)
            range.from = try PostgresTimestamp(token: values[0]).date
            since = try PostgresTimestamp(token: values[1]).date
            guard let id = UUID(uuidString: values[2]) else { throw PageToken.foreign }
            after = id
        }
        guard range.from <= since else {
            throw .invalidArgument(field: "from", reason: "'from' must not be later than 'unusedSince'.")
        }
        var rows = try await ledger.execute(
            query.includesUsed ? Self.grantUse : Self.unusedGrants,
            GrantUseRequest(
                query: query, from: PostgresTimestamp(range.from), since: PostgresTimestamp(since), after: after,
                limit: limit + 1))
        guard rows.count > limit else { return LedgerPage(items: rows, nextPageToken: nil, range: range) }
        rows.removeLast()
        let next = rows.last.map { last in
            token.text(after: [
                PostgresTimestamp(range.from).tokenText, PostgresTimestamp(since).tokenText,
                last.grant.id.lowercaseText,
            ])
        }
        return LedgerPage(items: rows, nextPageToken: next, range: range)
    }

    /// Counts the live issuances that rest on a grant or a storage credential, or that a principal asked for.
    public func blastRadius(
        of cause: BlastRadius.Cause, within reach: AdminReach
    ) async throws(GatewayError) -> BlastRadius {
        let question = BlastRadiusQuestion(cause: cause, reach: reach)
        let rows = try await ledger.execute(AliveShare.statement, question)
        guard let total = rows.first(where: { $0.kind == "all" }) else { throw .noRow(of: "what is alive") }
        if total.share.count == 0, try await ledger.execute(AliveShare.isKnown, cause).first != true {
            switch cause {
            case .grant: throw .notFound(.grant)
            case .credential: throw .notFound(.storageCredential)
            case .principal: break
            }
        }
        let sessions = try await ledger.execute(AliveSession.statement, question)
        func shares(_ kind: String) -> [BlastRadius.Share] { rows.filter { $0.kind == kind }.map(\.share) }
        return BlastRadius(
            count: total.share.count, aliveUntil: total.share.count == 0 ? nil : total.share.aliveUntil,
            principalCount: total.principalCount, principals: shares("principal"), deliveries: shares("delivery"),
            buckets: shares("bucket"), credentials: shares("credential"), grants: shares("grant"),
            sessionCount: sessions.first?.total ?? 0, sessions: sessions.map(\.session))
    }
}

extension LedgerRange {
    /// Lets the range begin at a whole hour or day (UTC), so that sums tell all of it.
    fileprivate mutating func beginEarlier(at step: TimeInterval) {
        from = Date(timeIntervalSince1970: (from.timeIntervalSince1970 / step).rounded(.down) * step)
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

extension DenialQuery {
    fileprivate var texts: [String: String] {
        var texts: [String: String] = [:]
        texts["from"] = from.map { PostgresTimestamp($0).tokenText }
        texts["to"] = to.map { PostgresTimestamp($0).tokenText }
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
        texts["from"] = from.map { PostgresTimestamp($0).tokenText }
        texts["unusedSince"] = unusedSince.map { PostgresTimestamp($0).tokenText }
        texts["includeUsed"] = includesUsed ? "true" : nil
        texts["principal"] = principal?.rawValue
        texts["bucket"] = bucket?.rawValue
        return texts
    }
}

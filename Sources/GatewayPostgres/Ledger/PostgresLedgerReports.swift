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
    public func usage(
        _ query: UsageQuery, in range: LedgerRange, after place: UsageQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [Usage] {
        let request = UsageRequest(
            query: query, from: PostgresTimestamp(range.from), to: PostgresTimestamp(range.to ?? ledger.openEnd),
            after: place.map {
                UsageRequest.Place(start: PostgresTimestamp($0.start), urls: $0.urls, names: $0.names)
            }, limit: limit)
        return try await ledger.execute(request.statement, request)
    }

    /// Counts refusals by time and by the dimensions of the query, newest first.
    public func denials(
        _ query: DenialQuery, in range: LedgerRange, after place: DenialQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [CountedDenial] {
        let request = DenialRequest(
            query: query, from: PostgresTimestamp(range.from), to: PostgresTimestamp(range.to ?? ledger.openEnd),
            before: place.map { (minute: PostgresTimestamp($0.start), names: $0.names) }, limit: limit)
        return try await ledger.execute(request.isDetailed ? DenialRequest.detailed : DenialRequest.summed, request)
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
        SELECT count(*), coalesce(sum(r.amount), 0)::bigint, count(*) FILTER (WHERE r.due_at < statement_timestamp()),
            min(r.due_at) FILTER (WHERE r.due_at < statement_timestamp())
        FROM \(ReservationTable.byDueTime)
        """, onlyReads: true
    ) {
        []
    } decode: { row throws(PostgresError) in
        SettlingBacklog(
            reservations: try row.next(), bytes: try row.next(), due: try row.next(), dueSince: try row.next())
    }

    /// Reads live allow grants with their use, newest first.
    public func grantUse(
        _ query: GrantUseQuery, from: Date, unusedSince since: Date, after place: UUID?, limit: Int
    ) async throws(GatewayError) -> [GrantUse] {
        try await ledger.execute(
            query.includesUsed ? GrantUseRequest.all : GrantUseRequest.unused,
            GrantUseRequest(
                query: query, from: PostgresTimestamp(from), since: PostgresTimestamp(since), after: place,
                limit: limit))
    }

    /// Counts the live issuances that rest on a grant or a storage credential, or that a principal asked for.
    public func blastRadius(
        of cause: BlastRadius.Cause, within reach: AdminReach, deadline: ContinuousClock.Instant?
    ) async throws(GatewayError) -> BlastRadius {
        let question = BlastRadiusQuestion(cause: cause, reach: reach)
        let rows = try await ledger.execute(AliveShare.statement, question, deadline: deadline)
        guard let total = rows.first(where: { $0.kind == "all" }) else { throw .noRow(of: "what is alive") }
        if total.share.count == 0, try await ledger.execute(AliveShare.isKnown, cause, deadline: deadline).first != true
        {
            switch cause {
            case .grant: throw .notFound(.grant)
            case .credential: throw .notFound(.storageCredential)
            case .principal: break
            }
        }
        let sessions = try await ledger.execute(AliveSession.statement, question, deadline: deadline)
        func shares(_ kind: String) -> [BlastRadius.Share] { rows.filter { $0.kind == kind }.map(\.share) }
        return BlastRadius(
            count: total.share.count, aliveUntil: total.share.count == 0 ? nil : total.share.aliveUntil,
            principalCount: total.principalCount, principals: shares("principal"), deliveries: shares("delivery"),
            buckets: shares("bucket"), credentials: shares("credential"), grants: shares("grant"),
            sessionCount: sessions.first?.total ?? 0, sessions: sessions.map(\.session))
    }
}

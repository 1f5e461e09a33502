public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging

/// Keeps the outcomes of uploads in PostgreSQL.
public struct PostgresUploads: UploadRecords {
    private let pool: StorePool
    private let ledger: LedgerPool

    /// Maximum distance between the instant in an issuance's identifier and its recording; others are not found. A
    /// request may be repeated for a day.
    private static let clockDifference: TimeInterval = 2 * 86_400

    /// The year 2500. No row has a later time.
    private static let lastInstant = Date(timeIntervalSince1970: 16_725_225_600)

    /// Creates an adapter.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway.
    ///   - ledgerPool: A second such pool, with ``PostgresIssuances/sessionSettings``.
    ///   - logger: Receives the reasons why rows cannot be read or written.
    ///   - now: Returns the current time.
    public init(
        pool: PostgresPool, ledgerPool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.pool = StorePool(pool: pool, logger: logger, complaint: "uploads cannot be read or written")
        ledger = LedgerPool(pool: ledgerPool, logger: logger, now: now)
    }

    /// Reads an issuance, whatever action it permits.
    public func upload(_ id: UUID) async throws(GatewayError) -> UploadRecord? {
        // The identifier holds the day. Without it, every day of the ledger would be read.
        let instant = id.version7Instant
        guard instant < Self.lastInstant else { return nil }
        let from = instant.addingTimeInterval(-Self.clockDifference)
        let to = instant.addingTimeInterval(Self.clockDifference)
        return try await pool.execute(LandingTable.find, (id, from, to)).first?.record
    }

    /// Records a finding. An earlier confirmation that the upload landed stays. Returns the finding that is on record.
    public func note(_ finding: UploadFinding, on id: UUID) async throws(GatewayError) -> UploadFinding {
        guard let noted = try await pool.execute(LandingTable.note, (id, finding)).first else {
            throw .noRow(of: "a finding")
        }
        return noted
    }

    /// Reads a page of uploads with their states, day by day, newest day first.
    public func uploads(_ query: UploadQuery) async throws(GatewayError) -> LedgerPage<ListedUpload> {
        let limit = LedgerPool.limit(query.pageSize)
        let token = PageToken(of: "uploads", filters: query.texts)
        var range = try LedgerRange(from: query.from, to: query.to, span: LedgerRange.day, now: ledger.now())
        var place: (end: PostgresTimestamp, id: UUID)?
        if let text = query.pageToken {
            let values = try token.values(in: text, count: 3)
            guard let id = UUID(uuidString: values[2]) else { throw PageToken.foreign }
            range.from = try PostgresTimestamp(token: values[0]).date
            place = (try PostgresTimestamp(token: values[1]), id)
        }
        let deadline = ContinuousClock.now + LedgerPool.patience
        let from = PostgresTimestamp(range.from)
        let end = place?.end ?? PostgresTimestamp(range.to ?? ledger.openEnd)
        var found: [(day: LedgerDay, upload: ListedUpload)] = []
        let days = try await ledger.execute(
            LedgerPool.days, LedgerDay(from: from, to: end), deadline: deadline)
        for day in days where found.count <= limit {
            let before = day.to == place?.end ? place?.id : nil
            let request = LandingTable.PageRequest(
                query: query, from: day.from, to: day.to, before: before, limit: limit + 1 - found.count)
            found += try await ledger.execute(LandingTable.page, request, deadline: deadline).map { (day, $0) }
        }
        guard found.count > limit, let last = found.prefix(limit).last else {
            return LedgerPage(items: found.map(\.upload), nextPageToken: nil, range: range)
        }
        let next = token.text(after: [from.tokenText, last.day.to.tokenText, last.upload.record.id.lowercaseText])
        return LedgerPage(items: found.prefix(limit).map(\.upload), nextPageToken: next, range: range)
    }
}

extension UploadQuery {
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

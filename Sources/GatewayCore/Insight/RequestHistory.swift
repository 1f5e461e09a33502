public import FoundationEssentials

/// Finds what a request did, or why it was refused.
public struct RequestHistory: Sendable {
    /// Time before the time in a request's identifier from which its issuances are searched. An issuance carries the
    /// second in which it was signed, and clocks may differ by some seconds.
    static let before: TimeInterval = 10
    /// Time after the time in a request's identifier up to which its issuances are searched: the longest deadline of a
    /// request, and the difference of clocks.
    static let after: TimeInterval = 60
    /// Longest period that may be searched, in seconds.
    static let longestPeriod: TimeInterval = 86_400

    private let refusals: any RefusalReader
    private let issuances: any RequestIssuances
    private let audit: any AuditReader

    /// Creates the use case.
    public init(refusals: any RefusalReader, issuances: any RequestIssuances, audit: any AuditReader) {
        self.refusals = refusals
        self.issuances = issuances
        self.audit = audit
    }

    /// Finds the traces of a request.
    ///
    /// The ledger has no index for requests, since a second index would make recording a third slower. An identifier
    /// that the gateway made holds the time of the request, which bounds the search to a minute of the primary key.
    /// - Parameters:
    ///   - id: The identifier, as in the answer and in logs.
    ///   - from: Begin of the period in which issuances are searched, if the identifier holds no time.
    ///   - to: End of that period, exclusive.
    /// - Throws: `invalidArgument` if only one of `from` and `to` is given, or if the period is empty or too long;
    ///   `slowDown`, `unavailable`.
    public func traces(
        of id: String, from: Date? = nil, to: Date? = nil
    ) async throws(GatewayError) -> RequestTraces {
        let period = try Self.period(of: id, from: from, to: to)
        let kept = try await refusals.refusals(ofRequest: id, around: period?.from ?? Self.instant(in: id))
        var found: [RecordedIssuance] = []
        if let period { found = try await issuances.issuances(ofRequest: id, from: period.from, to: period.to) }
        let changes = try await audit.changes(
            ListQuery(filters: ["requestID": id], pageSize: RequestTraces.maxRows))
        return RequestTraces(
            requestID: id, from: period?.from, to: period?.to, refusals: kept, issuances: found,
            changes: changes.items)
    }

    private static func period(
        of id: String, from: Date?, to: Date?
    ) throws(GatewayError) -> (from: Date, to: Date)? {
        switch (from, to) {
        case (let from?, let to?):
            guard from < to, to.timeIntervalSince(from) <= longestPeriod else {
                throw .invalidArgument(field: "to", reason: "'to' must follow 'from' by at most 24 hours.")
            }
            return (from, to)
        case (nil, nil):
            guard let instant = instant(in: id) else { return nil }
            return (instant.addingTimeInterval(-before), instant.addingTimeInterval(after))
        case (nil, _): throw .invalidArgument(field: "from", reason: "Give 'from' together with 'to'.")
        case (_, nil): throw .invalidArgument(field: "to", reason: "Give 'to' together with 'from'.")
        }
    }

    /// The time in an identifier, as each has that a gateway made; `nil` if there is none. One that came through a
    /// trusted proxy may hold any time.
    static func instant(in id: String) -> Date? {
        guard let uuid = UUID(uuidString: id), uuid.uuid.6 >> 4 == 7 else { return nil }
        return uuid.version7Instant
    }
}

/// Everything that is kept about one request.
public struct RequestTraces: Sendable, Equatable {
    /// Most issuances, and most changes, that are found. A batch issues at most 1,000 URLs.
    public static let maxRows = 1000

    /// Identifier of the request.
    public var requestID: String
    /// Begin of the period in which issuances were searched; `nil` if they were not.
    public var from: Date?
    /// End of that period.
    public var to: Date?
    /// Why the request was refused.
    public var refusals: KeptRefusals
    /// Credentials that the request issued, newest first.
    public var issuances: [RecordedIssuance]
    /// Lines of the audit that the request left, newest first.
    public var changes: [AuditRecord]

    /// Creates the traces of a request.
    public init(
        requestID: String, from: Date?, to: Date?, refusals: KeptRefusals, issuances: [RecordedIssuance],
        changes: [AuditRecord]
    ) {
        self.requestID = requestID
        self.from = from
        self.to = to
        self.refusals = refusals
        self.issuances = issuances
        self.changes = changes
    }
}

/// The refusals that are kept of one request.
public struct KeptRefusals: Sendable, Equatable {
    /// The refusals, in their order.
    public var rows: [RefusalRecord]
    /// Since when refusals are kept; `nil` if none is.
    public var keptSince: Date?
    /// Refusals that sampling dropped, over all requests, within two minutes of this request. If the time of the
    /// request is not known: at any time.
    public var droppedNearby: Int64

    /// Creates the result of a search.
    public init(rows: [RefusalRecord] = [], keptSince: Date? = nil, droppedNearby: Int64 = 0) {
        self.rows = rows
        self.keptSince = keptSince
        self.droppedNearby = droppedNearby
    }
}

/// Reads kept refusals.
public protocol RefusalReader: Sendable {
    /// Reads the refusals of a request.
    ///
    /// - Parameters:
    ///   - id: The request's identifier.
    ///   - instant: When the request arrived, within a minute; `nil` if it is not known.
    /// - Throws: `unavailable`, `slowDown`.
    func refusals(ofRequest id: String, around instant: Date?) async throws(GatewayError) -> KeptRefusals
}

/// Reads the issuances of one request.
public protocol RequestIssuances: Sendable {
    /// Reads the issuances that a request recorded within a period, newest first, at most ``RequestTraces/maxRows``.
    ///
    /// - Throws: `slowDown` if the query takes too long, `unavailable`.
    func issuances(
        ofRequest id: String, from: Date, to: Date
    ) async throws(GatewayError) -> [RecordedIssuance]
}

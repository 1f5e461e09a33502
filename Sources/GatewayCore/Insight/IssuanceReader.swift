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

/// A row of the ledger, as it was recorded.
public struct RecordedIssuance: Sendable, Equatable {
    /// The amount charged to one quota.
    public struct Charge: Sendable, Equatable {
        /// Identifier of the quota, or of the ticket whose uses were counted.
        public var quotaID: UUID
        /// Number of URLs or bytes.
        public var amount: Int64

        /// Creates a charge.
        public init(quotaID: UUID, amount: Int64) {
            self.quotaID = quotaID
            self.amount = amount
        }
    }

    /// Identifier of the issuance, a UUIDv7.
    public var id: UUID
    /// When the issuance was recorded, by the database's clock.
    public var issuedAt: Date
    /// When the issued credential expires.
    public var expiresAt: Date
    /// The delivery, as a raw value of ``Delivery``.
    public var delivery: String
    /// The caller.
    public var principal: String
    /// The principal of the grant that decided.
    public var matchedPrincipal: String
    /// The grant that decided.
    public var grantID: UUID
    /// The credential that signed.
    public var credentialID: UUID
    /// The permitted actions.
    public var actions: [String]
    /// The bound HTTP method; `*` for temporary credentials.
    public var method: String
    /// The bucket of the object.
    public var bucket: String
    /// The object key; for temporary credentials, the prefix.
    public var key: String
    /// The bound content type, if any.
    public var contentType: String?
    /// The bound MD5, 16 bytes, if any.
    public var contentMD5: [UInt8]?
    /// The requested SHA-256, 32 bytes, if any.
    public var contentSHA256: [UInt8]?
    /// The bound length in bytes, if any.
    public var contentLength: Int64?
    /// Identifier of the request, as it appears in logs.
    public var requestID: String
    /// Number of the last policy change known at the time of the decision.
    public var policySequence: Int64
    /// The amounts charged to quotas.
    public var charges: [Charge]

    /// Creates a row from its parts.
    public init(
        id: UUID, issuedAt: Date, expiresAt: Date, delivery: String, principal: String, matchedPrincipal: String,
        grantID: UUID, credentialID: UUID, actions: [String], method: String, bucket: String, key: String,
        contentType: String? = nil, contentMD5: [UInt8]? = nil, contentSHA256: [UInt8]? = nil,
        contentLength: Int64? = nil, requestID: String, policySequence: Int64, charges: [Charge] = []
    ) {
        self.id = id
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.delivery = delivery
        self.principal = principal
        self.matchedPrincipal = matchedPrincipal
        self.grantID = grantID
        self.credentialID = credentialID
        self.actions = actions
        self.method = method
        self.bucket = bucket
        self.key = key
        self.contentType = contentType
        self.contentMD5 = contentMD5
        self.contentSHA256 = contentSHA256
        self.contentLength = contentLength
        self.requestID = requestID
        self.policySequence = policySequence
        self.charges = charges
    }

    /// The row as an admin may see it: without the charges if the reach is limited, as quotas may lie outside.
    fileprivate func shown(within reach: AdminReach) -> RecordedIssuance {
        guard !reach.isUnlimited else { return self }
        var row = self
        row.charges = []
        return row
    }
}

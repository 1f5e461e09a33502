public import Foundation

/// Reads the ledger, row by row.
public protocol IssuanceReader: Sendable {
    /// Reads a page of issuances: the newest day first, and within a day the newest identifier.
    ///
    /// - Throws: `invalidArgument` for a token that is not of a page of this query, `slowDown` where it takes too long,
    ///   `unavailable`.
    func issuances(_ query: IssuanceQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance>

    /// Reads one issuance.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func issuance(_ id: UUID) async throws(GatewayError) -> RecordedIssuance
}

/// Adds the ledger up.
public protocol LedgerReports: Sendable {
    /// Counts issuances by hour or day, and by what else is asked for; the oldest first.
    ///
    /// - Throws: As ``IssuanceReader/issuances(_:)``, and so do all the others.
    func usage(_ query: UsageQuery) async throws(GatewayError) -> LedgerPage<Usage>

    /// Reads a page of what was refused, counted by minute; the newest first.
    func denials(_ query: DenialQuery) async throws(GatewayError) -> LedgerPage<CountedDenial>

    /// Reads a page of live grants that allow something, with the use that was made of each, by identifier.
    func grantUse(_ query: GrantUseQuery) async throws(GatewayError) -> LedgerPage<GrantUse>

    /// Counts what is alive because of a grant or a storage credential.
    ///
    /// - Throws: `notFound` where there was never such a grant, or there is no such credential and nothing alive of one;
    ///   `slowDown`, `unavailable`.
    func blastRadius(of cause: BlastRadius.Cause) async throws(GatewayError) -> BlastRadius
}

/// Which issuances are meant; whatever is absent does not narrow.
public struct IssuanceFilter: Sendable, Equatable {
    /// First instant of recording; see ``LedgerRange``.
    public var from: Date?
    /// First instant after that.
    public var to: Date?
    /// The caller.
    public var principal: Principal?
    /// Where.
    public var bucket: BucketName?
    /// What the key begins with.
    public var prefix: ExactText?
    /// What is permitted, perhaps besides another action.
    public var action: Action?
    /// How it left.
    public var delivery: Delivery?
    /// The grant that decided.
    public var grantID: UUID?
    /// The credential that signed.
    public var credentialID: UUID?
    /// Only those that are not dead yet by the database's clock.
    public var isAlive = false

    /// Everything.
    public init() {}
}

/// A page of issuances that is asked for.
public struct IssuanceQuery: Sendable {
    /// Which ones; a beginning that is absent is a day before the end, and for what is alive eight.
    public var filter: IssuanceFilter
    /// Rows on a page, 1…1,000.
    public var pageSize: Int
    /// Where to go on, as a former page of the same filter said.
    public var pageToken: String?

    /// Puts a query together.
    public init(_ filter: IssuanceFilter = IssuanceFilter(), pageSize: Int = 100, pageToken: String? = nil) {
        self.filter = filter
        self.pageSize = pageSize
        self.pageToken = pageToken
    }
}

/// A row of the ledger, as it was written.
public struct RecordedIssuance: Sendable, Equatable {
    /// What was taken from one quota.
    public struct Charge: Sendable, Equatable {
        /// The quota, or the ticket whose uses were counted.
        public var quotaID: UUID
        /// URLs or bytes.
        public var amount: Int64

        /// Puts it together.
        public init(quotaID: UUID, amount: Int64) {
            self.quotaID = quotaID
            self.amount = amount
        }
    }

    /// UUIDv7.
    public var id: UUID
    /// When it was recorded, by the database's clock.
    public var issuedAt: Date
    /// Until when what was issued can be used.
    public var expiresAt: Date
    /// How it left, as ``Delivery``.
    public var delivery: String
    /// The caller.
    public var principal: String
    /// The principal of the grant that decided.
    public var matchedPrincipal: String
    /// The grant that decided.
    public var grantID: UUID
    /// The credential that signed.
    public var credentialID: UUID
    /// What it permits.
    public var actions: [String]
    /// The method that is bound; `*` for temporary credentials.
    public var method: String
    /// Where.
    public var bucket: String
    /// On what: a key; of temporary credentials the prefix.
    public var key: String
    /// Content type that is bound, if any.
    public var contentType: String?
    /// MD5 that is bound, 16 bytes, if any.
    public var contentMD5: [UInt8]?
    /// SHA-256 that was asked for, 32 bytes, if any.
    public var contentSHA256: [UInt8]?
    /// Length that is bound, in bytes, if any.
    public var contentLength: Int64?
    /// Identifier of the request, as in logs.
    public var requestID: String
    /// Number of the change of policy up to which policy was known when it was decided.
    public var policySequence: Int64
    /// What was taken from quotas.
    public var charges: [Charge]

    /// Puts a row together.
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
}

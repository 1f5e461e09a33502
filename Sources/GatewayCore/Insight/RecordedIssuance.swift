public import FoundationEssentials

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
}

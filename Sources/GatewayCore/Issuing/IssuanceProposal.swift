public import FoundationEssentials

/// The data of a ledger row, together with the data that proves and charges it.
///
/// A class for the reason that ``Caller`` gives.
public final class IssuanceProposal: Sendable {
    /// Identifier of the issuance, a UUIDv7.
    public let id: UUID
    /// The policy position that the decision is based on.
    public let position: PolicyPosition
    /// The scopes of all rows that the decision is based on. ``PolicyScope/all`` is always included implicitly.
    public let scopes: [PolicyScope]
    /// The caller.
    public let principal: Principal
    /// The principal of the grant that decided: the caller, a group, or `*`.
    public let matchedPrincipal: Principal
    /// The grant that decided.
    public let grantID: UUID
    /// The storage credential that signed.
    public let credentialID: UUID
    /// The delivery through which the credential leaves the gateway.
    public let delivery: Delivery
    /// The action that the issuance permits.
    public let action: Action
    /// Further permitted actions, in the order of ``Action/allCases`` after ``action``; only for temporary credentials.
    public let furtherActions: [Action]
    /// The HTTP method that is bound; `*` for temporary credentials, which bind none.
    public let method: String
    /// The bucket that the issuance is for.
    public let bucket: BucketName
    /// The object key; for temporary credentials, cookies and listings, the prefix.
    public let key: ExactText
    /// When the issuance expires, by the signing clock.
    public let expiresAt: Date
    /// The bound content type, if any.
    public let contentType: String?
    /// The bound MD5, 16 bytes, if any.
    public let contentMD5: [UInt8]?
    /// The requested SHA-256, 32 bytes, if any.
    public let contentSHA256: [UInt8]?
    /// Whether the signature is valid only for bytes with that SHA-256. If so, the store compares the hash even if it
    /// does not support checksums.
    public let signsPayload: Bool
    /// The bound length in bytes, if any.
    public let contentLength: Int64?
    /// Identifier of the request, as it appears in logs.
    public let requestID: String
    /// The quota charges; all of them apply, or none.
    public let charges: [QuotaCharge]

    /// Creates a proposal.
    public init(
        id: UUID, position: PolicyPosition, scopes: [PolicyScope], principal: Principal, matchedPrincipal: Principal,
        grantID: UUID, credentialID: UUID, delivery: Delivery, action: Action, furtherActions: [Action] = [],
        method: String, bucket: BucketName, key: ExactText, expiresAt: Date, contentType: String? = nil,
        contentMD5: [UInt8]? = nil, contentSHA256: [UInt8]? = nil, signsPayload: Bool = false,
        contentLength: Int64? = nil, requestID: String, charges: [QuotaCharge]
    ) {
        self.id = id
        self.position = position
        self.scopes = scopes
        self.principal = principal
        self.matchedPrincipal = matchedPrincipal
        self.grantID = grantID
        self.credentialID = credentialID
        self.delivery = delivery
        self.action = action
        self.furtherActions = furtherActions
        self.method = method
        self.bucket = bucket
        self.key = key
        self.expiresAt = expiresAt
        self.contentType = contentType
        self.contentMD5 = contentMD5
        self.contentSHA256 = contentSHA256
        self.signsPayload = signsPayload
        self.contentLength = contentLength
        self.requestID = requestID
        self.charges = charges
    }

    /// Creates a proposal for all keys below a prefix, and for any body.
    public convenience init(
        id: UUID, position: PolicyPosition, scopes: [PolicyScope], principal: Principal, matchedPrincipal: Principal,
        grantID: UUID, credentialID: UUID, delivery: Delivery, actions: Set<Action>, method: String = "*",
        bucket: BucketName, prefix: ExactText, expiresAt: Date, requestID: String, charges: [QuotaCharge]
    ) {
        let ordered = Action.allCases.filter(actions.contains)
        self.init(
            id: id, position: position, scopes: scopes, principal: principal, matchedPrincipal: matchedPrincipal,
            grantID: grantID, credentialID: credentialID, delivery: delivery, action: ordered.first ?? .getObject,
            furtherActions: Array(ordered.dropFirst()), method: method, bucket: bucket, key: prefix,
            expiresAt: expiresAt, requestID: requestID, charges: charges)
    }
}

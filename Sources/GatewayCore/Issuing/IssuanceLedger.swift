public import Foundation

/// Records issuances: proves that the decision still stands, charges quotas and writes the row, or does nothing at all.
public protocol IssuanceLedger: Sendable {
    /// Records one decision durably.
    ///
    /// - Throws: What ``record(_:deadline:)`` of several answers to it.
    func record(
        _ proposal: IssuanceProposal, deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> RecordVerdict

    /// Records decisions durably, each for itself.
    ///
    /// - Returns: One answer for each, in their order: the verdict, or ``GatewayError/slowDown(retryAfter:)`` when the queue is
    ///   full or the deadline has passed before it was sent, ``GatewayError/unavailable(retryAfter:)`` when the outcome cannot
    ///   be known or the database is gone. Nothing may leave the process for what is not recorded.
    func record(
        _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
    ) async -> [Result<RecordVerdict, GatewayError>]

    /// Counts a refusal. Bounded, never blocks, never fails the answer.
    func count(_ denial: Denial)
}

extension IssuanceLedger {
    /// Records one decision as several of which there is one.
    public func record(
        _ proposal: IssuanceProposal, deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> RecordVerdict {
        guard let answer = await record([proposal], deadline: deadline).first else {
            throw .unavailable(retryAfter: 1, cause: "the ledger gave no verdict")
        }
        return try answer.get()
    }
}

/// Everything that goes into a row of the ledger, and what proves and charges it.
public struct IssuanceProposal: Sendable {
    /// UUIDv7.
    public var id: UUID
    /// The state of policy on which the decision rests.
    public var position: PolicyPosition
    /// Everything the decision rests on; ``PolicyScope/all`` is understood.
    public var scopes: [PolicyScope]
    /// The caller.
    public var principal: Principal
    /// The principal of the grant that decided: the caller, a group or `*`.
    public var matchedPrincipal: Principal
    /// The grant that decided.
    public var grantID: UUID
    /// The credential that signed.
    public var credentialID: UUID
    /// How the result leaves.
    public var delivery: Delivery
    /// What it permits.
    public var action: Action
    /// What it permits besides; only temporary credentials permit two things.
    public var furtherAction: Action?
    /// The method that is bound; `*` for temporary credentials, which bind none.
    public var method: String
    /// Where.
    public var bucket: BucketName
    /// On what: a key; of temporary credentials the prefix.
    public var key: ExactText
    /// Until when, by the signing clock.
    public var expiresAt: Date
    /// Content type that is bound, if any.
    public var contentType: String?
    /// MD5 that is bound, 16 bytes, if any.
    public var contentMD5: [UInt8]?
    /// SHA-256 that was asked for, 32 bytes, if any.
    public var contentSHA256: [UInt8]?
    /// Whether the signature holds for bytes of that SHA-256 alone, so that the store compares it whatever it knows of checksums.
    public var signsPayload = false
    /// Length that is bound, in bytes, if any.
    public var contentLength: Int64?
    /// Identifier of the request, as in logs.
    public var requestID: String
    /// What is charged; all of it or nothing.
    public var charges: [QuotaCharge]

    /// Puts a proposal together.
    public init(
        id: UUID, position: PolicyPosition, scopes: [PolicyScope], principal: Principal, matchedPrincipal: Principal,
        grantID: UUID, credentialID: UUID, delivery: Delivery, action: Action, method: String, bucket: BucketName,
        key: ObjectKey, expiresAt: Date, contentType: String?, contentMD5: [UInt8]?, contentLength: Int64?,
        requestID: String, charges: [QuotaCharge]
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
        self.method = method
        self.bucket = bucket
        self.key = ExactText(key.rawValue)
        self.expiresAt = expiresAt
        self.contentType = contentType
        self.contentMD5 = contentMD5
        self.contentLength = contentLength
        self.requestID = requestID
        self.charges = charges
    }

    /// Puts a proposal together that is for all keys below a prefix, whatever the method and the body.
    public init(
        id: UUID, position: PolicyPosition, scopes: [PolicyScope], principal: Principal, matchedPrincipal: Principal,
        grantID: UUID, credentialID: UUID, delivery: Delivery, actions: Set<Action>, bucket: BucketName,
        prefix: ExactText, expiresAt: Date, requestID: String, charges: [QuotaCharge]
    ) {
        self.id = id
        self.position = position
        self.scopes = scopes
        self.principal = principal
        self.matchedPrincipal = matchedPrincipal
        self.grantID = grantID
        self.credentialID = credentialID
        self.delivery = delivery
        action = actions.contains(.putObject) ? .putObject : .getObject
        furtherAction = actions.count > 1 ? .getObject : nil
        method = "*"
        self.bucket = bucket
        key = prefix
        self.expiresAt = expiresAt
        self.requestID = requestID
        self.charges = charges
    }
}

/// What became of a proposal.
public enum RecordVerdict: Sendable, Equatable {
    /// Committed; for each charge, in order, what is left in its period after it.
    case recorded(remaining: [QuotaRemainder])
    /// Policy changed in one of the scopes, or the position is unknown; nothing was written: decide anew.
    case stale
    /// A quota is full; nothing was written.
    case quotaExceeded(QuotaRefusal)
}

/// A refusal, as far as it is counted: no key, no token.
public struct Denial: Sendable, Hashable {
    /// The caller.
    public var principal: Principal
    /// The bucket that was asked for, if it exists; `nil` otherwise, so that hostile names take no room.
    public var bucket: BucketName?
    /// The stable code of the answer, for example `AccessDenied`.
    public var code: String

    /// Puts a denial together.
    public init(principal: Principal, bucket: BucketName?, code: String) {
        self.principal = principal
        self.bucket = bucket
        self.code = code
    }
}

/// Reads how much of quotas is used.
public protocol QuotaUsageSource: Sendable {
    /// Reads what is left of quotas for their holders now, by the database's clock; answers in the order asked.
    ///
    /// - Throws: ``GatewayError/unavailable(retryAfter:)``.
    func usage(of holdings: [QuotaHolding]) async throws(GatewayError) -> [QuotaRemainder]
}

/// A quota and whose use of it is meant.
public struct QuotaHolding: Sendable, Equatable {
    /// The quota.
    public var quota: Quota
    /// Whose use is counted: the caller, or the quota's principal where its use is shared.
    public var holder: Principal

    /// Pairs them.
    public init(quota: Quota, holder: Principal) {
        self.quota = quota
        self.holder = holder
    }
}

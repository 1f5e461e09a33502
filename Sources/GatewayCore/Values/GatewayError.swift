/// Everything that can go wrong for a caller, each with what the caller can act on.
///
/// Texts are for callers: they name no secret, no other tenant and no SQL.
public enum GatewayError: Error, Equatable, Sendable {
    /// 400 `InvalidArgument`: a field is malformed or contradicts another; `field` is its JSON name.
    case invalidArgument(field: String, reason: String)
    /// 401 `Unauthenticated`: no credential, or one that is not accepted; the reason is safe to show.
    case unauthenticated(reason: String)
    /// 401 `ExpiredToken`: the credential was good and is no longer.
    case expiredToken
    /// 403 `AccessDenied`: nothing permits this, or a deny matches; says nothing else.
    case accessDenied
    /// 403 `AccessDenied`: a grant covers key and action, but a condition of it does not hold.
    case conditionFailed(ConditionFailure)
    /// 403 `AccessDenied`: the caller's role does not reach this operation.
    case roleRequired(String)
    /// 413 `EntityTooLarge`: the stated length exceeds what the grant allows, in bytes.
    case entityTooLarge(maxBytes: Int64)
    /// 422 `NotEnforceable`: the bucket's scheme cannot bind what the grant or a quota demands; names a delivery that can.
    case notEnforceable(reason: String)
    /// 429 `QuotaExceeded`.
    case quotaExceeded(QuotaRefusal)
    /// 404 `NoSuchBucket`, `NoSuchGrant` …: an admin named a resource that does not exist.
    case notFound(ResourceKind)
    /// 409 `AlreadyExists`: the resource, or one with its unique name, exists.
    case alreadyExists(ResourceKind)
    /// 409 `Conflict`: the change contradicts other rows, for example the deletion of a credential that a bucket uses.
    case conflict(reason: String)
    /// 502 `StoreRefused`: the store refused what the gateway asked of it; its status and its code, if it has one.
    case storeRefused(status: Int, code: String?)
    /// 412 `PreconditionFailed`: the row is not in the state that the change was made for.
    case preconditionFailed
    /// The status and code of the first: items of many are refused, and with them all others.
    indirect case itemsRefused(first: ItemRefusal, more: [ItemRefusal])
    /// 409 or 422: a request with an idempotency key is not answered as without one.
    case idempotency(IdempotencyRefusal)
    /// 500 `InternalError`: what was signed does not hold what was decided, which is a fault of ours; nothing is given.
    case unproven(ProofGap)
    /// 503 `SlowDown`: more requests than can be served in time; retry after so many seconds.
    case slowDown(retryAfter: Int, cause: Cause = .unstated)
    /// 503 `ServiceUnavailable`: PostgreSQL or another part that is needed does not answer; retry after so many seconds.
    case unavailable(retryAfter: Int, cause: Cause = .unstated)
    /// 503 `ServiceUnavailable`: the clocks of gateway and database differ too much to issue anything; retry after so many seconds.
    case clockDiffers(retryAfter: Int)
}

extension GatewayError {
    /// Why the gateway cannot answer now, where that is its fault or that of something it needs.
    public var cause: Cause? {
        switch self {
        case .slowDown(_, let cause), .unavailable(_, let cause): cause.description.isEmpty ? nil : cause
        case .storeRefused(let status, let code): "the store answered \(status) \(code ?? "without a code")"
        case .clockDiffers: "the clocks of gateway and database differ"
        case .unproven(let gap): "what was signed does not hold what was decided: \(gap.rawValue)"
        default: nil
        }
    }
}

/// The kinds of resources that admins manage; the raw value is the word in `NoSuch…` codes.
public enum ResourceKind: String, Sendable, CaseIterable {
    case bucket = "Bucket"
    case storageCredential = "StorageCredential"
    case grant = "Grant"
    case groupMember = "GroupMember"
    case quota = "Quota"
    case issuer = "Issuer"
    case apiKey = "APIKey"
    case ticket = "Ticket"
    case multipartUpload = "Upload"
    case issuance = "Issuance"
    case eventSecret = "EventSecret"
}

/// Which condition of a matching grant did not hold.
public enum ConditionFailure: Equatable, Sendable {
    /// The content type is missing or not among those allowed.
    case contentType(allowed: [String])
    /// The grant wants a Content-MD5.
    case contentMD5Required
    /// A length must be stated because the grant limits size or a byte quota applies.
    case contentLengthRequired
    /// The caller's address is outside the grant's networks, or cannot be known.
    case sourceAddress
    /// The bucket does not lead callers to its objects.
    case redirect
    /// The grant does not allow response headers to be overridden.
    case responseOverride
    /// The grant does not allow older versions to be read.
    case versions
    /// The grant is not valid now.
    case validity
}

/// The quota that refused, and when it admits again.
public struct QuotaRefusal: Equatable, Sendable {
    /// Identifier of the quota, as admins see it.
    public let quotaID: String
    /// What is counted.
    public let metric: Quota.Metric
    /// The period that is full.
    public let period: Quota.Period
    /// Most that may be used in a period.
    public let limit: Int64
    /// What is left of it now.
    public let remaining: Int64
    /// Seconds until the next period begins; `nil` for a total.
    public let resetsIn: Int?

    /// Describes a refusal.
    public init(
        quotaID: String, metric: Quota.Metric, period: Quota.Period, limit: Int64, remaining: Int64, resetsIn: Int?
    ) {
        self.quotaID = quotaID
        self.metric = metric
        self.period = period
        self.limit = limit
        self.remaining = remaining
        self.resetsIn = resetsIn
    }
}

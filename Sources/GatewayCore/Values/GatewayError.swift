/// Every error that a caller can receive, with the details that the caller can act on.
///
/// The texts are shown to callers: they never name a secret, another tenant or SQL.
public enum GatewayError: Error, Equatable, Sendable {
    /// 400 `InvalidArgument`: a field is malformed or contradicts another field; `field` is its JSON name.
    case invalidArgument(field: String, reason: String)
    /// 401 `Unauthenticated`: the credential is missing or not accepted. The reason is safe to show, the cause is not.
    case unauthenticated(reason: String, cause: Cause = .unstated)
    /// 401 `ExpiredToken`: the credential was valid and has expired. ``expiredToken`` is this case without a cause.
    case credentialExpired(Cause)
    /// 403 `AccessDenied`: no grant permits the request, or a deny matches. The answer says nothing more.
    case accessDenied
    /// 403 `AccessDenied`: a grant covers the key and the action, but one of its conditions does not hold.
    case conditionFailed(ConditionFailure)
    /// 403 `AccessDenied`: the caller's role does not permit this operation.
    case roleRequired(String)
    /// 403 `OutsideAdminScope`: the caller's role is limited to some scopes, and the operation concerns something
    /// outside of them, or is not for delegated admins at all.
    case outsideAdminScope
    /// 413 `EntityTooLarge`: the stated length exceeds the limit of the grant, in bytes.
    case entityTooLarge(maxBytes: Int64)
    /// 422 `NotEnforceable`: the bucket's scheme cannot bind what a grant or quota demands. The reason names a delivery
    /// that can.
    case notEnforceable(reason: String)
    /// 429 `QuotaExceeded`: a quota has no room for the request.
    case quotaExceeded(QuotaRefusal)
    /// 404 `NoSuchBucket`, `NoSuchGrant` and so on: an admin named a resource that does not exist.
    case notFound(ResourceKind)
    /// 409 `AlreadyExists`: the resource, another one with its unique name, or one that says the same exists already.
    /// `id` identifies one that says the same, if it is known.
    case alreadyExists(ResourceKind, id: String? = nil)
    /// 409 `Conflict`: the change contradicts other rows, for example the deletion of a credential that a bucket uses.
    case conflict(reason: String)
    /// 502 `StoreRefused`: the store refused a request of the gateway. Carries the store's HTTP status and its error
    /// code, if any.
    case storeRefused(status: Int, code: String?)
    /// 412 `PreconditionFailed`: the row is not in the state that the change expects.
    case preconditionFailed
    /// Some items of a request with many are refused, so the whole request is. Status and code are those of the first
    /// item.
    indirect case itemsRefused(first: ItemRefusal, more: [ItemRefusal])
    /// 409 or 422: the request's idempotency key prevents the usual answer.
    case idempotency(IdempotencyRefusal)
    /// 500 `InternalError`: the signed result does not match the decision. This is a fault of the gateway; nothing is
    /// issued.
    case unproven(ProofGap)
    /// 503 `SlowDown`: too many requests to serve in time; retry after `retryAfter` seconds.
    case slowDown(retryAfter: Int, cause: Cause = .unstated)
    /// 503 `SlowDown`: the caller's credential may have been changed before what it was to change was committed, so
    /// nothing was. The API authenticates the caller again and repeats the operation; it answers this only where that
    /// happens every time.
    case staleCaller
    /// 503 `ServiceUnavailable`: PostgreSQL or another required part does not answer; retry after `retryAfter` seconds.
    case unavailable(retryAfter: Int, cause: Cause = .unstated)
    /// 503 `ServiceUnavailable`: the clocks of gateway and database differ too much to issue anything; retry after
    /// `retryAfter` seconds.
    case clockDiffers(retryAfter: Int)
}

extension GatewayError {
    /// 401 `ExpiredToken`, where the request alone tells what has expired.
    public static let expiredToken = GatewayError.credentialExpired(.unstated)

    /// The cause for the log, if the gateway or something it depends on is at fault; otherwise `nil`.
    public var cause: Cause? {
        switch self {
        case .slowDown(_, let cause), .unavailable(_, let cause): cause.description.isEmpty ? nil : cause
        case .storeRefused(let status, let code): "the store answered \(status) \(code ?? "without a code")"
        case .staleCaller: "policy changed under every attempt"
        case .clockDiffers: "the clocks of gateway and database differ"
        case .unproven(let gap): "what was signed does not hold what was decided: \(gap.rawValue)"
        default: nil
        }
    }
}

/// The condition of a matching grant that did not hold, or the switch of its bucket.
public enum ConditionFailure: Equatable, Sendable {
    /// The content type is missing or is not an allowed one.
    case contentType(allowed: [String])
    /// The pattern would cover the content type if browsers ran no scripts in objects of this type.
    case scriptableContentType(String, pattern: String)
    /// The grant requires a Content-MD5.
    case contentMD5Required
    /// The request must state a length, because the grant limits the size or a byte quota applies.
    case contentLengthRequired
    /// The caller's address is outside the grant's networks, or is unknown.
    case sourceAddress
    /// The bucket does not permit redirects to its objects.
    case redirect
    /// The grant does not permit the request to set the content type of the answer.
    case responseContentType
    /// The grant permits downloads as attachments alone, and the request asks for another disposition.
    case forcedDownload
    /// The grant does not permit reading older versions.
    case versions
    /// The grant becomes valid later.
    case notYetValid
    /// The grant is over, or ends within the second of the decision, so that no whole second is left.
    case noLongerValid
}

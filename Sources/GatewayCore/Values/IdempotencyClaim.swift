public import FoundationEssentials

/// The exclusive right to act for an idempotency key. It expires, so that a gateway that crashed does not block others.
public struct IdempotencyClaim: Sendable, Equatable {
    /// Identifier of the key's row: a UUIDv7, created when the key was first sent.
    public var id: UUID
    /// Identifier of this attempt among the requests with the key.
    public var attempt: UUID
    /// Identifiers of the issuances that earlier attempts recorded in the ledger.
    public var issuances: [UUID]

    /// Creates a claim.
    public init(id: UUID, attempt: UUID, issuances: [UUID] = []) {
        self.id = id
        self.attempt = attempt
        self.issuances = issuances
    }
}

/// Why the idempotency key of a request prevents the usual answer.
public enum IdempotencyRefusal: Equatable, Sendable {
    /// 422 `IdempotencyKeyReused`: an earlier request with the key was different.
    case otherRequest
    /// 409 `IdempotencyKeyInUse`: the same request is being processed; retry after `retryAfter` seconds.
    case inFlight(retryAfter: Int)
    /// 409 `IdempotentAnswerGone`: the request took effect, but its answer can no longer be given.
    case answerGone
}

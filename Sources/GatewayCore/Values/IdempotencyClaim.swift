public import Foundation

/// The right to act for an idempotency key. It runs out after a while, so that a gateway that died holds nobody up.
public struct IdempotencyClaim: Sendable, Equatable {
    /// The row of the key; a UUIDv7, made when the key was first sent.
    public var id: UUID
    /// Which of the requests with the key this is.
    public var attempt: UUID
    /// What earlier ones have on record in the ledger.
    public var issuances: [UUID]

    /// Puts it together.
    public init(id: UUID, attempt: UUID, issuances: [UUID] = []) {
        self.id = id
        self.attempt = attempt
        self.issuances = issuances
    }
}

/// Why a request with an idempotency key is not answered as without one.
public enum IdempotencyRefusal: Equatable, Sendable {
    /// 422 `IdempotencyKeyReused`: the key came with another request before.
    case otherRequest
    /// 409 `IdempotencyKeyInUse`: the same request is being answered; ask again after so many seconds.
    case inFlight(retryAfter: Int)
    /// 409 `IdempotentAnswerGone`: it took effect, and its answer cannot be given again.
    case answerGone
}

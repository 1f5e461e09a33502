/// Who changes something, for the audit.
public struct ChangeContext: Sendable {
    /// The admin.
    public var actor: Principal
    /// Identifier of the request, as in logs.
    public var requestID: String
    /// The claim that the change is made for, where the request came with an idempotency key: it is marked in the same
    /// transaction.
    public var claim: IdempotencyClaim?
    /// Whether the audit is to tell of it. What users do with what is theirs does not belong there.
    public var isAudited: Bool

    /// Puts it together.
    public init(actor: Principal, requestID: String, claim: IdempotencyClaim? = nil, isAudited: Bool = true) {
        self.actor = actor
        self.requestID = requestID
        self.claim = claim
        self.isAudited = isAudited
    }
}

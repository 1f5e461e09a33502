/// The origin of a change, for the audit.
public struct ChangeContext: Sendable {
    /// The admin who makes the change.
    public var actor: Principal
    /// Identifier of the request, as in the logs.
    public var requestID: String
    /// The idempotency claim of the request, if it has an idempotency key. The claim is marked in the transaction of
    /// the change.
    public var claim: IdempotencyClaim?
    /// The credential by which the admin came, as in ``Caller/scope``; `nil` for the bootstrap key.
    public var credential: PolicyScope?
    /// What the admin's credential rests on, to be proved as the change is committed; `nil` where nothing has to be.
    public var proof: CredentialProof?
    /// What the admin may see and change.
    public var authority: AdminAuthority
    /// Whether the change is written to the audit. Changes that users make to their own resources are not.
    public var isAudited: Bool

    /// Creates a context.
    public init(
        actor: Principal, requestID: String, claim: IdempotencyClaim? = nil, credential: PolicyScope? = nil,
        proof: CredentialProof? = nil, authority: AdminAuthority = .unlimited, isAudited: Bool = true
    ) {
        self.actor = actor
        self.requestID = requestID
        self.claim = claim
        self.credential = credential
        self.proof = proof
        self.authority = authority
        self.isAudited = isAudited
    }
}

/// What an accepted credential rests on. Whatever commits by it proves that this still holds.
public struct CredentialProof: Sendable, Equatable {
    /// The policy position at which the credential was checked.
    public let position: PolicyPosition
    /// The scopes of the rows that vouch for it.
    public let scopes: [PolicyScope]

    /// Creates a proof from its parts.
    public init(position: PolicyPosition, scopes: [PolicyScope]) {
        self.position = position
        self.scopes = scopes
    }
}

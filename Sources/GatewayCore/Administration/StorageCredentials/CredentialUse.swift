/// The facts that determine whether a storage credential may sign for an endpoint.
public struct CredentialUse: Sendable, Equatable {
    /// An admin, as the audit names one.
    public struct Maker: Sendable, Hashable {
        /// The admin's name.
        public var actor: Principal
        /// The issuer or API key by which the admin came, as in ``ChangeContext/credential``.
        public var credential: PolicyScope?

        /// Names an admin.
        public init(actor: Principal, credential: PolicyScope?) {
            self.actor = actor
            self.credential = credential
        }
    }

    /// Whether the credential already signs for a bucket at the endpoint.
    public var signsForEndpoint: Bool
    /// The admin who created the credential; `nil` if another admin has changed it, or the same one by another issuer
    /// or API key, if the issuer was changed since, or if any bucket, even a deleted one, was ever signed for with it.
    public var soleMaker: Maker?

    /// Creates a summary of a credential's use.
    public init(signsForEndpoint: Bool, soleMaker: Maker?) {
        self.signsForEndpoint = signsForEndpoint
        self.soleMaker = soleMaker
    }

    /// Whether ``soleMaker`` makes a change.
    func isSoleMaker(_ change: ChangeContext) -> Bool {
        soleMaker == Maker(actor: change.actor, credential: change.credential)
    }
}

public import FoundationEssentials

/// The buckets and issuances that depend on a storage credential, and on its previous key.
public struct CredentialDependents: Sendable, Equatable {
    /// Issuances that are still usable.
    public struct Alive: Sendable, Equatable {
        /// The number of issuances.
        public var count: Int64
        /// When the last of them expires; `nil` if there are none.
        public var until: Date?

        /// Creates a count of issuances.
        public init(count: Int64, until: Date?) {
            self.count = count
            self.until = until
        }
    }

    /// The buckets that the credential signs for, sorted by name.
    public var buckets: [BucketName]
    /// The usable issuances that the credential signed, with its current or any earlier key.
    public var alive: Alive
    /// The usable issuances that the previous key signed or may have signed; `nil` if there was no previous key.
    public var aliveOfPreviousKey: Alive?

    /// Creates a summary of dependents.
    public init(buckets: [BucketName], alive: Alive, aliveOfPreviousKey: Alive?) {
        self.buckets = buckets
        self.alive = alive
        self.aliveOfPreviousKey = aliveOfPreviousKey
    }
}

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

/// Finds the buckets and issuances that depend on a storage credential.
public protocol CredentialDependency: Sendable {
    /// Reads the dependents of a credential.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func dependents(of credential: UUID) async throws(GatewayError) -> CredentialDependents

    /// Reads how a credential is used with regard to an endpoint, which must be in the form that buckets store.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func use(of credential: UUID, at endpoint: String) async throws(GatewayError) -> CredentialUse
}

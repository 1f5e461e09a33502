public import Foundation

/// What depends on a storage credential, and on the key that it had before.
public struct CredentialDependents: Sendable, Equatable {
    /// Issuances that can still be used.
    public struct Alive: Sendable, Equatable {
        /// How many.
        public var count: Int64
        /// When the last of them ends; `nil` where there is none.
        public var until: Date?

        /// Puts both together.
        public init(count: Int64, until: Date?) {
            self.count = count
            self.until = until
        }
    }

    /// Buckets that it signs for, in the order of their names.
    public var buckets: [BucketName]
    /// What it signed, by whatever key it had then.
    public var alive: Alive
    /// What the key signed that it had before, or may have signed; `nil` where it never had another.
    public var aliveOfPreviousKey: Alive?

    /// Puts it together.
    public init(buckets: [BucketName], alive: Alive, aliveOfPreviousKey: Alive?) {
        self.buckets = buckets
        self.alive = alive
        self.aliveOfPreviousKey = aliveOfPreviousKey
    }
}

/// What is known of a storage credential that bears on whether it may sign for an endpoint.
public struct CredentialUse: Sendable, Equatable {
    /// Whether there is a bucket at the endpoint that it signs for.
    public var signsForEndpoint: Bool
    /// The admin who made it, where no other has changed it and no bucket was ever signed for with it, also none that is gone.
    public var soleMaker: Principal?

    /// Puts both together.
    public init(signsForEndpoint: Bool, soleMaker: Principal?) {
        self.signsForEndpoint = signsForEndpoint
        self.soleMaker = soleMaker
    }
}

/// Finds what depends on a storage credential.
public protocol CredentialDependency: Sendable {
    /// Reads it.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func dependents(of credential: UUID) async throws(GatewayError) -> CredentialDependents

    /// Reads whether and how it is used, with regard to an endpoint in the form that buckets keep.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func use(of credential: UUID, at endpoint: String) async throws(GatewayError) -> CredentialUse
}

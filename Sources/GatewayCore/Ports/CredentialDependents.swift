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

/// Finds what depends on a storage credential.
public protocol CredentialDependency: Sendable {
    /// Reads it.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func dependents(of credential: UUID) async throws(GatewayError) -> CredentialDependents
}

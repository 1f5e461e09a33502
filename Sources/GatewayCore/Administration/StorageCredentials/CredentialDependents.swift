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

public import FoundationEssentials

/// The issuances that are still usable because of a grant or a storage credential.
public struct BlastRadius: Sendable, Equatable {
    /// The grant, credential or principal that the issuances result from.
    public enum Cause: Sendable, Equatable {
        /// The grant that decided.
        case grant(UUID)
        /// The credential that signed.
        case credential(UUID)
        /// The principal who asked.
        case principal(Principal)
    }

    /// A group of usable issuances with its size and last expiry.
    public struct Share: Sendable, Equatable {
        /// Name of the group: a principal, a bucket, a delivery or an identifier.
        public var name: String
        /// Number of issuances in the group.
        public var count: Int64
        /// When the last of them expires.
        public var aliveUntil: Date

        /// Creates a group.
        public init(name: String, count: Int64, aliveUntil: Date) {
            self.name = name
            self.count = count
            self.aliveUntil = aliveUntil
        }
    }

    /// Temporary credentials that are still valid, counted once however often they were returned.
    public struct Session: Sendable, Equatable {
        /// The principal that holds the credentials.
        public var principal: String
        /// The bucket of the session.
        public var bucket: String
        /// The requested prefix; the scope of the session may be narrower.
        public var prefix: String
        /// The permitted actions.
        public var actions: [String]
        /// The credential that opened the session.
        public var credentialID: UUID
        /// When the session ends.
        public var expiresAt: Date

        /// Creates an entry for a session.
        public init(
            principal: String, bucket: String, prefix: String, actions: [String], credentialID: UUID, expiresAt: Date
        ) {
            self.principal = principal
            self.bucket = bucket
            self.prefix = prefix
            self.actions = actions
            self.credentialID = credentialID
            self.expiresAt = expiresAt
        }
    }

    /// Maximum number of principals listed, those with the most issuances first.
    public static let maxPrincipals = 100
    /// Maximum number of sessions listed, those that live longest first.
    public static let maxSessions = 1000

    /// Number of usable issuances.
    public var count: Int64
    /// When the last of them expires; `nil` if there are none.
    public var aliveUntil: Date?
    /// Number of principals that hold them.
    public var principalCount: Int64
    /// Principals, those with the most issuances first.
    public var principals: [Share]
    /// Numbers by delivery.
    public var deliveries: [Share]
    /// Numbers by bucket.
    public var buckets: [Share]
    /// Numbers by credential that signed. Replacing a credential's keys at the store invalidates its issuances at once.
    public var credentials: [Share]
    /// Numbers by grant that decided, those with the most first; limited to the same number as principals.
    public var grants: [Share]
    /// Number of valid sessions.
    public var sessionCount: Int64
    /// The valid sessions. A session can be based on several grants, and the ledger names only the widest. The report
    /// for a grant therefore lists every session that the grant may have contributed to.
    public var sessions: [Session]

    /// Creates a report from its parts.
    public init(
        count: Int64, aliveUntil: Date?, principalCount: Int64, principals: [Share], deliveries: [Share],
        buckets: [Share], credentials: [Share], grants: [Share], sessionCount: Int64, sessions: [Session]
    ) {
        self.count = count
        self.aliveUntil = aliveUntil
        self.principalCount = principalCount
        self.principals = principals
        self.deliveries = deliveries
        self.buckets = buckets
        self.credentials = credentials
        self.grants = grants
        self.sessionCount = sessionCount
        self.sessions = sessions
    }
}

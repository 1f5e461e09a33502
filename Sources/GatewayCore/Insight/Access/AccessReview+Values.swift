public import FoundationEssentials

/// What a principal may do.
public struct PrincipalAccess: Sendable {
    /// A grant, and why it concerns the principal.
    public struct Item: Sendable {
        /// The grant as stored.
        public var grant: Grant
        /// How the principal is connected to the grant's.
        public var origin: Explanation.Origin
        /// The prefix with variables filled in; `nil` if a variable has no usable value, or its value is not known.
        public var prefix: ExactText?
        /// Whether the grant is in force.
        public var standing: GrantStanding
    }

    /// A quota, and what is left of it.
    public struct Allowance: Sendable {
        /// The quota as stored.
        public var quota: Quota
        /// The principal whose use is counted.
        public var holder: Principal
        /// What is left; `nil` if each member of the principal has a share of its own.
        public var remainder: QuotaRemainder?
    }

    /// All principals that the principal acts as.
    public var members: [Explanation.Member]
    /// The grants of these principals.
    public var grants: Page<Item>
    /// The quotas of these principals, sorted by identifier.
    public var quotas: [Allowance]
}

/// What a principal may do with one key.
public struct KeyAccess: Sendable {
    /// The principal.
    public var principal: Principal
    /// Number of members of a group that rows name; `nil` for other principals.
    public var memberCount: Int64?
    /// What the principal may do, for each action that a grant bears on.
    public var verdicts: [AccessVerdict]
    /// The principal's own grants that cover the key, or may cover it for some identity. Its groups' are not among
    /// them.
    public var grants: [Grant]
}

/// A grant around a prefix.
public struct PrefixAccess: Sendable {
    /// The grant as stored.
    public var grant: Grant
    /// Where its keys lie.
    public var relation: PlacedGrant.Relation
    /// Number of members of the grant's group that rows name; `nil` for other principals.
    public var memberCount: Int64?
    /// Whether the grant is in force.
    public var standing: GrantStanding
}

/// Whether a grant is in force at a time.
public enum GrantStanding: String, Sendable, CaseIterable {
    /// The time lies in the grant's validity.
    case active
    /// The validity has not begun.
    case pending
    /// The validity is over.
    case ended

    /// Compares a grant's validity with a time.
    public init(of grant: Grant, at instant: Date) {
        if let notAfter = grant.notAfter, notAfter <= instant {
            self = .ended
        } else if let notBefore = grant.notBefore, instant < notBefore {
            self = .pending
        } else {
            self = .active
        }
    }
}

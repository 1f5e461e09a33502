public import Foundation

/// A change of policy that is not made yet.
public struct PolicyProposal: Sendable {
    /// A user and a group.
    public struct Membership: Hashable, Sendable {
        /// The group.
        public var group: Principal
        /// The user.
        public var member: Principal

        /// Pairs them.
        public init(group: Principal, member: Principal) {
            self.group = group
            self.member = member
        }
    }

    /// Grants that would be made.
    public var additions: [Grant]
    /// Grants as they would be, by the identifiers of those that are.
    public var replacements: [Grant]
    /// Grants that would go.
    public var removals: [UUID]
    /// Memberships that would be made.
    public var joins: Set<Membership>
    /// Memberships that would go.
    public var leaves: Set<Membership>

    /// Puts a proposal together.
    public init(
        additions: [Grant] = [], replacements: [Grant] = [], removals: [UUID] = [], joins: Set<Membership> = [],
        leaves: Set<Membership> = []
    ) {
        self.additions = additions
        self.replacements = replacements
        self.removals = removals
        self.joins = joins
        self.leaves = leaves
    }

    /// Grants that would no longer be as they are.
    var outgoing: Set<UUID> { Set(removals).union(replacements.map(\.id)) }

    /// Grants that would be new, or otherwise.
    var incoming: [Grant] { additions + replacements }

    /// Groups that a user would be in by rows.
    func groups(of member: Principal, before: [Principal]) -> [Principal] {
        var groups = before.filter { !leaves.contains(Membership(group: $0, member: member)) }
        for join in joins where join.member == member && !groups.contains(join.group) { groups.append(join.group) }
        return groups
    }
}

/// What would become of issuances under a proposal.
public struct Simulation: Sendable {
    /// How many issuances of something would be refused.
    public struct Share: Sendable, Equatable {
        /// A principal, or the identifier of the grant that decided then.
        public var name: String
        /// How many.
        public var count: Int64
    }

    /// An issuance that would be refused.
    public struct Example: Sendable {
        /// The row of the ledger.
        public var issuance: RecordedIssuance
        /// What the caller would be told.
        public var error: GatewayError
        /// The grant that would decide, if any.
        public var decidedBy: Grant?
    }

    /// Most principals and grants that are counted each on their own.
    public static let maxShares = 1000
    /// Most examples.
    public static let maxExamples = 20

    /// Issuances that were looked at: those that the change may bear on.
    public var examined: Int64 = 0
    /// Of those, the ones that are permitted now and would be refused.
    public var refused: Int64 = 0
    /// Refused now as well.
    public var refusedAlready: Int64 = 0
    /// Refused now, and would be permitted.
    public var permittedAnew: Int64 = 0
    /// Would be permitted by another grant than now that asks where the request comes from, which the ledger does not know.
    public var uncertain: Int64 = 0
    /// Whose would be refused, those with most first.
    public var principals: [Share] = []
    /// What grants had decided of those, those with most first.
    public var grants: [Share] = []
    /// Whether there are more principals or grants than are counted each on their own.
    public var hasMoreShares = false
    /// Some that would be refused, of different principals as far as there are.
    public var examples: [Example] = []
    /// The stretch of the ledger.
    public var range: LedgerRange
    /// The oldest issuance that was looked at.
    public var examinedBackTo: Date?
    /// Where to go on where the replay was cut off.
    public var nextPageToken: String?
    /// Number of the last change of policy when it began.
    public var policySequence: Int64 = 0

    /// Begins a simulation.
    init(range: LedgerRange) {
        self.range = range
    }
}

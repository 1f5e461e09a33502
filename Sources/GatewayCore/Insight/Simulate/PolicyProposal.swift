public import FoundationEssentials

/// A change of policy that has not been made.
public struct PolicyProposal: Sendable {
    /// The membership of a user in a group.
    public struct Membership: Hashable, Sendable {
        /// The group of the membership.
        public var group: Principal
        /// The user who is the member.
        public var member: Principal

        /// Creates a membership.
        public init(group: Principal, member: Principal) {
            self.group = group
            self.member = member
        }
    }

    /// Grants to create.
    public var additions: [Grant]
    /// Changed grants; their identifiers are those of the existing grants that they replace.
    public var replacements: [Grant]
    /// Identifiers of grants to remove.
    public var removals: [UUID]
    /// Memberships to create.
    public var joins: Set<Membership>
    /// Memberships to remove.
    public var leaves: Set<Membership>

    /// Creates a proposal; by default it changes nothing.
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

    /// Refuses a proposal that changes nothing, or that contradicts itself.
    ///
    /// - Throws: `invalidArgument` for `add` or `removeMembers`.
    func check() throws(GatewayError) {
        let isEmpty =
            additions.isEmpty && replacements.isEmpty && removals.isEmpty && joins.isEmpty && leaves.isEmpty
        try require(!isEmpty, "add", "The proposal changes nothing.")
        try require(joins.isDisjoint(with: leaves), "removeMembers", "A membership is both added and removed.")
    }

    /// Identifiers of the grants that would be removed or changed.
    var outgoing: Set<UUID> { Set(removals).union(replacements.map(\.id)) }

    /// The grants that would be created, or that replace existing ones.
    var incoming: [Grant] { additions + replacements }

    /// Returns the groups that rows would put a user in.
    func groups(of member: Principal, before: [Principal]) -> [Principal] {
        var groups = before.filter { !leaves.contains(Membership(group: $0, member: member)) }
        for join in joins where join.member == member && !groups.contains(join.group) { groups.append(join.group) }
        return groups
    }
}

/// The effect of a proposal on recorded issuances.
public struct Simulation: Sendable {
    /// The number of issuances of one principal or grant that would be refused.
    public struct Share: Sendable, Equatable {
        /// The principal, or the identifier of the grant that decided at the time.
        public var name: String
        /// Number of issuances.
        public var count: Int64
    }

    /// An issuance that would be refused.
    public struct Example: Sendable {
        /// The row of the ledger.
        public var issuance: RecordedIssuance
        /// The error that the caller would receive.
        public var error: GatewayError
        /// The grant that would decide, if any.
        public var decidedBy: Grant?
    }

    /// Maximum number of principals, and of grants, that are counted individually.
    static let maxShares = 1000
    /// Maximum number of examples.
    static let maxExamples = 20

    /// Number of issuances examined: those that the change may affect.
    public var examined: Int64 = 0
    /// Examined issuances that current policy permits and the proposal would refuse.
    public var refused: Int64 = 0
    /// Examined issuances that current policy already refuses, and the proposal too.
    public var refusedAlready: Int64 = 0
    /// Examined issuances that current policy refuses and the proposal would permit.
    public var permittedAnew: Int64 = 0
    /// Examined issuances whose result is not known: it depends on a source address that another or a changed grant
    /// requires, on a claim that a template uses, on the keys that the holder of temporary credentials needs, because
    /// they would cover other keys than now, on a version or response header that a download asked for, on the content
    /// type of an upload in parts, or on grants that were not read.
    public var uncertain: Int64 = 0
    /// Principals whose issuances would be refused, those with the most first.
    public var principals: [Share] = []
    /// Grants that had decided the issuances that would be refused, those with the most first.
    public var grants: [Share] = []
    /// Whether more principals or grants exist than are counted individually.
    public var hasMoreShares = false
    /// Examples of issuances that would be refused, from different principals where possible.
    public var examples: [Example] = []
    /// The examined period of the ledger.
    public var range: LedgerRange
    /// When the oldest examined issuance was recorded.
    public var examinedBackTo: Date?
    /// Token to continue with if the replay was cut off.
    public var nextPageToken: String?
    /// Number of the last policy change when the simulation began.
    public var policySequence: Int64 = 0

    init(range: LedgerRange) {
        self.range = range
    }
}

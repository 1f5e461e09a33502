public import FoundationEssentials

/// Grants to write and remove together; no two items concern the same grant.
public struct GrantBatch: Sendable {
    /// Grants to create, or to write over the grants with their identifiers. The place of each is its index.
    public var writes: [ProposedGrant]
    /// Grants to remove.
    public var removals: [GrantRemoval]
    /// Whether to only report what would happen.
    public var isDryRun: Bool

    /// Largest number of writes and removals together.
    public static let maxCount = 10_000

    /// Creates a batch.
    public init(writes: [ProposedGrant], removals: [GrantRemoval], isDryRun: Bool) {
        self.writes = writes
        self.removals = removals
        self.isDryRun = isDryRun
    }

    /// Largest number of refused items that an error names.
    private static var maxRefusals: Int { 100 }

    /// Checks that all grants to write lie inside what an admin may change.
    ///
    /// - Throws: `itemsRefused`.
    func check(within reach: AdminReach) throws(GatewayError) {
        let outside = writes.lazy.filter { !$0.grant.isChangeable(within: reach) }.prefix(Self.maxRefusals)
        let refusals = outside.map { ItemRefusal(.item(array: "writes", index: $0.place), .outsideAdminScope) }
        if let error = GatewayError(refusing: Array(refusals)) { throw error }
    }

    /// Checks the number of items that a client sent.
    ///
    /// - Throws: `invalidArgument` for `writes` if there are none, or for `deletes` if there are too many.
    public static func checkCounts(writes: Int?, deletes: Int?) throws(GatewayError) {
        try require(
            writes != nil || deletes != nil, "writes", "The request contains no writes and no deletes.")
        try require(
            (writes ?? 0) + (deletes ?? 0) <= maxCount, "deletes",
            "At most 10,000 items are allowed, writes and deletes together.")
    }
}

/// A grant that a client wants to create or change.
public struct ProposedGrant: Sendable {
    /// Index of the item, or number of the line.
    public var place: Int
    /// Identifier of the grant to change; `nil` for a new grant. In an import, `nil` also leaves open which existing
    /// grant the line matches.
    public var id: UUID?
    /// The revision that the grant must have now; `nil` accepts any.
    public var revision: UUID?
    /// The desired grant; its identifier and origin are ignored.
    public let grant: Grant

    /// Creates a proposed grant.
    public init(place: Int, id: UUID?, revision: UUID? = nil, grant: Validated<Grant>) {
        self.place = place
        self.id = id
        self.revision = revision
        self.grant = grant.row
    }
}

/// A grant to remove.
public struct GrantRemoval: Sendable {
    /// Identifier of the grant.
    public var id: UUID
    /// The revision that the grant must have now; `nil` accepts any.
    public var revision: UUID?

    /// Creates a removal.
    public init(id: UUID, revision: UUID? = nil) {
        self.id = id
        self.revision = revision
    }
}

/// The identifiers that the items of a batch have named so far: no two items may concern the same grant.
public struct NamedGrants: Sendable {
    private var ids: Set<UUID> = []

    /// Starts with none.
    public init() {}

    /// Notes the identifier of an item.
    ///
    /// - Throws: `invalidArgument` for `id` if another item has named the same.
    public mutating func add(_ id: UUID) throws(GatewayError) {
        try require(ids.insert(id).inserted, "id", "Another item refers to the same grant.")
    }
}

/// The result of a batch, or its expected result in a dry run.
public struct GrantBatchResult: Sendable, Equatable {
    /// The result of writing one grant.
    public struct Write: Sendable, Equatable {
        /// Identifier of the grant; `nil` if a dry run would have created it.
        public var id: UUID?
        /// The outcome, or the expected outcome.
        public var outcome: GrantOutcome
        /// The new revision; in a dry run, the current one.
        public var revision: UUID?

        /// Creates the result of a write.
        public init(id: UUID?, outcome: GrantOutcome, revision: UUID?) {
            self.id = id
            self.outcome = outcome
            self.revision = revision
        }
    }

    /// Identifier of the change in the history of grants; `nil` if nothing changed, and in a dry run.
    public var change: UUID?
    /// Numbers of grants by outcome.
    public var counts: GrantCounts
    /// Results in the order of the writes.
    public var writes: [Write]

    /// Creates the result of a batch.
    public init(change: UUID?, counts: GrantCounts, writes: [Write]) {
        self.change = change
        self.counts = counts
        self.writes = writes
    }
}

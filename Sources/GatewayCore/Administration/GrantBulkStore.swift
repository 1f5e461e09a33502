public import FoundationEssentials

/// Reads and changes many grants at once.
///
/// A change is one transaction, whatever the number of grants. It writes one audit row per grant and one entry in the
/// policy log. Once answered, the whole change is in force on every gateway; if it fails, no part of it ever is.
public protocol GrantBulkStore: Sendable {
    /// Writes and removes grants. Each grant named must lie inside what the change may see, or it does not exist; its
    /// old state must lie inside what it may change. ``GrantBatches`` has checked the new one.
    ///
    /// - Throws: `itemsRefused`, `conflict`, `slowDown`, `unavailable`. If it throws, nothing was changed.
    func apply(_ batch: GrantBatch, by change: ChangeContext) async throws(GatewayError) -> GrantBatchResult

    /// Opens a reader of all grants inside that match the filters, in list order and as of one instant.
    ///
    /// - Throws: `invalidArgument` for an unknown filter, `slowDown`, `unavailable`.
    func export(_ filters: [String: String], within reach: AdminReach) async throws(GatewayError) -> GrantReader

    /// Changes grants to match imported lines, for an admin without limits.
    ///
    /// - Parameters:
    ///   - options: The grants that the import may change, and how.
    ///   - change: The admin and request that import.
    ///   - renew: Authenticates the admin again. It is called after the last line, and whenever the credential may have
    ///     been changed before the commit.
    ///   - nextLines: Returns the next lines in order; `nil` after the last. An error that it throws ends the import.
    /// - Throws: The errors of `renew` and `nextLines`, and those of ``apply(_:by:)``. If it throws, nothing was
    ///   changed.
    func importGrants(
        _ options: GrantImportOptions, by change: ChangeContext,
        renewing renew: @Sendable () async throws(GatewayError) -> ChangeContext,
        _ nextLines: @Sendable () async throws -> [ProposedGrant]?
    ) async throws -> GrantImportResult
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

/// The effect of a change on a grant.
public enum GrantOutcome: String, Sendable, CaseIterable {
    case created
    case updated
    case deleted
    case unchanged
}

/// Numbers of grants by outcome.
public struct GrantCounts: Sendable, Equatable {
    private var counts: [GrantOutcome: Int]

    /// Creates counts; outcomes not named count 0.
    public init(_ counts: [GrantOutcome: Int] = [:]) {
        self.counts = counts
    }

    /// Accesses the number of grants with an outcome.
    public subscript(outcome: GrantOutcome) -> Int {
        get { counts[outcome, default: 0] }
        set { counts[outcome] = newValue }
    }

    /// Whether any grant is created, updated or deleted.
    public var isChange: Bool { self[.created] + self[.updated] + self[.deleted] > 0 }

    /// Compares all counts; a missing count equals 0.
    public static func == (left: Self, right: Self) -> Bool {
        GrantOutcome.allCases.allSatisfy { left[$0] == right[$0] }
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

/// Reads grants page by page.
public struct GrantReader: Sendable {
    /// Returns the next grants; an empty array after the last.
    public let next: @Sendable () async throws(GatewayError) -> [Grant]

    /// Creates a reader from a function.
    public init(next: @escaping @Sendable () async throws(GatewayError) -> [Grant]) {
        self.next = next
    }
}

/// Options of an import.
public struct GrantImportOptions: Sendable {
    /// The grants that an import may touch. Every member that is set must match; an absent member matches all grants.
    public struct Scope: Sendable, Equatable {
        /// Only grants of this principal.
        public var principal: Principal?
        /// Only grants in this bucket.
        public var bucket: BucketName?
        /// Only grants with exactly this prefix.
        public var prefix: ExactText?

        /// Creates a scope; by default it contains all grants.
        public init(principal: Principal? = nil, bucket: BucketName? = nil, prefix: ExactText? = nil) {
            self.principal = principal
            self.bucket = bucket
            self.prefix = prefix
        }

        /// Checks that a grant is in the scope; throws `invalidArgument` with the member that does not match.
        public func check(_ grant: Grant) throws(GatewayError) {
            let isInside = [
                ("principal", principal == nil || principal == grant.principal),
                ("bucket", bucket == nil || bucket == grant.bucket),
                ("prefix", prefix == nil || prefix == ExactText(grant.prefix.text)),
            ]
            for (field, holds) in isInside {
                try require(holds, field, "The grant does not match the parameters of the import.")
            }
        }
    }

    /// Largest number of lines in an import.
    public static let maxLines = 10_000_000

    /// The grants that the import may touch; lines about other grants are refused.
    public var scope: Scope
    /// Whether to remove grants in the scope that no line describes.
    public var prunes: Bool
    /// Whether to only report what would happen.
    public var isDryRun: Bool
    /// Maximum number of samples per outcome in the result.
    public var sampleLimit: Int

    /// Creates options.
    public init(scope: Scope = Scope(), prunes: Bool, isDryRun: Bool, sampleLimit: Int = 10) {
        self.scope = scope
        self.prunes = prunes
        self.isDryRun = isDryRun
        self.sampleLimit = sampleLimit
    }

    /// Checks the number of a line.
    ///
    /// - Throws: `invalidArgument` for `line`.
    public func check(line: Int) throws(GatewayError) {
        try require(line <= Self.maxLines, "line", "There are more than 10,000,000 lines.")
    }

    /// Checks an import after its last line. A file that was cut off, or never written, must not end all access.
    ///
    /// - Throws: `invalidArgument` for `prune` if the import would remove grants and has no lines.
    public func checkEnd(hasLines: Bool) throws(GatewayError) {
        try require(hasLines || !prunes, "prune", "An import with 'prune' must have lines.")
    }
}

/// The result of an import, or its expected result in a dry run.
public struct GrantImportResult: Sendable, Equatable {
    /// The change of one grant.
    public struct Sample: Sendable, Equatable {
        /// The outcome, or the expected outcome.
        public var outcome: GrantOutcome
        /// Number of the line that describes the grant; `nil` for a removed grant.
        public var line: Int?
        /// The grant before the import; `nil` if it is new.
        public var before: Grant?
        /// The grant after the import, with the identifier and origin of `before`, if any; `nil` if it is removed.
        public var after: Grant?

        /// Creates a sample.
        public init(outcome: GrantOutcome, line: Int?, before: Grant?, after: Grant?) {
            self.outcome = outcome
            self.line = line
            self.before = before
            self.after = after
        }
    }

    /// Identifier of the change in the history of grants; `nil` if nothing changed, and in a dry run.
    public var change: UUID?
    /// Numbers of grants by outcome.
    public var counts: GrantCounts
    /// Samples of the changes.
    public var samples: [Sample]

    /// Creates the result of an import.
    public init(change: UUID?, counts: GrantCounts, samples: [Sample]) {
        self.change = change
        self.counts = counts
        self.samples = samples
    }
}

public import Foundation

/// Changes and reads many grants at once.
///
/// However many grants it touches, a change is one transaction, with an audit row for each grant and one line in the log of
/// policy changes: it is in force on every gateway once it is answered, or nothing of it ever is.
public protocol GrantBulkStore: Sendable {
    /// Writes and removes grants.
    ///
    /// - Throws: `itemsRefused` (nothing was changed), `conflict`, `slowDown`, `unavailable`.
    func apply(_ batch: GrantBatch, by change: ChangeContext) async throws(GatewayError) -> GrantBatchResult

    /// Opens all grants that some filters leave, in the order of lists, as they are at one instant.
    ///
    /// - Throws: `invalidArgument` for a filter that there is not, `slowDown`, `unavailable`.
    func export(_ filters: [String: String]) async throws(GatewayError) -> GrantReader

    /// Brings the grants to what some lines say.
    ///
    /// - Parameters:
    ///   - options: What may be touched.
    ///   - change: Who imports.
    ///   - nextLines: Reads the next lines, in order; `nil` after the last. What it throws ends the import.
    /// - Throws: What `nextLines` throws, and as ``apply(_:by:)``; nothing was changed then.
    func importGrants(
        _ options: GrantImportOptions, by change: ChangeContext,
        _ nextLines: @Sendable () async throws -> [ProposedGrant]?
    ) async throws -> GrantImportResult
}

/// A grant as somebody wants it to be.
public struct ProposedGrant: Sendable {
    /// Where it stands: index of the item, or number of the line.
    public var place: Int
    /// The grant that it is; `nil` for a new one, in an import also for whichever it turns out to be.
    public var id: UUID?
    /// The revision that the grant must be of now; any where `nil`.
    public var revision: UUID?
    /// What it shall be; identifier and origin in it are not used.
    public var grant: Grant

    /// Puts it together.
    public init(place: Int, id: UUID?, revision: UUID? = nil, grant: Grant) {
        self.place = place
        self.id = id
        self.revision = revision
        self.grant = grant
    }
}

/// A grant that shall go.
public struct GrantRemoval: Sendable {
    /// The grant.
    public var id: UUID
    /// The revision that it must be of now; any where `nil`.
    public var revision: UUID?

    /// Puts it together.
    public init(id: UUID, revision: UUID? = nil) {
        self.id = id
        self.revision = revision
    }
}

/// Grants to be written and removed together; no two items are about the same grant.
public struct GrantBatch: Sendable {
    /// Grants to be made, or written over those with their identifiers; their places are their indices.
    public var writes: [ProposedGrant]
    /// Grants to be removed.
    public var removals: [GrantRemoval]
    /// Only finds out what would happen.
    public var isDryRun: Bool

    /// Puts it together.
    public init(writes: [ProposedGrant], removals: [GrantRemoval], isDryRun: Bool) {
        self.writes = writes
        self.removals = removals
        self.isDryRun = isDryRun
    }
}

/// What happens to a grant.
public enum GrantOutcome: String, Sendable, CaseIterable {
    case created
    case updated
    case deleted
    case unchanged
}

/// How many grants something happens to.
public struct GrantCounts: Sendable, Equatable {
    private var counts: [GrantOutcome: Int]

    /// Puts counts together; what is not named counts 0.
    public init(_ counts: [GrantOutcome: Int] = [:]) {
        self.counts = counts
    }

    /// The number of grants with an outcome.
    public subscript(outcome: GrantOutcome) -> Int {
        get { counts[outcome, default: 0] }
        set { counts[outcome] = newValue }
    }

    /// Whether anything changes.
    public var isChange: Bool { self[.created] + self[.updated] + self[.deleted] > 0 }

    /// Compares number by number.
    public static func == (left: Self, right: Self) -> Bool {
        GrantOutcome.allCases.allSatisfy { left[$0] == right[$0] }
    }
}

/// What a batch has done, or would do.
public struct GrantBatchResult: Sendable, Equatable {
    /// What happened to one grant that was written.
    public struct Write: Sendable, Equatable {
        /// The grant; `nil` where a dry run would have made it.
        public var id: UUID?
        /// What happened to it, or would.
        public var outcome: GrantOutcome
        /// The revision that it is of now; in a dry run that it was of.
        public var revision: UUID?

        /// Puts it together.
        public init(id: UUID?, outcome: GrantOutcome, revision: UUID?) {
            self.id = id
            self.outcome = outcome
            self.revision = revision
        }
    }

    /// Identifier of the change in the history of grants; `nil` where there was nothing to change, and in a dry run.
    public var change: UUID?
    /// How many grants met which fate.
    public var counts: GrantCounts
    /// In the order of the writes.
    public var writes: [Write]

    /// Puts it together.
    public init(change: UUID?, counts: GrantCounts, writes: [Write]) {
        self.change = change
        self.counts = counts
        self.writes = writes
    }
}

/// Reads grants page by page.
public struct GrantReader: Sendable {
    /// The next grants; none after the last.
    public let next: @Sendable () async throws(GatewayError) -> [Grant]

    /// Makes a reader of a function.
    public init(next: @escaping @Sendable () async throws(GatewayError) -> [Grant]) {
        self.next = next
    }
}

/// What an import may do.
public struct GrantImportOptions: Sendable {
    /// Which grants may be touched: all that are like this. An absent member leaves all.
    public struct Scope: Sendable, Equatable {
        /// Those of one principal.
        public var principal: Principal?
        /// Those in one bucket.
        public var bucket: BucketName?
        /// Those with just this prefix.
        public var prefix: ExactText?

        /// Puts a scope together.
        public init(principal: Principal? = nil, bucket: BucketName? = nil, prefix: ExactText? = nil) {
            self.principal = principal
            self.bucket = bucket
            self.prefix = prefix
        }

        /// Refuses a grant outside, by the member that puts it there.
        public func check(_ grant: Grant) throws(GatewayError) {
            let isInside = [
                ("principal", principal == nil || principal == grant.principal),
                ("bucket", bucket == nil || bucket == grant.bucket),
                ("prefix", prefix == nil || prefix == ExactText(grant.prefix.text)),
            ]
            for (field, holds) in isInside {
                try require(holds, field, "The grant is not among those that the query leaves.")
            }
        }
    }

    /// Only grants within are touched; lines about others are refused.
    public var scope: Scope
    /// Removes the grants that no line is about.
    public var prunes: Bool
    /// Only finds out what would happen.
    public var isDryRun: Bool
    /// Samples of each outcome in the answer, at most.
    public var sampleLimit: Int

    /// Puts options together.
    public init(scope: Scope = Scope(), prunes: Bool, isDryRun: Bool, sampleLimit: Int = 10) {
        self.scope = scope
        self.prunes = prunes
        self.isDryRun = isDryRun
        self.sampleLimit = sampleLimit
    }
}

/// What an import has done, or would do.
public struct GrantImportResult: Sendable, Equatable {
    /// What happens to one grant.
    public struct Sample: Sendable, Equatable {
        /// What happened to it, or would.
        public var outcome: GrantOutcome
        /// The line that says so; a grant that goes has none.
        public var line: Int?
        /// What it was; `nil` where it is new.
        public var before: Grant?
        /// What it shall be, with the identifier and origin of `before` where there is one; `nil` where it goes.
        public var after: Grant?

        /// Puts it together.
        public init(outcome: GrantOutcome, line: Int?, before: Grant?, after: Grant?) {
            self.outcome = outcome
            self.line = line
            self.before = before
            self.after = after
        }
    }

    /// Identifier of the change in the history of grants; `nil` where there was nothing to change, and in a dry run.
    public var change: UUID?
    /// How many grants met which fate.
    public var counts: GrantCounts
    /// Some of what changes.
    public var samples: [Sample]

    /// Puts it together.
    public init(change: UUID?, counts: GrantCounts, samples: [Sample]) {
        self.change = change
        self.counts = counts
        self.samples = samples
    }
}

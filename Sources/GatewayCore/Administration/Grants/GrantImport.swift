public import FoundationEssentials

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

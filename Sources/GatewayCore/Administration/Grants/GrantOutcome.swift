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

public import FoundationEssentials

/// A position in the log of policy changes: how far a reader has read it.
///
/// A number alone is not enough: numbers may repeat after a failover, tags do not.
public struct PolicyPosition: Sendable {
    /// Number of the last change read. Numbers have no gaps.
    public let sequence: Int64
    /// Random tag of that change.
    public let tag: UUID
    /// The history of the database in which it was read; `nil` where nothing rests on it.
    private let history: DatabaseHistory?

    /// Creates a position.
    public init(sequence: Int64, tag: UUID, in history: DatabaseHistory? = nil) {
        self.sequence = sequence
        self.tag = tag
        self.history = history
    }

    /// The position that proves what rests on this one: itself or, once its history has ended, one that no log has.
    ///
    /// Ask for it when the statement with the proof is written, over a session that is in use: a session to the new
    /// primary is not used before the history has ended.
    public var toProve: PolicyPosition { history?.hasEnded == true ? .nowhere : self }

    /// The first change has the number 1.
    private static let nowhere = PolicyPosition(
        sequence: 0, tag: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))

    /// Returns the same position, read in a history.
    func read(in history: DatabaseHistory) -> PolicyPosition {
        PolicyPosition(sequence: sequence, tag: tag, in: history)
    }

    /// Whether a reader at this position can reach another position by reading on. A number that repeats or is smaller
    /// means that the log is a different one, or that the gateway's memory was cleared.
    func mayPrecede(_ later: PolicyPosition) -> Bool {
        self == later || sequence < later.sequence
    }
}

extension PolicyPosition: Hashable {
    /// Whether both are the same place in a log, in whatever history they were read.
    public static func == (left: PolicyPosition, right: PolicyPosition) -> Bool {
        left.sequence == right.sequence && left.tag == right.tag
    }

    /// Hashes the place in the log.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(sequence)
        hasher.combine(tag)
    }
}

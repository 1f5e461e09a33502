import Synchronization

/// What one primary committed, until another one takes its place that may lack the end of it.
///
/// Both may have a position of the log of policy, while rows that were read with it are newer than what both share. So
/// a ``PolicyPosition`` remembers the history that it was read in, and proves nothing once that has ended.
public final class DatabaseHistory: Sendable {
    private let isOver = Atomic(false)

    /// Creates a history that goes on.
    public init() {}

    /// Whether another history has taken its place.
    public var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    /// Notes that another history takes its place. Call it before any session to the new primary is used.
    public func end() {
        isOver.store(true, ordering: .releasing)
    }
}

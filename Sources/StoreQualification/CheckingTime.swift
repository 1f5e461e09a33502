import Synchronization

/// The time for the checks of a qualification, which can be ended early.
final class CheckingTime: Sendable {
    /// The time for the removal of what was made, which is always tried.
    private static let cleaning = Duration.seconds(60)

    private let deadline: Mutex<ContinuousClock.Instant>

    init(_ patience: Duration) { deadline = Mutex(ContinuousClock.now + patience) }

    /// Ends it, unless it is over.
    func end() {
        let now = ContinuousClock.now
        deadline.withLock { $0 = min($0, now) }
    }

    /// Whether no more checks may be made.
    var isOver: Bool { ContinuousClock.now >= last }
    /// Whether no more may be removed.
    var isCleaningOver: Bool { ContinuousClock.now >= last + Self.cleaning }

    private var last: ContinuousClock.Instant { deadline.withLock { $0 } }
}

import Synchronization

/// What rounds of upkeep put off because others hold locks, and when the log was last told of it.
///
/// The log is told from the second round in a row on, because the first may have met another gateway that does the same
/// work. After that, it is told once an hour.
final class PutOffWork: Sendable {
    /// Time between two lines about the same work.
    private static let interval = Duration.seconds(3600)

    private struct Last {
        let work: String
        /// When the log was told of it; `nil` if it was not.
        var toldAt: ContinuousClock.Instant?
    }

    private let last = Mutex<Last?>(nil)

    /// Notes that a round put work off.
    ///
    /// - Returns: Whether the log should be told now.
    func isToBeTold(of work: String, at now: ContinuousClock.Instant) -> Bool {
        last.withLock { last in
            guard let known = last, known.work == work else {
                last = Last(work: work, toldAt: nil)
                return false
            }
            if let toldAt = known.toldAt, now - toldAt < Self.interval { return false }
            last = Last(work: work, toldAt: now)
            return true
        }
    }

    /// Notes that a round put nothing off.
    func forget() {
        last.withLock { $0 = nil }
    }
}

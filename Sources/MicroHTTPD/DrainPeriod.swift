import Synchronization

/// The time in which the servers of a process finish the answers under way. It begins when the first of them shuts
/// down, so that servers which stop one after another do not take it several times.
public final class DrainPeriod: Sendable {
    private let length: Duration
    private let end = Mutex<ContinuousClock.Instant?>(nil)

    /// Creates a period of a length.
    public init(_ length: Duration) { self.length = length }

    /// Returns when a server that shuts down now must have finished. A server that comes late still has a second.
    func begin() -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        let end = end.withLock { end in
            let instant = end ?? now + length
            end = instant
            return instant
        }
        return max(end, now + min(.seconds(1), length))
    }
}

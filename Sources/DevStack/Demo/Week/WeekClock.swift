public import FoundationEssentials
import Synchronization

/// The clock of the demo's week. The gateway that issues the rows of the past and the database that records them both
/// follow it.
public final class WeekClock: Sendable {
    private let instant: Mutex<Date>
    private let follow: @Sendable (Date) async throws -> Void

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - instant: The first time that it shows.
    ///   - follow: Sets the database's clock to a time.
    public init(at instant: Date, follow: @escaping @Sendable (Date) async throws -> Void) {
        self.instant = Mutex(instant)
        self.follow = follow
    }

    /// The time that the clock shows.
    public var now: Date { instant.withLock { $0 } }

    /// Sets the clock forward, and the database's with it. It never goes back.
    func move(to date: Date) async throws {
        let date = instant.withLock { instant in
            instant = max(instant, date)
            return instant
        }
        try await follow(date)
    }
}

import Synchronization

/// The memory that all request bodies use together, and its limit.
///
/// Bytes count from their arrival until the request is over. The last quarter is reserved for short bodies, so that
/// long ones cannot keep them out.
public final class BodyMemory: Sendable {
    /// The limit in bytes.
    public let limit: Int
    private let taken = Atomic<Int>(0)

    /// The bytes that are in use.
    public var used: Int { taken.load(ordering: .relaxed) }

    /// Sets the limit.
    public init(limit: Int = 256 << 20) {
        self.limit = limit
    }

    /// Counts bytes that have arrived; `false` if they exceed the limit, in which case they do not count.
    func take(_ count: Int, isLarge: Bool = false) -> Bool {
        let sum = taken.wrappingAdd(count, ordering: .relaxed).newValue
        guard sum > (isLarge ? limit - limit / 4 : limit) else { return true }
        giveBack(count)
        return false
    }

    /// Releases counted bytes.
    func giveBack(_ count: Int) {
        taken.wrappingSubtract(count, ordering: .relaxed)
    }
}

import Synchronization

/// How much memory the bodies of requests take together, and how much they may.
///
/// Bytes count from their arrival until the request is over. The last quarter is for bodies that are
/// short, so that long ones do not keep them out.
public final class BodyMemory: Sendable {
    /// Bytes that there may be.
    public let limit: Int
    private let taken = Atomic<Int>(0)

    /// Allows so many bytes.
    public init(limit: Int = 256 << 20) {
        self.limit = limit
    }

    /// Counts bytes that have arrived; `false`, and they do not count, where they are too many.
    func take(_ count: Int, isLarge: Bool = false) -> Bool {
        let sum = taken.wrappingAdd(count, ordering: .relaxed).newValue
        guard sum > (isLarge ? limit - limit / 4 : limit) else { return true }
        giveBack(count)
        return false
    }

    /// Bytes that were counted are there no more.
    func giveBack(_ count: Int) {
        taken.wrappingSubtract(count, ordering: .relaxed)
    }
}

import Glibc

/// A point on the system's monotonic clock, which is read several times for each request: in nanoseconds, as C has it.
struct Moment: Comparable, Sendable {
    private let nanoseconds: Int64

    /// The moment of the call.
    static var now: Moment {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func < (left: Moment, right: Moment) -> Bool { left.nanoseconds < right.nanoseconds }

    /// From `earlier` to `later`.
    static func - (later: Moment, earlier: Moment) -> Duration { .nanoseconds(later.nanoseconds - earlier.nanoseconds) }
}

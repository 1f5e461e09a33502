import Glibc

/// A point on the system's monotonic clock in nanoseconds, as C reports it. It is read several times per request.
struct Moment: Comparable, Sendable {
    private let nanoseconds: Int64

    /// The current moment.
    static var now: Moment {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func < (left: Moment, right: Moment) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The time from `earlier` to `later`.
    static func - (later: Moment, earlier: Moment) -> Duration { .nanoseconds(later.nanoseconds - earlier.nanoseconds) }
}

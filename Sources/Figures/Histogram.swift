import Synchronization

/// Counts observations by size. An observation is two atomic additions.
///
/// Sizes are whole numbers of a small unit, such as nanoseconds, so that sums need no lock.
public final class Histogram: Sendable {
    /// The observations up to a moment. Those that arrive meanwhile may be in the counts and not in the sum.
    public struct Reading: Sendable {
        /// For each bound, how many observations are not above it; the last number is that of all observations.
        public let cumulativeCounts: [Int]
        /// The sum of all observations, in the unit of the bounds.
        public let sum: Double
    }

    /// Upper bounds of the buckets in the unit that readers see, ascending, without infinity.
    public let bounds: [Double]
    private let limits: [Int64]
    private let perUnit: Double
    /// Observations per bucket; the last bucket is above all bounds.
    private let counts: [Counter]
    private let sum = Atomic<Int64>(0)

    /// Makes an empty histogram.
    ///
    /// - Parameters:
    ///   - bounds: Upper bounds of the buckets, ascending, without infinity.
    ///   - perUnit: Number of small units, in which observations are given, in one unit of the bounds.
    public init(bounds: [Double], perUnit: Double = 1) {
        self.bounds = bounds
        self.perUnit = perUnit
        limits = bounds.map { Int64(($0 * perUnit).rounded()) }
        counts = (0...bounds.count).map { _ in Counter() }
    }

    /// Makes an empty histogram of durations, in seconds from half a millisecond to ten.
    public static func ofDurations() -> Histogram {
        Histogram(
            bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
            perUnit: 1_000_000_000)
    }

    /// Counts an observation, in small units.
    public func observe(_ size: Int64) {
        var bucket = 0
        while bucket < limits.count, size > limits[bucket] { bucket &+= 1 }
        counts[bucket].add()
        sum.wrappingAdd(size, ordering: .relaxed)
    }

    /// Counts a duration, in a histogram of durations.
    public func observe(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        observe(seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }

    /// The present state.
    public var reading: Reading {
        var total = 0
        let cumulative = counts.map { counter in
            total += counter.value
            return total
        }
        return Reading(cumulativeCounts: cumulative, sum: Double(sum.load(ordering: .relaxed)) / perUnit)
    }
}

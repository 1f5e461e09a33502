import FoundationEssentials

/// A rate limit: a burst that may be used at once, refilled at a constant rate.
struct TokenBucket: Sendable {
    private let burst: Double
    private let perSecond: Double
    private var left: Double
    private var countedAt: Date?

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - burst: Number of uses that a full bucket holds.
    ///   - perSecond: Number of uses that each second adds.
    init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
        left = burst
    }

    /// Takes one use; returns `false` if none is left.
    mutating func take(at now: Date) -> Bool {
        left = count(at: now)
        countedAt = now
        guard left >= 1 else { return false }
        left -= 1
        return true
    }

    /// Tests whether the bucket has all its uses, so that a new one would be the same.
    func isFull(at now: Date) -> Bool { count(at: now) >= burst }

    /// Number of uses at an instant.
    private func count(at now: Date) -> Double {
        // A clock that was set back adds nothing.
        let passed = countedAt.map { max(0, now.timeIntervalSince($0)) } ?? 0
        return min(burst, left + passed * perSecond)
    }
}

import FoundationEssentials

/// A rate limit: a burst that may be used at once, refilled at a constant rate.
struct Allowance: Sendable {
    private let burst: Double
    private let perSecond: Double
    private var left: Double
    private var countedAt: Date?

    /// Creates a full allowance.
    ///
    /// - Parameters:
    ///   - burst: Number of uses that a full allowance holds.
    ///   - perSecond: Number of uses that each second adds.
    init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
        left = burst
    }

    /// Takes one use; returns `false` if none is left.
    mutating func take(at now: Date) -> Bool {
        // A clock that was set back adds nothing.
        let passed = countedAt.map { max(0, now.timeIntervalSince($0)) } ?? 0
        countedAt = now
        left = min(burst, left + passed * perSecond)
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}

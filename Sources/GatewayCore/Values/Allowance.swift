import Foundation

/// How often something may be done: so often at once, and so often in a second after that.
struct Allowance: Sendable {
    private let burst: Double
    private let perSecond: Double
    private var left: Double
    private var countedAt: Date?

    /// Starts full.
    init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
        left = burst
    }

    /// Takes one; `false` where none is left.
    mutating func take(at now: Date) -> Bool {
        // A clock that was set back gives nothing.
        let passed = countedAt.map { max(0, now.timeIntervalSince($0)) } ?? 0
        countedAt = now
        left = min(burst, left + passed * perSecond)
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}

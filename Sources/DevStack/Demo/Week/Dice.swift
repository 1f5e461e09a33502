import Synchronization

/// Numbers that look random and are the same for the same seed (SplitMix64).
public final class Dice: Sendable {
    private let state: Mutex<UInt64>

    /// Creates dice from a seed.
    init(seed: UInt64) {
        state = Mutex(seed)
    }

    /// Returns bytes that look random; they protect nothing.
    public func bytes(count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
    }

    /// Returns 64 bits.
    func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9e37_79b9_7f4a_7c15
            var bits = state
            bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
            bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
            return bits ^ (bits >> 31)
        }
    }

    /// Returns a number in 0..<1.
    func fraction() -> Double { Double(next() >> 11) / 0x1p53 }

    /// Returns a number of a range.
    func roll(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(fraction() * Double(range.count))
    }

    /// Returns true with a probability.
    func chance(_ probability: Double) -> Bool { fraction() < probability }

    /// Returns an element, or `nil` if there is none.
    func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[roll(0...elements.count - 1)]
    }

    /// Returns an index; an index with twice the weight comes twice as often.
    func index(weights: [Double]) -> Int {
        var rest = fraction() * weights.reduce(0, +)
        for (index, weight) in weights.enumerated() {
            rest -= weight
            if rest < 0 { return index }
        }
        return weights.count - 1
    }
}

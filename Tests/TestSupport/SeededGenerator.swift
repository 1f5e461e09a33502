/// Random numbers that a seed reproduces (SplitMix64).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Makes a generator from a seed.
    public init(seed: UInt64) { state = seed }

    /// Makes a generator from a seed that several generators share.
    ///
    /// - Parameter stream: Distinguishes generators with the same seed.
    public init(seed: UInt64, stream: Int) {
        state = seed &+ UInt64(truncatingIfNeeded: stream) &* 0xD134_2543_DE82_EF95
        _ = next()
    }

    /// Returns the next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns `true` once in `times` calls on average.
    public mutating func once(in times: Int) -> Bool { Int.random(in: 0..<times, using: &self) == 0 }
}

/// How long a secret remains valid beside the one that replaces it.
public struct RotationOverlap: Sendable, Equatable {
    /// The longest overlap, in seconds: a week.
    public static let maxSeconds: Int64 = 604_800

    /// Seconds after the rotation; 0 ends the old secret at once.
    public let seconds: Int

    /// Checks an overlap that a client sent.
    ///
    /// - Parameter seconds: The overlap; `nil` ends the old secret at once.
    /// - Throws: `invalidArgument` for `overlapSeconds`.
    public init(seconds: Int64?) throws(GatewayError) {
        let seconds = seconds ?? 0
        try require(
            0...Self.maxSeconds ~= seconds, "overlapSeconds", "The overlap must be 0 to 604,800 seconds.")
        self.seconds = Int(seconds)
    }
}

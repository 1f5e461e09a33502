public import FoundationEssentials

/// A range of the ledger, by time of recording.
public struct LedgerRange: Sendable, Equatable {
    /// Start of the range, inclusive.
    public var from: Date
    /// End of the range, exclusive; `nil` for no end.
    public var to: Date?

    /// Creates a range from the ends that a request states.
    ///
    /// - Parameters:
    ///   - from: Start, inclusive; if `nil`, the range starts `span` seconds before its end.
    ///   - to: End, exclusive; `nil` for no end, in which case `span` counts back from `now`.
    ///   - span: Length of a range without a stated start, in seconds.
    ///   - now: Current time.
    /// - Throws: `invalidArgument` if the start is not before the end.
    public init(from: Date?, to: Date?, span: TimeInterval, now: Date) throws(GatewayError) {
        if let from, let to, from >= to {
            throw .invalidArgument(field: "from", reason: "'from' must be earlier than 'to'.")
        }
        self.from = from ?? (to ?? now).addingTimeInterval(-span)
        self.to = to
    }

    /// Lets the range begin at a whole hour or day (UTC), so that sums tell all of it.
    mutating func beginEarlier(at step: TimeInterval) {
        from = Date(timeIntervalSince1970: (from.timeIntervalSince1970 / step).rounded(.down) * step)
    }

    /// One minute in seconds.
    static let minute: TimeInterval = 60
    /// One hour in seconds.
    static let hour: TimeInterval = 3600
    /// One day in seconds.
    public static let day: TimeInterval = 86_400
    /// Longest possible lifetime of anything issued, plus one day; in seconds.
    public static let longestLife: TimeInterval = 8 * day
}

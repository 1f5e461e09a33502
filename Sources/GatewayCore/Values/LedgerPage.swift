public import FoundationEssentials

/// A page of the ledger, with the time range that was searched.
public struct LedgerPage<Item: Sendable>: Sendable {
    /// The rows of this page.
    public var items: [Item]
    /// Token that continues the list; `nil` on the last page.
    public var nextPageToken: String?
    /// The time range that was searched.
    public var range: LedgerRange

    /// Creates a page.
    public init(items: [Item], nextPageToken: String?, range: LedgerRange) {
        self.items = items
        self.nextPageToken = nextPageToken
        self.range = range
    }
}

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

    /// One day in seconds.
    public static let day: TimeInterval = 86_400
    /// Longest possible lifetime of anything issued, plus one day; in seconds.
    public static let longestLife: TimeInterval = 8 * day
}

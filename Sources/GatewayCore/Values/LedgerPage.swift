public import Foundation

/// A page of the ledger, and the stretch that was looked at.
public struct LedgerPage<Item: Sendable>: Sendable {
    /// The rows.
    public var items: [Item]
    /// Where to go on; `nil` on the last page.
    public var nextPageToken: String?
    /// What was looked at.
    public var range: LedgerRange

    /// Puts a page together.
    public init(items: [Item], nextPageToken: String?, range: LedgerRange) {
        self.items = items
        self.nextPageToken = nextPageToken
        self.range = range
    }
}

/// A stretch of the ledger, by the time of recording.
public struct LedgerRange: Sendable, Equatable {
    /// First instant.
    public var from: Date
    /// First instant after it; open where absent.
    public var to: Date?

    /// Takes the ends that were asked for.
    ///
    /// - Parameters:
    ///   - from: First instant; so long before the end where absent.
    ///   - to: First instant after the stretch; open where absent.
    ///   - span: What a stretch without a beginning covers, in seconds.
    ///   - now: The clock.
    /// - Throws: `invalidArgument` where the beginning is not before the end.
    public init(from: Date?, to: Date?, span: TimeInterval, now: Date) throws(GatewayError) {
        if let from, let to, from >= to {
            throw .invalidArgument(field: "from", reason: "The beginning must lie before the end.")
        }
        self.from = from ?? (to ?? now).addingTimeInterval(-span)
        self.to = to
    }

    /// A day in seconds.
    public static let day: TimeInterval = 86_400
    /// As long as anything that was issued can be alive, and a day.
    public static let longestLife: TimeInterval = 8 * day
}

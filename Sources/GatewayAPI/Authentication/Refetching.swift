import FoundationEssentials

/// When the documents of issuers are fetched again: key sets, and discovery documents.
enum Refetching {
    /// Age in seconds after which a document counts only if no newer one can be fetched: a key may have been withdrawn.
    static let maxAge: TimeInterval = 600
    /// Shortest time in seconds between two fetches of a document that is there, even where a `kid` is unknown.
    static let minInterval: TimeInterval = 60
    /// Seconds until a fetch is repeated that brought nothing.
    static let retry: TimeInterval = 5

    /// Whether an interval has passed. A clock that was set back counts as passed; otherwise it would stop fetches
    /// until it had caught up.
    static func hasPassed(_ interval: TimeInterval, since start: Date?, at time: Date) -> Bool {
        guard let start else { return true }
        return !(0..<interval ~= time.timeIntervalSince(start))
    }
}

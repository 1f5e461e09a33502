public import Figures

/// Counts the credentials that were recorded, by delivery and signing scheme.
public final class IssuanceCounts: Sendable {
    private static let deliveries = Delivery.allCases
    private static let schemes = Bucket.Scheme.allCases

    private let counters = (0..<(deliveries.count * schemes.count)).map { _ in Counter() }

    /// Makes all counters at 0.
    public init() {}

    /// The counter of a delivery and a scheme.
    public subscript(delivery: Delivery, scheme: Bucket.Scheme) -> Counter {
        let row = Self.deliveries.firstIndex(of: delivery) ?? 0
        let column = Self.schemes.firstIndex(of: scheme) ?? 0
        return counters[row * Self.schemes.count + column]
    }
}

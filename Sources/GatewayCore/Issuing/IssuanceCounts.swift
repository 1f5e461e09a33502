public import Figures

/// Counts the credentials that were recorded, by delivery, signing scheme and action.
public final class IssuanceCounts: Sendable {
    private static let deliveries = Delivery.allCases
    private static let schemes = LinkScheme.allCases

    private static let actions = Action.allCases

    private let counters = (0..<(deliveries.count * schemes.count * actions.count)).map { _ in Counter() }

    /// Makes all counters at 0.
    public init() {}

    /// The counter of a delivery, a scheme and an action; of several actions, the first.
    public subscript(delivery: Delivery, scheme: LinkScheme, action: Action) -> Counter {
        let row = Self.deliveries.firstIndex(of: delivery) ?? 0
        let column = Self.schemes.firstIndex(of: scheme) ?? 0
        let layer = Self.actions.firstIndex(of: action) ?? 0
        return counters[(row * Self.schemes.count + column) * Self.actions.count + layer]
    }
}

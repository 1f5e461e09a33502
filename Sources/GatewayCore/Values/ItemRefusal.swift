/// Why one item of many is refused.
public struct ItemRefusal: Sendable, Equatable {
    /// Where the item stands in what was sent.
    public enum Place: Sendable, Equatable {
        /// An item of an array, counted from 0.
        case item(array: String, index: Int)
        /// A line of a stream, counted from 1.
        case line(Int)
    }

    /// Where it stands.
    public var place: Place
    /// What is wrong with it.
    public var error: GatewayError

    /// Puts both together.
    public init(_ place: Place, _ error: GatewayError) {
        self.place = place
        self.error = error
    }
}

extension GatewayError {
    /// What is wrong with one line of a stream.
    public static func line(_ number: Int, _ error: GatewayError) -> GatewayError {
        .itemsRefused(first: ItemRefusal(.line(number), error), more: [])
    }

    /// What is wrong with some items; `nil` where there are none.
    public init?(refusing items: [ItemRefusal]) {
        guard let first = items.first else { return nil }
        self = .itemsRefused(first: first, more: Array(items.dropFirst()))
    }
}

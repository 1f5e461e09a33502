/// The refusal of one item in a request with many.
public struct ItemRefusal: Sendable, Equatable {
    /// The position of the item in the request.
    public enum Place: Sendable, Equatable {
        /// An item of an array, counted from 0.
        case item(array: String, index: Int)
        /// A line of a stream, counted from 1.
        case line(Int)
    }

    /// The position of the item.
    public var place: Place
    /// The reason for the refusal.
    public var error: GatewayError

    /// Creates a refusal.
    public init(_ place: Place, _ error: GatewayError) {
        self.place = place
        self.error = error
    }
}

extension GatewayError {
    /// Returns the error for one line of a stream, counted from 1.
    public static func line(_ number: Int, _ error: GatewayError) -> GatewayError {
        .itemsRefused(first: ItemRefusal(.line(number), error), more: [])
    }

    /// Creates the error for refused items; `nil` if there are none.
    public init?(refusing items: [ItemRefusal]) {
        guard let first = items.first else { return nil }
        self = .itemsRefused(first: first, more: Array(items.dropFirst()))
    }
}

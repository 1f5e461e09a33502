/// A value that few instances of a type have. It takes memory of its own where there is one, and 8 bytes elsewhere.
enum Rare<Value> {
    case none
    indirect case some(Value)

    /// Holds a value, if there is one.
    init(_ value: Value?) {
        self = if let value { .some(value) } else { .none }
    }

    /// The value; `nil` if there is none.
    var value: Value? {
        if case .some(let value) = self { value } else { nil }
    }
}

extension Rare: Sendable where Value: Sendable {}
extension Rare: Equatable where Value: Equatable {}

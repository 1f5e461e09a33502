/// A JSON value by itself.
public enum JSONValue: Sendable, Equatable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// The digits as sent, so that no integer loses precision on the way.
    case number(String)
    /// A string without its quotes and escapes.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Members in the order sent; their names are distinct.
    case object([Member])

    /// A named value of an object.
    public struct Member: Sendable, Equatable {
        /// The name without its quotes and escapes.
        public let name: String
        /// The value.
        public let value: JSONValue

        /// Names a value.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// What the value is, as an error names it, for example `a string`.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

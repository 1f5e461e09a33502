/// A standalone JSON value.
public enum JSONValue: Sendable, Equatable {
    /// The value `null`.
    case null
    /// The value `true` or `false`.
    case bool(Bool)
    /// A number as the digits that were sent, so that integers keep their precision.
    case number(String)
    /// A string, without its quotes and with escapes decoded.
    case string(String)
    /// An array of values, in order.
    case array([JSONValue])
    /// An object's members, in the order sent; their names are distinct.
    case object([Member])

    /// A member of an object.
    public struct Member: Sendable, Equatable {
        /// The name, without its quotes and with escapes decoded.
        public let name: String
        /// The value of the member.
        public let value: JSONValue

        /// Creates a member.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The kind of the value as used in error messages, such as `a string`.
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

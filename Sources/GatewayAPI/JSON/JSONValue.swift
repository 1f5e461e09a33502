/// A JSON text, read strictly.
enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The digits as sent, so that no integer loses precision on the way.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// Members in the order sent; their names are distinct.
    case object([Member])

    struct Member: Sendable, Equatable {
        let name: String
        let value: JSONValue
    }

    /// What the value is, as an error names it.
    var kind: String {
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

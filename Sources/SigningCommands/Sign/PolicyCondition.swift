import Signing

/// A condition of a POST policy in its JSON form: an object of one field, or an array that begins with an operator.
struct PolicyCondition: Decodable {
    let condition: PostPolicy.Condition

    init(from decoder: any Decoder) throws {
        if let object = try? decoder.singleValueContainer().decode([String: String].self) {
            guard let (field, value) = object.first, object.count == 1 else {
                throw Self.unknown(decoder, "An object of a condition has one field.")
            }
            condition = .exactly(field: field, value: value)
            return
        }
        var parts = try decoder.unkeyedContainer()
        let name = try parts.decode(String.self)
        switch name {
        case "eq": condition = .equals(field: try Self.field(&parts), value: try parts.decode(String.self))
        case "starts-with":
            condition = .startsWith(field: try Self.field(&parts), prefix: try parts.decode(String.self))
        case "in": condition = .oneOf(field: try Self.field(&parts), values: try parts.decode([String].self))
        case "not-in": condition = .noneOf(field: try Self.field(&parts), values: try parts.decode([String].self))
        case "content-length-range":
            let (lower, upper) = (try parts.decode(Int64.self), try parts.decode(Int64.self))
            guard lower <= upper else { throw Self.unknown(decoder, "The range is empty.") }
            condition = .contentLengthRange(lower...upper)
        default: throw Self.unknown(decoder, "No such operator.")
        }
        guard parts.isAtEnd else { throw Self.unknown(decoder, "Too many parts.") }
    }

    private static func field(_ parts: inout any UnkeyedDecodingContainer) throws -> String {
        let name = try parts.decode(String.self)
        guard name.hasPrefix("$") else {
            throw DecodingError.dataCorruptedError(in: parts, debugDescription: "A field begins with $.")
        }
        return String(name.dropFirst())
    }

    private static func unknown(_ decoder: any Decoder, _ reason: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: reason))
    }
}

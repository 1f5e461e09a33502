import Foundation
import LibYAML

/// A JSON value that distinguishes whole numbers from other numbers, and numbers from booleans.
@dynamicMemberLookup
public enum JSONNode: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONNode])
    case object([String: JSONNode])

    /// Parses a JSON document.
    public init(json bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(JSONNode.self, from: Data(bytes))
    }

    /// Parses a YAML document with content that JSON can express.
    public init(yaml text: String) throws {
        self.init(try YAMLValue(yaml: text))
    }

    private init(_ value: YAMLValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .string(let text): self = .string(text)
        case .sequence(let items): self = .array(items.map { JSONNode($0) })
        case .mapping(let members):
            self = .object(Dictionary(uniqueKeysWithValues: members.map { ($0.name, JSONNode($0.value)) }))
        }
    }

    /// A member of an object; `nil` where there is none.
    public subscript(name: String) -> JSONNode? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// A member of an object, under a name that is a Swift identifier.
    public subscript(dynamicMember name: String) -> JSONNode? { self[name] }

    /// The text of a string; `nil` for anything else.
    public var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// A whole number, also one written as `1.0`; `nil` for anything else.
    public var integer: Int? {
        switch self {
        case .integer(let number): number
        case .number(let number): Int(exactly: number)
        default: nil
        }
    }

    /// Any number; `nil` for anything else.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// A boolean; `nil` for anything else.
    public var flag: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }

    /// The items of an array; none for anything else.
    public var items: [JSONNode] {
        guard case .array(let items) = self else { return [] }
        return items
    }

    /// The members of an object; none for anything else.
    public var members: [String: JSONNode] {
        guard case .object(let members) = self else { return [:] }
        return members
    }

    /// The same value without members that are `null`, which count as absent.
    public var withoutNulls: JSONNode {
        switch self {
        case .array(let items): .array(items.map(\.withoutNulls))
        case .object(let members): .object(members.filter { $1 != .null }.mapValues(\.withoutNulls))
        default: self
        }
    }

    /// The document's bytes.
    public var bytes: [UInt8] {
        get throws { Array(try JSONEncoder().encode(self)) }
    }
}

extension JSONNode: Codable {
    /// Decodes any value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONNode].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONNode].self))
        }
    }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONNode: CustomStringConvertible {
    /// The value as JSON.
    public var description: String {
        (try? bytes).map { String(decoding: $0, as: UTF8.self) } ?? "?"
    }
}

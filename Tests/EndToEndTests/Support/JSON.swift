import Foundation

/// A JSON value, written as a literal and read by subscripts.
enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Int)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Parses a document.
    init(_ bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(bytes))
    }

    /// The document's bytes.
    var bytes: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(self))
        }
    }

    /// A member of an object; `null` where there is none.
    subscript(name: String) -> JSON {
        get {
            guard case .object(let members) = self else { return .null }
            return members[name] ?? .null
        }
        set {
            guard case .object(var members) = self else { return }
            members[name] = newValue == .null ? nil : newValue
            self = .object(members)
        }
    }

    /// The text of a string; `nil` for anything else.
    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The value of a number; `nil` for anything else.
    var integer: Int? {
        guard case .number(let number) = self else { return nil }
        return number
    }

    /// The items of an array; none for anything else.
    var items: [JSON] {
        guard case .array(let items) = self else { return [] }
        return items
    }

    /// The members of an object; none for anything else.
    var members: [String: JSON] {
        guard case .object(let members) = self else { return [:] }
        return members
    }

    /// This object with other members set or, by `null`, removed.
    func with(_ changes: [String: JSON]) -> JSON {
        var changed = self
        for (name, value) in changes { changed[name] = value }
        return changed
    }
}

extension JSON: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSON: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .number(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

import Foundation

extension ContractValue: Decodable {
    /// Reads any value. Members are sorted by name.
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
        } else if let value = try? container.decode([ContractValue].self) {
            self = .array(value)
        } else {
            let members = try container.decode([String: ContractValue].self)
            self = .object(members.sorted { $0.key < $1.key }.map { Member($0.key, $0.value) })
        }
    }

    /// Reads a JSON document; `nil` for any other text.
    public init?(json bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(ContractValue.self, from: Data(bytes)) else { return nil }
        self = value
    }

    /// The value as JSON.
    ///
    /// - Parameter isIndented: Whether each member is on a line of its own.
    public func json(isIndented: Bool = false) -> String {
        var text = ""
        write(to: &text, isIndented ? "\n" : nil)
        return text
    }

    /// - Parameter line: What a new line begins with; `nil` to write everything on one line.
    private func write(to text: inout String, _ line: String?) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += "\(value)"
        case .integer(let value): text += "\(value)"
        case .number(let value): text += "\(value)"
        case .string(let value): Self.write(value, to: &text)
        case .array(let items):
            Self.write(items, "[", "]", to: &text, line) { item, line, text in item.write(to: &text, line) }
        case .object(let members):
            Self.write(members, "{", "}", to: &text, line) { member, line, text in
                Self.write(member.name, to: &text)
                text += line == nil ? ":" : ": "
                member.value.write(to: &text, line)
            }
        }
    }

    private static func write<Part>(
        _ parts: [Part], _ open: String, _ close: String, to text: inout String, _ line: String?,
        part: (Part, String?, inout String) -> Void
    ) {
        text += open
        let inner = line.map { $0 + "  " }
        for (index, one) in parts.enumerated() {
            if index > 0 { text += "," }
            text += inner ?? ""
            part(one, inner, &text)
        }
        if !parts.isEmpty { text += line ?? "" }
        text += close
    }

    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..<" ", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

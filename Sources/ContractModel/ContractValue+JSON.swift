import FoundationEssentials
import StrictJSON

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

    /// The value as JSON, which a terminal may show.
    ///
    /// - Parameter isIndented: Whether each member is on a line of its own.
    public func json(isIndented: Bool = false) -> String {
        var json = JSONWriter(escaping: .terminal)
        write(to: &json)
        return String(decoding: isIndented ? json.indentedBytes : json.bytes, as: UTF8.self)
    }

    private func write(to json: inout JSONWriter) {
        switch self {
        case .null: json.value(.null)
        case .bool(let flag): json.bool(flag)
        case .integer(let number): json.integer(number)
        case .number(let number): json.value(.number("\(number)"))
        case .string(let text): json.string(text)
        case .array(let items): json.array(items) { json, item in item.write(to: &json) }
        case .object(let members):
            json.object { json in
                for member in members {
                    json.name(member.name)
                    member.value.write(to: &json)
                }
            }
        }
    }
}

public import StrictJSON

extension ContractValue {
    /// Reads a JSON document.
    ///
    /// - Throws: ``JSONError`` if the bytes are not exactly one JSON value, by the rules of ``JSONReader``.
    public init(json bytes: [UInt8]) throws(JSONError) {
        self.init(try JSONReader.read(bytes))
    }

    /// Takes the value of a JSON document.
    public init(_ text: JSONText) {
        self.init(text.root.value)
    }

    private init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .number(let digits): self = Int(digits).map { ContractValue.integer($0) } ?? .number(digits)
        case .string(let text): self = .string(text)
        case .array(let items): self = .array(items.map { ContractValue($0) })
        case .object(let members): self = .object(members.map { Member($0.name, ContractValue($0.value)) })
        }
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
        case .number(let digits): json.value(.number(digits))
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

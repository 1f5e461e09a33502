import LibYAML

extension ContractValue {
    /// Reads a YAML document that JSON could express too.
    ///
    /// - Throws: ``ContractFlaw`` if the text is not such a document.
    init(yaml text: String) throws(ContractFlaw) {
        do throws(YAMLFlaw) { self.init(try YAMLValue(yaml: text)) } catch {
            throw ContractFlaw(reason: error.description)
        }
    }

    private init(_ value: YAMLValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number("\(number)")
        case .string(let text): self = .string(text)
        case .sequence(let items): self = .array(items.map { ContractValue($0) })
        case .mapping(let members): self = .object(members.map { Member($0.name, ContractValue($0.value)) })
        }
    }
}

/// A contract that cannot be read.
public struct ContractFlaw: Error, Sendable {
    /// What is wrong with it.
    public let reason: String
}

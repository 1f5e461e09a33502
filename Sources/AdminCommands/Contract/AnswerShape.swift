import ContractModel

/// The members that the contract gives an answer, at each depth: the order in which they are shown.
struct AnswerShape {
    private let schema: ContractValue
    private let model: ContractModel

    /// Describes the answers of a schema.
    init(_ schema: ContractValue, _ model: ContractModel) {
        self.schema = model.resolved(schema)
        self.model = model
    }

    private var properties: [ContractValue.Member] {
        let parts = ["allOf", "anyOf", "oneOf"].flatMap { schema[$0]?.items ?? [] }
        return (schema["properties"]?.members ?? []) + parts.flatMap { AnswerShape($0, model).properties }
    }

    /// The names of the members, each once.
    var names: [String] {
        var seen: Set<String> = []
        return properties.map(\.name).filter { seen.insert($0).inserted }
    }

    /// Returns the shape of a member, or of the items of a member that is a list.
    func inside(_ name: String) -> AnswerShape {
        let member = AnswerShape(properties.first { $0.name == name }?.value ?? .null, model)
        return member.schema["items"].map { AnswerShape($0, model) } ?? member
    }
}

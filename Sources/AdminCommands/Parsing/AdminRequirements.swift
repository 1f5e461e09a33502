import ContractModel

/// What the body of a request must have, by the contract.
struct AdminRequirements {
    private let schema: ContractValue
    private let model: ContractModel
    private let outer: String

    /// Reads the requirements of a command's body.
    init(of command: AdminOperation, _ model: ContractModel) {
        self.init(model.resolved(command.json?.schema ?? .null), model, within: "")
    }

    private init(_ schema: ContractValue, _ model: ContractModel, within outer: String) {
        self.schema = schema
        self.model = model
        self.outer = outer
    }

    private var required: [String] { schema.requiredNames }

    /// Sets of members of which a body must have one.
    private var alternatives: [[String]] {
        let either = schema.alternatives
        let isOneOfAll = schema["minProperties"]?.integer == 1 && required.isEmpty && either.isEmpty
        return isOneOfAll ? (schema["properties"]?.members ?? []).map { [$0.name] } : either
    }

    private func option(_ member: String) -> String { "--" + AdminNames.option(outer + member) }

    private func below(_ member: String) -> AdminRequirements? {
        let inner = model.resolved(schema["properties"]?[member] ?? .null)
        guard outer.isEmpty, inner["properties"]?.members.isEmpty == false else { return nil }
        return AdminRequirements(inner, model, within: member + ".")
    }

    /// Returns what a body lacks, one sentence for each requirement.
    func missing(in body: ContractValue) -> [String] {
        var mistakes: [String] = []
        for name in required {
            if let inner = below(name) {
                mistakes += inner.missing(in: body[name] ?? .object([]))
            } else if body[name] == nil {
                mistakes.append("'\(option(name))' is required.")
            }
        }
        for member in schema["properties"]?.members ?? [] where !required.contains(member.name) {
            guard let inner = below(member.name), let value = body[member.name] else { continue }
            mistakes += inner.missing(in: value)
        }
        return mistakes + missingAlternative(in: body)
    }

    private func missingAlternative(in body: ContractValue) -> [String] {
        let alternatives = alternatives
        guard !alternatives.isEmpty, !alternatives.contains(where: { $0.allSatisfy { body[$0] != nil } }) else {
            return []
        }
        // The one that was begun is meant.
        let begun = alternatives.map { names in names.count { body[$0] != nil } }
        let most = begun.max() ?? 0
        if most > 0, begun.count(where: { $0 == most }) == 1, let meant = begun.firstIndex(of: most) {
            return alternatives[meant].filter { body[$0] == nil }.map { "'\(option($0))' is required." }
        }
        if alternatives.allSatisfy({ $0.count == 1 }) {
            return ["One of \(alternatives.flatMap { $0 }.map(option).spoken("and")) is required."]
        }
        let choices = alternatives.map { names in names.map(option).spoken("and") }
        return ["Required: \(choices.joined(separator: ", or "))."]
    }

    /// Returns what help says about members that are required, by the names of their options.
    func marks() -> [String: String] {
        var marks: [String: String] = [:]
        let alternatives = alternatives
        for member in schema["properties"]?.members ?? [] {
            let name = AdminNames.option(outer + member.name)
            if required.contains(member.name) {
                marks[name] = "required"
            } else if alternatives.contains(where: { $0.contains(member.name) }) {
                let others = alternatives.filter { !$0.contains(member.name) }.compactMap(\.first).map(option)
                marks[name] = others.isEmpty ? "required" : "required unless " + others.plain("or")
            }
            guard let inner = below(member.name) else { continue }
            let isNeeded = marks[name] == "required"
            for (name, mark) in inner.marks() {
                marks[name] = isNeeded ? mark : mark + " with other '--\(AdminNames.option(member.name)).*'"
            }
        }
        return marks
    }
}

extension Array where Element == String {
    /// The texts as a sentence lists them: `a, b or c`.
    fileprivate func plain(_ word: String) -> String {
        guard count > 1 else { return first ?? "" }
        return dropLast().joined(separator: ", ") + " \(word) " + (last ?? "")
    }
}

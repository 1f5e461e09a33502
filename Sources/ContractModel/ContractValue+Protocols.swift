extension ContractValue {
    /// The same contract without the operations of protocols of other clients, which have `x-sluice-protocol`. Paths,
    /// tags and components that no other operation needs go with them.
    public var withoutProtocols: ContractValue {
        var contract = self
        let paths = (self["paths"]?.members ?? []).map { path in
            Member(path.name, .object(path.value.members.filter { $0.value["x-sluice-protocol"] == nil }))
        }.filter { !$0.value.members.isEmpty }
        contract["paths"] = .object(paths)

        let operations = paths.flatMap { $0.value.members.map(\.value) }
        let used = Set(operations.flatMap { $0["tags"]?.items ?? [] }.compactMap(\.text))
        if let tags = self["tags"]?.items {
            contract["tags"] = .array(tags.filter { used.contains($0["name"]?.text ?? "") })
        }
        if let components = self["components"] {
            contract["components"] = nil
            let needed = components.needed(by: contract)
            let kinds = components.members.map { kind in
                let kept = kind.value.members.filter { needed.contains(Self.reference(kind.name, $0.name)) }
                return Member(kind.name, .object(kept))
            }
            contract["components"] = .object(kinds.filter { !$0.value.members.isEmpty })
        }
        return contract
    }

    /// References to those of these components that a document needs, be it by way of others.
    private func needed(by document: ContractValue) -> Set<String> {
        var components: [String: ContractValue] = [:]
        for kind in members {
            for component in kind.value.members {
                components[Self.reference(kind.name, component.name)] = component.value
            }
        }
        var found: Set<String> = []
        var waiting = [document]
        while let node = waiting.popLast() {
            for reference in node.references where found.insert(reference).inserted {
                if let component = components[reference] { waiting.append(component) }
            }
        }
        return found
    }

    /// What this part of a contract refers to, with the security schemes that it names.
    private var references: [String] {
        switch self {
        case .array(let items): items.flatMap(\.references)
        case .object(let members): members.flatMap { Self.references(of: $0) }
        default: []
        }
    }

    private static func references(of member: Member) -> [String] {
        if member.name == "$ref", let reference = member.value.text { return [reference] }
        guard member.name == "security" else { return member.value.references }
        let schemes = member.value.items.flatMap(\.members).map { reference("securitySchemes", $0.name) }
        return schemes + member.value.references
    }

    private static func reference(_ kind: String, _ name: String) -> String { "#/components/\(kind)/\(name)" }
}

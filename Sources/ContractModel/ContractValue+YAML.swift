internal import Yams

extension ContractValue {
    /// Reads a YAML document that JSON could express too.
    ///
    /// - Throws: ``ContractFlaw`` if the text is not such a document.
    init(yaml text: String) throws(ContractFlaw) {
        let node: Node?
        do { node = try Yams.compose(yaml: text) } catch { throw ContractFlaw(reason: "\(error)") }
        guard let node else { throw ContractFlaw(reason: "The document is empty.") }
        self.init(node)
    }

    private init(_ node: Node) {
        switch node {
        case .mapping(let mapping):
            self = .object(mapping.map { Member($0.key.string ?? "", ContractValue($0.value)) })
        case .sequence(let sequence):
            self = .array(sequence.map { ContractValue($0) })
        case .scalar(let scalar):
            // A quoted scalar is always a text.
            self = scalar.style == .plain || scalar.style == .any ? Self.plain(node) : .string(scalar.string)
        case .alias:
            // The composer has already replaced aliases.
            self = .null
        }
    }

    private static func plain(_ node: Node) -> ContractValue {
        let text = node.string ?? ""
        if let number = Int(text) { return .integer(number) }
        if let flag = node.bool { return .bool(flag) }
        if node.null != nil { return .null }
        return node.float.map { .number($0) } ?? .string(text)
    }
}

/// A contract that cannot be read.
public struct ContractFlaw: Error, Sendable {
    /// What is wrong with it.
    public let reason: String
}

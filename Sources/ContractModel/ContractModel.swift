import EmbeddedFiles

/// The API's contract, parsed.
public struct ContractModel: Sendable {
    /// One operation.
    public struct Operation: Sendable {
        /// The HTTP method, in upper case.
        public let method: String
        /// The template, with `{parameters}`.
        public let path: String
        /// The operation's id, which is stable.
        public let id: String
        /// A summary in one line.
        public let summary: String
        /// A description in Markdown, empty if there is none.
        public let description: String
        /// Who may call it: `admin`, `auditor`, `user`, `user-or-ticket`, `ticket`, `web-identity`, `store` or
        /// `public`.
        public let access: String
        /// Whether callers whose roles are limited to scopes may call it too.
        public let isDelegated: Bool
        /// The group of the operation.
        public let tag: String
        /// Parameters in the path, the query and the header.
        public let parameters: [Parameter]
        /// Bodies by media type.
        public let request: [Content]
        /// Answers by status.
        public let responses: [Response]
    }

    /// A parameter of an operation.
    public struct Parameter: Sendable {
        /// Its name.
        public let name: String
        /// `path`, `query` or `header`.
        public let place: String
        /// Whether it is required.
        public let isRequired: Bool
        /// A description in Markdown.
        public let description: String
        /// The schema of its value.
        public let schema: ContractValue
    }

    /// A body in one media type.
    public struct Content: Sendable {
        /// The media type.
        public let type: String
        /// Its schema, which may be a reference.
        public let schema: ContractValue
        /// Examples, by name.
        public let examples: [ContractValue.Member]
    }

    /// An answer.
    public struct Response: Sendable {
        /// The status.
        public let status: String
        /// A description in Markdown.
        public let description: String
        /// Names and descriptions of its header fields.
        public let headers: [(name: String, description: String)]
        /// Bodies by media type.
        public let content: [Content]
    }

    /// The whole document.
    public let root: ContractValue
    /// Every operation, in the order of the document.
    public let operations: [Operation]

    /// The contract that is embedded in the program.
    public static func embedded() throws(ContractFlaw) -> ContractModel {
        try ContractModel(yaml: String(decoding: EmbeddedFile.contract.bytes, as: UTF8.self))
    }

    /// Reads a contract.
    ///
    /// - Throws: ``ContractFlaw`` if the text is not a valid contract.
    public init(yaml: String) throws(ContractFlaw) {
        let root = try ContractValue(yaml: yaml)
        self.root = root
        operations = (root["paths"]?.members ?? []).flatMap { path in
            path.value.members.map { Operation(path: path.name, method: $0.name, $0.value, in: root) }
        }
    }

    /// A node, or the node that it refers to.
    public func resolved(_ node: ContractValue) -> ContractValue { node.resolved(in: root) }

    /// The name of the component that a node refers to, for example `Grant`.
    public func referredName(of node: ContractValue) -> String? {
        node["$ref"]?.text.map { String($0.split(separator: "/").last ?? "") }
    }
}

extension ContractValue {
    /// A node of a document, or the node that it refers to.
    func resolved(in root: ContractValue) -> ContractValue {
        var node = self
        // Only circular references form longer chains.
        for _ in 0..<32 {
            guard let reference = node["$ref"]?.text else { return node }
            node = reference.dropFirst(2).split(separator: "/").reduce(root) { $0[String($1)] ?? .null }
        }
        return .null
    }
}

extension ContractModel.Operation {
    fileprivate init(path: String, method: String, _ body: ContractValue, in root: ContractValue) {
        self.path = path
        self.method = method.uppercased()
        id = body["operationId"]?.text ?? ""
        summary = body["summary"]?.text ?? ""
        description = body["description"]?.text ?? ""
        access = body["x-sluice-access"]?.text ?? ""
        isDelegated = body["x-sluice-delegated"]?.flag ?? false
        tag = body["tags"]?.items.first?.text ?? ""
        parameters = (body["parameters"]?.items ?? []).map { ContractModel.Parameter($0.resolved(in: root)) }
        let request = (body["requestBody"] ?? .null).resolved(in: root)
        self.request = (request["content"]?.members ?? []).map { ContractModel.Content($0, in: root) }
        responses = (body["responses"]?.members ?? []).map { status in
            let response = status.value.resolved(in: root)
            return ContractModel.Response(
                status: status.name, description: response["description"]?.text ?? "",
                headers: (response["headers"]?.members ?? []).map {
                    ($0.name, $0.value.resolved(in: root)["description"]?.text ?? "")
                },
                content: (response["content"]?.members ?? []).map { ContractModel.Content($0, in: root) })
        }
    }
}

extension ContractModel.Parameter {
    fileprivate init(_ node: ContractValue) {
        name = node["name"]?.text ?? ""
        place = node["in"]?.text ?? ""
        isRequired = node["required"]?.flag ?? false
        description = node["description"]?.text ?? ""
        schema = node["schema"] ?? .null
    }
}

extension ContractModel.Content {
    fileprivate init(_ media: ContractValue.Member, in root: ContractValue) {
        type = media.name
        schema = media.value["schema"] ?? .null
        examples = (media.value["examples"]?.members ?? []).compactMap { example in
            example.value.resolved(in: root)["value"].map { ContractValue.Member(example.name, $0) }
        }
    }
}

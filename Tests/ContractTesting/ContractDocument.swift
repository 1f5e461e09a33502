public import Foundation

/// `openapi/sluice.yaml`, read for tests.
public struct ContractDocument: Sendable {
    /// One operation.
    public struct Operation: Sendable {
        /// In capitals.
        public let method: String
        /// The template, with `{parameters}`.
        public let path: String
        /// What the contract says of it.
        public let body: JSONNode

        /// Who may call it, in the contract's own words.
        public var access: String? { body["x-sluice-access"]?.text }
        /// The parameters, each perhaps a reference.
        public var parameters: [JSONNode] { body.parameters?.items ?? [] }
        /// The answers by status, each perhaps a reference.
        public var responses: [String: JSONNode] { body.responses?.members ?? [:] }
        /// Method and path, as tests tell them.
        public var name: String { "\(method) \(path)" }
    }

    /// The repository that the tests were built in.
    public static let repository = URL(filePath: #filePath).appending(path: "../../..").standardized

    /// The contract of this checkout, read once.
    public static let shared = Result { try ContractDocument() }

    /// The whole document.
    public let root: JSONNode
    /// Every operation, by path and method.
    public let operations: [Operation]
    /// Holds values against the document's schemas.
    public let schemas: JSONSchema

    /// Reads the file.
    public init() throws {
        let file = Self.repository.appending(path: "openapi/sluice.yaml")
        try self.init(yaml: try String(contentsOf: file, encoding: .utf8))
    }

    /// Reads a text.
    public init(yaml: String) throws {
        root = try JSONNode(yaml: yaml)
        schemas = JSONSchema(root: root)
        guard let paths = root.paths?.members, !paths.isEmpty else { throw Flaw(text: "The contract has no paths.") }
        operations = paths.flatMap { path, item in
            item.members.map { method, body in Operation(method: method.uppercased(), path: path, body: body) }
        }.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    /// The operation of a method and a template.
    public func operation(_ method: String, _ path: String) -> Operation? {
        operations.first { $0.method == method && $0.path == path }
    }

    /// What a node is, or what its reference stands for.
    public func resolved(_ node: JSONNode?) -> JSONNode { schemas.resolved(node) ?? .null }

    /// Examples of a media type's value, by name.
    public func examples(in content: JSONNode?, _ type: String) -> [String: JSONNode] {
        (content?[type]?.examples?.members ?? [:]).compactMapValues { $0.value }
    }

    /// A contract that cannot be read.
    public struct Flaw: Error {
        /// What is wrong with it.
        public let text: String
    }
}

public import Foundation

/// The contract, `openapi/sluice.yaml`, parsed for tests.
public struct ContractDocument: Sendable {
    /// One operation of the contract.
    public struct Operation: Sendable {
        /// The method, in capitals.
        public let method: String
        /// The template, with `{parameters}`.
        public let path: String
        /// The operation object in the contract.
        public let body: JSONNode

        /// Who may call the operation, in the contract's own words.
        public var access: String? { body["x-sluice-access"]?.text }
        /// The parameters. Each may be a reference.
        public var parameters: [JSONNode] { body.parameters?.items ?? [] }
        /// The answers by status. Each may be a reference.
        public var responses: [String: JSONNode] { body.responses?.members ?? [:] }
        /// Method and path, for test reports.
        public var name: String { "\(method) \(path)" }
    }

    /// The repository in which the tests were built.
    public static let repository = URL(filePath: #filePath).appending(path: "../../..").standardized

    /// The contract of this checkout, read once.
    public static let shared = Result { try ContractDocument() }

    /// The whole document.
    public let root: JSONNode
    /// All operations, by path and method.
    public let operations: [Operation]
    /// Checks values against the document's schemas.
    public let schemas: JSONSchema

    /// Parses the contract of this checkout.
    public init() throws {
        let file = Self.repository.appending(path: "openapi/sluice.yaml")
        try self.init(yaml: try String(contentsOf: file, encoding: .utf8))
    }

    /// Parses a contract.
    public init(yaml: String) throws {
        root = try JSONNode(yaml: yaml)
        schemas = JSONSchema(root: root)
        guard let paths = root.paths?.members, !paths.isEmpty else { throw Flaw(text: "The contract has no paths.") }
        operations = paths.flatMap { path, item in
            item.members.map { method, body in Operation(method: method.uppercased(), path: path, body: body) }
        }.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    /// Returns the operation for a method and a template.
    public func operation(_ method: String, _ path: String) -> Operation? {
        operations.first { $0.method == method && $0.path == path }
    }

    /// Resolves a node that may be a reference.
    public func resolved(_ node: JSONNode?) -> JSONNode { schemas.resolved(node) ?? .null }

    /// Returns the examples for a media type, by name.
    public func examples(in content: JSONNode?, _ type: String) -> [String: JSONNode] {
        (content?[type]?.examples?.members ?? [:]).compactMapValues { resolved($0).value }
    }

    /// The error of a contract that cannot be read.
    public struct Flaw: Error {
        /// Description of the fault.
        public let text: String
    }
}

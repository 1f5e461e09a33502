import ContractTesting
import Foundation
import Testing

/// What programs that generate clients, and people who read them, need of the contract.
@Suite("The contract for clients")
struct ContractClientTests {
    private let contract: ContractDocument

    init() throws {
        contract = try ContractDocument.shared.get()
    }

    @Test func `each answer of success with a body has an example`() {
        for operation in contract.operations {
            for (status, response) in operation.responses where status.hasPrefix("2") {
                let content = contract.resolved(response).content
                for (type, _) in content?.members ?? [:] {
                    #expect(!contract.examples(in: content, type).isEmpty, "\(operation.name) \(status) \(type)")
                }
            }
        }
    }

    @Test func `operations, parameters, schemas' members and tags are described`() {
        for operation in contract.operations {
            #expect(operation.body["description"]?.text?.isEmpty == false, "\(operation.name)")
            for parameter in operation.parameters.map({ contract.resolved($0) }) {
                #expect(parameter["description"]?.text != nil, "\(operation.name): \(parameter.name?.text ?? "")")
            }
        }
        var count = 0
        for (name, schema) in contract.root.components?.schemas?.members ?? [:] {
            for (path, member) in members(of: schema, name) {
                count += 1
                #expect(isDescribed(member), "\(path)")
            }
        }
        #expect(count > 900)
        for tag in contract.root.tags?.items ?? [] { #expect(tag["description"]?.text != nil, "\(tag)") }
    }

    /// Whether a member has a text of its own, or its schema has.
    private func isDescribed(_ schema: JSONNode) -> Bool {
        if schema["description"]?.text?.isEmpty == false { return true }
        if schema["$ref"] != nil { return isDescribed(contract.resolved(schema)) }
        return (schema.anyOf?.items ?? []).contains { $0["$ref"] != nil && isDescribed($0) }
    }

    private func members(of schema: JSONNode, _ path: String) -> [(String, JSONNode)] {
        var found: [(String, JSONNode)] = []
        for (name, member) in schema.properties?.members ?? [:] {
            found.append(("\(path).\(name)", member))
            found += members(of: member, "\(path).\(name)")
        }
        for inner in [schema["items"], schema.additionalProperties].compactMap(\.self) {
            found += members(of: inner, path + "[]")
        }
        for inner in ["oneOf", "anyOf", "allOf"].flatMap({ schema[$0]?.items ?? [] }) {
            found += members(of: inner, path)
        }
        return found
    }

    /// Words with which the name of a method begins.
    private static let verbs: Set<String> = [
        "abort", "apply", "assume", "batch", "complete", "confirm", "create", "delete", "explain", "export", "fetch",
        "follow", "get", "import", "issue", "list", "offboard", "open", "patch", "read", "replace", "reset", "return",
        "review", "revoke", "rotate", "show", "sign", "simulate", "start", "take", "validate",
    ]

    @Test func `identifiers of operations read like names of methods`() {
        var seen: Set<String> = []
        for operation in contract.operations {
            let id = operation.body.operationId?.text ?? ""
            #expect(seen.insert(id).inserted, "\(id)")
            #expect(Self.verbs.contains(String(id.prefix { $0.isLowercase })), "\(id)")
            #expect(id.wholeMatch(of: /[a-z]+([A-Z][A-Za-z0-9]*)?/) != nil, "\(id)")
            // Generators take the last letter of a plural such as URLs for a word.
            #expect(id.firstMatch(of: /[A-Z]{2}s(?![a-z])/) == nil, "\(id)")
        }
    }

    /// Tags of operations whose path does not name their resource.
    private static let otherTags = [
        "/distribute-token.json": "sts", "/admin/v1/explain": "decisions", "/admin/v1/simulate": "decisions",
        "/admin/v1/settling-backlog": "usage", "/healthz": "service", "/readyz": "service", "/metrics": "service",
        "/openapi.yaml": "service", "/openapi.json": "service", "/docs": "service", "/docs/docs.js": "service",
        "/problems/{kind}": "service",
    ]

    @Test func `operations have the tag of their resource, and each tag has operations`() {
        var used: Set<String> = []
        for operation in contract.operations {
            let segments = operation.path.split(separator: "/").drop { ["v1", "admin"].contains($0) }
            let resource = String((segments.first ?? "").prefix { $0 != ":" })
            let tag = operation.body["x-sluice-protocol"]?.text ?? Self.otherTags[operation.path] ?? resource
            #expect(operation.body.tags?.items.compactMap(\.text) == [tag], "\(operation.name)")
            used.insert(tag)
        }
        let declared = (contract.root.tags?.items ?? []).compactMap { $0.name?.text }
        #expect(Set(declared) == used && declared.count == used.count)
    }

    /// Operations that take one thing in several formats.
    private static let severalFormats: Set<String> = [
        "POST /v1/events/s3", "POST /v1/events/oss", "POST /admin/v1/grants:import", "POST /lfs/{bucket}/{path}",
    ]

    @Test func `a body has one media type, and a schema with a name`() {
        for operation in contract.operations where !Self.severalFormats.contains(operation.name) {
            let content = contract.resolved(operation.body.requestBody).content?.members ?? [:]
            #expect(content.count <= 1, "\(operation.name)")
            for (type, media) in content { #expect(media.schema?["$ref"] != nil, "\(operation.name) \(type)") }
            for (status, response) in operation.responses where status.hasPrefix("2") {
                let json = contract.resolved(response).content?["application/json"]
                let isAnyDocument = operation.path == "/openapi.json"
                #expect(json == nil || json?.schema?["$ref"] != nil || isAnyDocument, "\(operation.name) \(status)")
            }
        }
    }

    @Test func `no object hides its members behind a choice`() {
        for (name, schema) in contract.root.components?.schemas?.members ?? [:] where schema.properties != nil {
            for word in ["oneOf", "anyOf", "allOf"] { #expect(schema[word] == nil, "\(name): \(word)") }
            #expect(schema.propertyNames == nil, "\(name)")
        }
    }

    /// What a new key replaces as a whole, and nothing removes.
    private static let membersOfKeys: Set = [
        "accessKeyID", "keyPair", "secretAccessKey", "serviceAccount", "sessionToken",
    ]

    @Test func `a merge patch has the members of the replacement, and may remove those that are not required`() throws {
        let patches = contract.operations.filter { $0.method == "PATCH" }
        for operation in patches {
            let content = operation.body.requestBody?.content
            let patch = contract.resolved(content?["application/merge-patch+json"]?.schema)
            let whole = contract.operation("PUT", operation.path)?.body.requestBody?.content
            let replacement = contract.resolved(whole?["application/json"]?.schema)
            let names = Set((replacement.properties?.members ?? [:]).keys)
            #expect(Set((patch.properties?.members ?? [:]).keys) == names && !names.isEmpty, "\(operation.name)")
            #expect(patch.required == nil && patch.additionalProperties == .bool(false), "\(operation.name)")
            var lasting = Set((replacement.required?.items ?? []).compactMap(\.text))
            if operation.path.contains("storage-credentials") { lasting.formUnion(Self.membersOfKeys) }
            for (name, member) in patch.properties?.members ?? [:] where member.const == nil {
                let takesNull = contract.schemas.flaws(of: .null, against: member).isEmpty
                #expect(takesNull == !lasting.contains(name), "\(operation.name) \(name)")
            }
        }
        #expect(patches.count == 6)
    }
}

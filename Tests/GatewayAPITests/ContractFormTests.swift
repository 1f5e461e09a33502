import ContractTesting
import Foundation
import Testing

@Suite("The contract as a document")
struct ContractFormTests {
    private let contract: ContractDocument

    init() throws {
        contract = try ContractDocument.shared.get()
    }

    @Test("says nothing that the tests cannot hold an answer against")
    func knownKeywords() {
        var schemas = schemas(in: contract.root, "#")
        for (name, schema) in contract.root.components?.schemas?.members ?? [:] { schemas.append((name, schema)) }
        var count = 0
        while let (path, schema) = schemas.popLast() {
            count += 1
            for (name, value) in schema.members {
                #expect(JSONSchema.keywords.contains(name), "\(path): \(name)")
                switch name {
                case "format": #expect(JSONSchema.formats.contains(value.text ?? ""), "\(path): \(value)")
                case "pattern": #expect(throws: Never.self) { try NSRegularExpression(pattern: value.text ?? "[") }
                case "properties", "patternProperties":
                    schemas += value.members.map { ("\(path)/\($0.key)", $0.value) }
                case "items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contains":
                    schemas.append(("\(path)/\(name)", value))
                case "allOf", "anyOf", "oneOf", "prefixItems":
                    schemas += value.items.map { ("\(path)/\(name)", $0) }
                default: break
                }
            }
        }
        #expect(count > 500)
    }

    /// Every schema outside the named ones.
    private func schemas(in node: JSONNode, _ path: String) -> [(String, JSONNode)] {
        var found: [(String, JSONNode)] = []
        for item in node.items { found += schemas(in: item, path) }
        for (name, member) in node.members {
            switch name {
            case "schema": found.append((path, member))
            case "example", "examples", "schemas": break
            default: found += schemas(in: member, "\(path)/\(name)")
            }
        }
        return found
    }

    @Test("refers to everything that it defines, and only to what it defines")
    func references() {
        var used: Set<String> = []
        func visit(_ node: JSONNode) {
            if let reference = node["$ref"]?.text {
                used.insert(reference)
                #expect(contract.schemas.resolved(node) != nil, "\(reference)")
            }
            for item in node.items { visit(item) }
            for (name, member) in node.members where !["example", "value"].contains(name) { visit(member) }
        }
        visit(contract.root)
        // The answer of a path to a method that it does not support belongs to no operation.
        used.insert("#/components/responses/MethodNotAllowed")
        for (kind, definitions) in contract.root.components?.members ?? [:] where kind != "securitySchemes" {
            for name in definitions.members.keys { #expect(used.contains("#/components/\(kind)/\(name)"), "\(name)") }
        }
    }

    @Test("names each operation once, says what it is for, and has an example wherever it takes JSON")
    func documentation() {
        let names = contract.operations.map { $0.body.operationId?.text ?? "" }
        #expect(Set(names).count == names.count && !names.contains(""))
        for operation in contract.operations {
            #expect(operation.body.summary?.text?.isEmpty == false, "\(operation.name)")
            let content = contract.resolved(operation.body.requestBody).content
            let types = (content?.members ?? [:]).keys.filter { $0.hasSuffix("json") }
            #expect(
                types.isEmpty || types.contains { !contract.examples(in: content, $0).isEmpty }, "\(operation.name)")
            for parameter in operation.parameters {
                #expect(contract.resolved(parameter)["description"]?.text?.isEmpty == false, "\(operation.name)")
            }
        }
    }

    @Test("asks for the credentials that the access of an operation takes")
    func security() {
        for operation in contract.operations {
            let schemes = (operation.body.security ?? contract.root.security ?? .null).items.flatMap {
                Array($0.members.keys)
            }
            // A ticket in the path and a token in a form are parameters like others.
            var expected = ["public", "ticket", "web-identity"].contains(operation.access ?? "") ? [] : ["bearer"]
            if operation.access == "store" { expected = ["eventSecret", "bearer", "basic"] }
            if operation.access == "user-or-ticket" { expected.append("ticket") }
            if operation.body["x-sluice-protocol"]?.text == "git-lfs" {
                expected += operation.method == "POST" ? ["lfs", "lfsVerification"] : ["lfs"]
            }
            #expect(schemes == expected, "\(operation.name)")
            let roleRefused = operation.responses["403"] != nil
            #expect(roleRefused || !["admin", "auditor"].contains(operation.access ?? ""), "\(operation.name)")
        }
    }

    @Test("has examples of answers that fit their schemas")
    func answerExamples() {
        for operation in contract.operations {
            for (status, response) in operation.responses {
                for (type, media) in contract.resolved(response).content?.members ?? [:] where type.hasSuffix("json") {
                    for (name, example) in contract.examples(in: contract.resolved(response).content, type) {
                        let flaws = contract.schemas.flaws(of: example, against: media.schema)
                        #expect(flaws == [], "\(operation.name) \(status) \(name)")
                    }
                }
            }
        }
    }
}

import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Testing

@testable import GatewayAPI

@Suite("The contract")
struct ContractTests {
    private let contract: ContractDocument

    init() throws {
        contract = try ContractDocument()
    }

    @Test("lists the operations that there are, no more and no fewer, each with its access")
    func sameOperations() {
        let routes = TestGateway().responder.router.routes
        let built = Set(routes.map { "\($0.method.rawValue) \($0.template) \($0.access.rawValue)" })
        let written = Set(contract.operations.map { "\($0.method) \($0.path) \($0.access ?? "-")" })
        #expect(built == written)
        #expect(routes.count == contract.operations.count)
    }

    @Test("names every parameter of a path")
    func pathParameters() {
        for operation in contract.operations {
            let named = operation.parameters.map { contract.resolved($0) }.filter { $0["in"] as? String == "path" }
                .compactMap { $0["name"] as? String }
            let used = operation.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
                String($0.dropFirst().dropLast())
            }
            #expect(named == used, "\(operation.method) \(operation.path)")
        }
    }

    @Test("names every type and code of problems, as problems.md does")
    func problemTypes() throws {
        let problem = contract.resolved(["$ref": "#/components/schemas/Problem"])
        let properties = problem["properties"] as? [String: Any] ?? [:]
        let types = Set((properties["type"] as? [String: Any])?["enum"] as? [String] ?? [])
        #expect(types == Set(ProblemKind.allCases.map(\.type)))
        let codes = Set((properties["code"] as? [String: Any])?["enum"] as? [String] ?? [])
        let built = Set(ProblemKind.allCases.filter { $0 != .notFound }.map(\.code))
            .union(ResourceKind.allCases.map { "NoSuch" + $0.rawValue })
        #expect(codes == built)
        let page = try String(contentsOf: Self.repository.appending(path: "openapi/problems.md"), encoding: .utf8)
        let sections = page.split(separator: "## `").dropFirst().compactMap { section -> (String, Substring)? in
            section.firstIndex(of: "`").map { (String(section[..<$0]), section) }
        }
        #expect(sections.map(\.0).sorted() == types.sorted())
        for kind in ProblemKind.allCases {
            let section = sections.first { $0.0 == kind.type }?.1 ?? ""
            #expect(section.contains("\(kind.status.code)"), "\(kind)")
            #expect(kind == .notFound || section.contains("`\(kind.code)`"), "\(kind)")
        }
    }

    @Test("has examples of problems with the titles, types and codes that are sent")
    func problemExamples() {
        let responses = (contract.root["components"] as? [String: Any])?["responses"] as? [String: Any] ?? [:]
        var seen: Set<String> = []
        for (name, response) in responses {
            let content = (response as? [String: Any])?["content"]
            for example in contract.examples(in: content, "application/problem+json").values {
                #expect(contract.flaws(of: example, against: ["$ref": "#/components/schemas/Problem"]) == [], "\(name)")
                let members = example as? [String: Any] ?? [:]
                let kind = ProblemKind.allCases.first { $0.type == members["type"] as? String }
                #expect(kind?.title == members["title"] as? String)
                #expect(kind?.status.code == members["status"] as? Int)
                #expect(kind == .notFound || kind?.code == members["code"] as? String)
                seen.insert(members["type"] as? String ?? "")
            }
        }
        #expect(seen == Set(ProblemKind.allCases.map(\.type)))
    }

    @Test("has examples of bodies that are accepted, and answers that fit their schemas")
    func bodyExamples() async throws {
        for operation in contract.operations where operation.method == "POST" {
            let content = contract.resolved(operation.body["requestBody"])["content"]
            for (name, example) in contract.examples(in: content, "application/json") {
                let gateway = TestGateway()
                let json = String(decoding: try JSONSerialization.data(withJSONObject: example), as: UTF8.self)
                let path = operation.path.replacing("{group}", with: "group:staff")
                    .replacing("{id}", with: MemoryUploads.openID.lowercaseText)
                let answer = await gateway.send(.post, path, token: "admin-token", json: json)
                let success = operation.responses.keys.first { $0.hasPrefix("2") }
                #expect(String(answer.status) == success, "\(operation.path) \(name): \(answer.text)")
                let schema = (content as? [String: Any])?["application/json"] as? [String: Any]
                #expect(contract.flaws(of: example, against: schema?["schema"]) == [], "\(operation.path) \(name)")
                #expect(flaws(of: answer, to: operation) == [])
                guard let location = answer.headers[.location] else { continue }
                let read = await gateway.send(.get, location, token: "auditor-token")
                #expect(read.status == 200, "\(location)")
                let one = try #require(contract.operations.first { $0.method == "GET" && matches(location, $0.path) })
                #expect(flaws(of: read, to: one) == [])
                let list = await gateway.send(.get, path, token: "auditor-token")
                #expect((list.json["items"] as? [Any])?.count == 1)
                #expect(flaws(of: list, to: try #require(contract.operation("GET", operation.path))) == [])
                let deleted = await gateway.send(.delete, location, token: "admin-token")
                #expect(deleted.status == 204)
                #expect(await gateway.send(.get, location, token: "auditor-token").status == 404)
                let conflictOrGone = await gateway.send(.delete, location, token: "admin-token")
                #expect(conflictOrGone.status == 404)
                #expect(flaws(of: conflictOrGone, to: try #require(contract.operation("DELETE", one.path))) == [])
            }
        }
    }

    @Test("has examples of changes that are accepted, once, and only in the state they were made for")
    func changeExamples() async throws {
        for operation in contract.operations where ["PUT", "PATCH"].contains(operation.method) {
            let gateway = TestGateway()
            let collection = operation.path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
            let creation = try #require(contract.operation("POST", collection))
            let first = try #require(examples(of: creation).first)
            let created = await gateway.send(.post, collection, token: "admin-token", json: first.json)
            let location = try #require(created.headers[.location])
            let tag = try #require(created.headers[.eTag])
            let method = try #require(HTTPRequest.Method(rawValue: operation.method))
            for (type, json) in try examples(of: operation) {
                func send(_ ifMatch: String?) async -> TestAnswer {
                    var headers: HTTPFields = [.contentType: type]
                    headers[.ifMatch] = ifMatch
                    return await gateway.send(method, location, token: "admin-token", headers: headers, json: json)
                }
                let required = await send(nil)
                #expect(required.status == 428)
                #expect(flaws(of: required, to: operation) == [])
                let changed = await send(tag)
                #expect(changed.status == 200, "\(operation.method) \(operation.path): \(changed.text)")
                #expect(flaws(of: changed, to: operation) == [])
                #expect(changed.headers[.eTag] != tag)
                let read = await gateway.send(.get, location, token: "auditor-token")
                #expect(read.text == changed.text && read.headers[.eTag] == changed.headers[.eTag])
                let late = await send(tag)
                #expect(late.status == 412)
                #expect(flaws(of: late, to: operation) == [])
            }
        }
    }

    /// Examples of the body, with their media type.
    private func examples(of operation: ContractDocument.Operation) throws -> [(type: String, json: String)] {
        let content = contract.resolved(operation.body["requestBody"])["content"]
        return try (content as? [String: Any] ?? [:]).keys.flatMap { type in
            try contract.examples(in: content, type).values.map { value in
                (type, String(decoding: try JSONSerialization.data(withJSONObject: value), as: UTF8.self))
            }
        }
    }

    @Test("describes what the other operations answer")
    func otherAnswers() async throws {
        let gateway = TestGateway(checks: [ReadinessCheck(name: "clock", flaw: "2 s apart")])
        for (path, token, status) in [
            ("/v1/access", "user-token", 200), ("/v1/sts/oss?bucket=photos&prefix=uploads/", "user-token", 200),
            ("/distribute-token.json", "user-token", 200), ("/admin/v1/issuances", "auditor-token", 200),
            ("/healthz", "", 200), ("/readyz", "", 503),
        ] {
            let answer = await gateway.send(.get, path, token: token.isEmpty ? nil : token)
            #expect(answer.status == status)
            #expect(
                flaws(of: answer, to: try #require(contract.operation("GET", String(path.prefix { $0 != "?" })))) == [],
                "\(answer.text)")
        }
        #expect(await TestGateway().send(.get, "/readyz").status == 200)
    }

    @Test("is served as it stands in the repository")
    func served() async throws {
        let answer = await TestGateway().send(.get, "/openapi.yaml")
        let file = try Data(contentsOf: Self.repository.appending(path: "openapi/sluice.yaml"))
        #expect(answer.bytes == Array(file))
        #expect(answer.headers[.contentType] == "application/yaml")
    }

    /// The schema's objections to an answer, or the status or a header that is not described.
    private func flaws(of answer: TestAnswer, to operation: ContractDocument.Operation) -> [String] {
        let response = contract.resolved(operation.responses[String(answer.status)])
        guard !response.isEmpty else { return ["\(answer.status) is not described for \(operation.path)"] }
        guard !answer.bytes.isEmpty else { return [] }
        let content = response["content"] as? [String: Any] ?? [:]
        let type = answer.headers[.contentType] ?? "-"
        guard let media = content[type] as? [String: Any] else { return ["\(type) is not described"] }
        return contract.flaws(of: answer.json, against: media["schema"])
    }

    private func matches(_ path: String, _ template: String) -> Bool {
        let (left, right) = (path.split(separator: "/"), template.split(separator: "/"))
        return left.count == right.count && zip(left, right).allSatisfy { $0 == $1 || $1.hasPrefix("{") }
    }

    private static let repository = URL(filePath: #filePath).appending(path: "../../..").standardized
}

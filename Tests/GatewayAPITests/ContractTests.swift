import ContractTesting
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Testing

@testable import GatewayAPI
import LibCrypto

@Suite("The contract")
struct ContractTests {
    private let contract: ContractDocument

    init() throws {
        contract = try ContractDocument.shared.get()
    }

    @Test("lists the operations that there are, no more and no fewer, each with its access")
    func sameOperations() {
        let routes = TestGateway().responder.router.routes
        let built = Set(routes.map { "\($0.method.rawValue) \($0.template) \($0.access.rawValue)" })
        let written = Set(contract.operations.map { "\($0.name) \($0.access ?? "-")" })
        #expect(built == written)
        #expect(routes.count == contract.operations.count)
    }

    @Test("says which operations are open to delegated admins, as their routes do")
    func delegatedOperations() {
        let routes = TestGateway().responder.router.routes.filter(\.isDelegated)
        #expect(routes.allSatisfy { $0.access == .admin || $0.access == .auditor })
        let written = contract.operations.filter { $0.body["x-sluice-delegated"]?.flag == true }.map(\.name)
        #expect(routes.map { "\($0.method.rawValue) \($0.template)" }.sorted() == written.sorted())
        #expect(written.count == 25)
    }

    @Test("says which operations belong to a protocol, as their routes do, and each has a tag of its own")
    func protocols() {
        let routes = TestGateway().responder.router.routes.compactMap { route in
            route.clientProtocol.map { "\(route.method.rawValue) \(route.template) \($0.rawValue)" }
        }
        let written = contract.operations.compactMap { operation in
            operation.body["x-sluice-protocol"]?.text.map { "\(operation.name) \($0)" }
        }
        #expect(routes.sorted() == written.sorted() && !routes.isEmpty)
        for operation in contract.operations {
            guard let name = operation.body["x-sluice-protocol"]?.text else { continue }
            #expect(operation.body.tags?.items.compactMap(\.text) == [name], "\(operation.name)")
        }
        let names = contract.root.components?.schemas?.ClientProtocol?["enum"]?.items.compactMap(\.text)
        #expect(names == ClientProtocol.allCases.map(\.rawValue))
    }

    @Test("every POST takes an idempotency key and says what may come of it")
    func idempotencyKeys() {
        let protocols = TestGateway().responder.router.routes.filter { $0.clientProtocol != nil }.map(\.template)
        for operation in contract.operations where !protocols.contains(operation.path) {
            let names = operation.parameters.compactMap { contract.resolved($0).name?.text }
            // An import streams, and repeating it leads to the same grants. Where no credential identifies the caller,
            // all callers would share a key.
            // Clients of protocols know none.
            let takesKey =
                operation.method == "POST" && operation.path != "/admin/v1/grants:import"
                && operation.body["x-sluice-protocol"] == nil
                && !["public", "store"].contains(operation.access ?? "")
            #expect(names.contains("Idempotency-Key") == takesKey, "\(operation.name)")
            guard takesKey else { continue }
            #expect(operation.responses["409"] != nil && operation.responses["422"] != nil, "\(operation.name)")
            for (status, success) in operation.responses where status.hasPrefix("2") {
                #expect(contract.resolved(success).headers?["Idempotency-Replayed"] != nil, "\(operation.name)")
            }
        }
    }

    @Test("what an auditor may POST says that it only reads")
    func readingPosts() {
        for operation in contract.operations where operation.method != "GET" && operation.access == "auditor" {
            #expect(operation.body["x-sluice-reads-only"]?.flag == true, "\(operation.name)")
        }
    }

    @Test("names every parameter of a path")
    func pathParameters() {
        for operation in contract.operations {
            let named = operation.parameters.map { contract.resolved($0) }.filter { $0.in?.text == "path" }
                .compactMap { $0.name?.text }
            let used = operation.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
                String($0.dropFirst().prefix { $0 != "}" })
            }
            #expect(named == used, "\(operation.method) \(operation.path)")
        }
    }

    @Test(
        "permits the bucket names that are accepted, and no others",
        arguments: [
            "abc", "a.b", "a-_.b", "my.bucket.0", String(repeating: "a", count: 63), "ab", "a..b", "my..bucket", ".ab",
            "ab.", "-ab", "ab-", "ab_", "Abc", "a b", String(repeating: "a", count: 64),
        ])
    func bucketNames(name: String) {
        let schema = contract.root.components?.schemas?.BucketName
        let isPermitted = contract.schemas.flaws(of: .string(name), against: schema).isEmpty
        #expect(isPermitted == ((try? BucketName(name)) != nil))
    }

    @Test("names every type and code of problems, as problems.md does")
    func problemTypes() throws {
        let properties = contract.root.components?.schemas?.Problem?.properties
        let types = Set((properties?["type"]?["enum"]?.items ?? []).compactMap(\.text))
        #expect(types == Set(ProblemKind.allCases.map(\.type)))
        let codes = Set((properties?["code"]?["enum"]?.items ?? []).compactMap(\.text))
        let built = Set(ProblemKind.allCases.filter { $0 != .notFound }.map(\.code))
            .union(ResourceKind.allCases.map { "NoSuch" + $0.rawValue })
        #expect(codes == built)
        let page = try String(
            contentsOf: ContractDocument.repository.appending(path: "openapi/problems.md"), encoding: .utf8)
        let sections = page.split(separator: "## `").dropFirst().compactMap { section -> (String, Substring)? in
            section.firstIndex(of: "`").map { (String(section[..<$0]), section) }
        }
        #expect(sections.map(\.0).sorted() == types.sorted())
        let named = Set(
            page.matches(of: /^\d{3} .*?(?=\.\s)/.anchorsMatchLineEndings().dotMatchesNewlines()).flatMap {
                $0.output.matches(of: /`([A-Z][A-Za-z]+)`/).map { String($0.output.1) }
            })
        #expect(named == codes)
        for kind in ProblemKind.allCases {
            let section = sections.first { $0.0 == kind.type }?.1 ?? ""
            #expect(section.contains("\(kind.status.code)"), "\(kind)")
            #expect(kind == .notFound || section.contains("`\(kind.code)`"), "\(kind)")
        }
    }

    @Test("has examples of problems with the titles, types and codes that are sent")
    func problemExamples() {
        var seen: Set<String> = []
        for (name, response) in contract.root.components?.responses?.members ?? [:] {
            for example in contract.examples(in: response.content, "application/problem+json").values {
                let kind = ProblemKind.allCases.first { $0.type == example["type"]?.text }
                #expect(kind?.title == example.title?.text, "\(name)")
                #expect(kind?.status.code == example.status?.integer, "\(name)")
                #expect(kind == .notFound || kind?.code == example.code?.text, "\(name)")
                seen.insert(example["type"]?.text ?? "")
            }
        }
        #expect(seen == Set(ProblemKind.allCases.map(\.type)))
    }

    @Test("has examples of problems as the program words them")
    func problemTexts() async throws {
        let id = "018f0000-0000-7000-8000-000000000003"
        let gateway: [String: GatewayError] = [
            "expiredToken": .expiredToken, "accessDenied": .accessDenied,
            "conditionFailed": .conditionFailed(.contentType(allowed: ["image/*"])),
            "roleRequired": .roleRequired("admin"), "outsideAdminScope": .outsideAdminScope,
            "notFound": .notFound(.grant), "alreadyExists": .alreadyExists(.bucket),
            "saysTheSame": .alreadyExists(.grant, id: id),
            "idempotencyKeyInUse": .idempotency(.inFlight(retryAfter: 1)),
            "idempotentAnswerGone": .idempotency(.answerGone), "idempotencyKeyReused": .idempotency(.otherRequest),
            "preconditionFailed": .preconditionFailed, "entityTooLarge": .entityTooLarge(maxBytes: 1_048_576),
            "storeRefused": .storeRefused(status: 403, code: "AccessDenied"),
            "quotaExceeded": .quotaExceeded(
                QuotaRefusal(
                    quotaID: "018f0000-0000-7000-8000-00000000000d", metric: .urls, period: .day, limit: 100,
                    remaining: 0, resetsIn: 120)),
            "unavailable": .unavailable(retryAfter: 1), "slowDown": .slowDown(retryAfter: 1),
        ]
        let api: [String: APIError] = [
            "malformedRequest": .malformedTarget, "noSuchRoute": .noSuchRoute,
            "methodNotAllowed": .methodNotAllowed([.get, .put]),
            "preconditionRequired": .preconditionRequired(source: "the row that you read"),
            "unsupportedMediaType": .unsupportedMediaType, "contentCoding": .unsupportedContentCoding,
            "tooManyRequests": .tooManyRequests(
                RateRefusal(name: "requests", burst: 1000, window: 2, remaining: 0, retryAfter: 1)),
        ]
        let server: [String: ServerFailure] = [
            "requestTimeout": .requestTimeout, "requestTooLarge": .contentTooLarge(maxBytes: 65_536),
            "targetTooLong": .uriTooLong, "expectationFailed": .expectationFailed,
            "headersTooLarge": .headerFieldsTooLarge(maxBytes: 8192),
        ]
        var problems = gateway.mapValues { Problem($0) }
        problems.merge(api.mapValues { Problem($0) }) { $1 }
        problems.merge(server.mapValues { Problem($0) }) { $1 }
        problems["internalError"] = Problem(kind: .internalError)
        // The words of use cases and stores are not compared.
        var seen: Set = ["conflict", "notEnforceable"]
        let answers = [
            "unauthenticated": await TestGateway().send(.get, "/v1/access"),
            "invalidArgument": await TestGateway().send(
                .post, "/v1/presigned-urls", token: "user-token",
                json: #"{"action":"GetObject","bucket":"photos","key":"a","response":{"x":"a"}}"#),
        ]
        for (name, response) in contract.root.components?.responses?.members ?? [:] {
            for (example, value) in contract.examples(in: response.content, "application/problem+json") {
                guard !seen.contains(example) || problems[example] != nil else { continue }
                seen.insert(example)
                if let answer = answers[example] {
                    #expect(answer.string("detail") == value.detail?.text, "\(example)")
                    #expect(answer.string("field") == value.field?.text, "\(example)")
                    continue
                }
                let problem = try #require(problems[example], "\(name) \(example)")
                let answer = TestAnswer(problem.response(requestID: value.requestID?.text ?? ""))
                #expect(try JSONNode(json: answer.bytes) == value, "\(name) \(example)")
            }
        }
        #expect(seen.isSuperset(of: problems.keys) && seen.isSuperset(of: answers.keys))
    }

    @Test("names no value with the keyword 'example', which its JSON would keep")
    func singleExamples() {
        func visit(_ node: JSONNode, at path: String, areNames: Bool = false) {
            for item in node.items { visit(item, at: path) }
            for (name, child) in node.members where areNames || name != "examples" {
                #expect(areNames || name != "example", "\(path)")
                visit(child, at: "\(path)/\(name)", areNames: !areNames && name == "properties")
            }
        }
        visit(contract.root, at: "")
    }

    @Test("says of every answer whether it may be kept")
    func cacheControl() {
        for operation in contract.operations {
            for (status, response) in operation.responses {
                let headers = contract.resolved(response).headers
                #expect(headers?["Cache-Control"] != nil, "\(operation.name) \(status)")
            }
        }
    }

    @Test("has no example that says why access is denied, because no answer says it")
    func deniedExamples() {
        var count = 0
        func visit(_ node: JSONNode) {
            if node["type"]?.text == ProblemKind.accessDenied.type {
                count += 1
                #expect(node["detail"] == nil, "\(node)")
            }
            for child in node.items + node.members.values { visit(child) }
        }
        visit(contract.root)
        #expect(count > 1)
    }

    @Test("has examples of bodies that are accepted, and answers that fit their schemas")
    func bodyExamples() async throws {
        for operation in contract.operations
        where operation.method == "POST" && operation.access != "store" && operation.body["x-sluice-protocol"] == nil {
            let content = contract.resolved(operation.body.requestBody).content
            for (name, example) in contract.examples(in: content, "application/json") {
                let gateway = TestGateway(policy: .ofExamples)
                if operation.path.contains("{bucket}") { try await gateway.makeBucket() }
                if operation.path.contains("/issuers/{id}") { try await gateway.makeIssuer() }
                let json = String(decoding: try example.bytes, as: UTF8.self)
                if operation.path.hasPrefix("/admin/v1/api-keys/{id}") {
                    let key = APIKey(
                        id: MemoryUploads.openID, prefix: "abcdefghij01", hash: Digest(), name: "key",
                        principal: try .user("alice"), createdAt: TestGateway.now)
                    _ = try await gateway.stores.apiKeys.create(
                        key, by: ChangeContext(actor: .bootstrapAdmin, requestID: ""))
                }
                let id = operation.path.hasSuffix("{id}:confirm") ? gateway.records.add() : MemoryUploads.openID
                let path = operation.path.replacing("{group}", with: "group:staff")
                    .replacing("{bucket}", with: "photos").replacing("{principal}", with: "user%3Aalice")
                    .replacing("{id}", with: id.lowercaseText)
                let answer = await gateway.send(.post, path, token: "admin-token", json: json)
                // A creation answers 200 only for a row that exists.
                let success = operation.responses.keys.filter { $0.hasPrefix("2") }.max()
                #expect(String(answer.status) == success, "\(operation.path) \(name): \(answer.text)")
                guard let location = answer.headers[.location] else { continue }
                let read = await gateway.send(.get, location, token: "auditor-token")
                #expect(read.status == 200, "\(location)")
                let list = await gateway.send(.get, path, token: "auditor-token")
                #expect((list.json["items"] as? [Any])?.count == 1)
                let deleted = await gateway.send(.delete, location, token: "admin-token")
                #expect(deleted.status == 204)
                #expect(await gateway.send(.get, location, token: "auditor-token").status == 404)
                #expect(await gateway.send(.delete, location, token: "admin-token").status == 404)
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
                    var headers: HeaderFields = [.contentType: type]
                    headers[.ifMatch] = ifMatch
                    return await gateway.send(method, location, token: "admin-token", headers: headers, json: json)
                }
                #expect(await send(nil).status == 428)
                let changed = await send(tag)
                #expect(changed.status == 200, "\(operation.method) \(operation.path): \(changed.text)")
                #expect(changed.headers[.eTag] != tag)
                let read = await gateway.send(.get, location, token: "auditor-token")
                #expect(read.text == changed.text && read.headers[.eTag] == changed.headers[.eTag])
                #expect(await send(tag).status == 412)
            }
        }
    }

    /// Examples of the body, with their media types.
    private func examples(of operation: ContractDocument.Operation) throws -> [(type: String, json: String)] {
        let content = contract.resolved(operation.body.requestBody).content
        return try (content?.members ?? [:]).keys.flatMap { type in
            try contract.examples(in: content, type).values.map { value in
                (type, String(decoding: try value.bytes, as: UTF8.self))
            }
        }
    }

    @Test("describes what the other operations answer")
    func otherAnswers() async throws {
        let gateway = TestGateway(checks: [ReadinessCheck(name: "clock", flaw: "2 s apart")])
        for (path, token, status) in [
            ("/v1/access", "user-token", 200), ("/v1/access?bucket=photos&prefix=uploads/", "user-token", 200),
            ("/v1/sts/oss?bucket=photos&prefix=uploads/", "user-token", 200),
            ("/distribute-token.json", "user-token", 200), ("/admin/v1/issuances", "auditor-token", 200),
            ("/admin/v1/audit?kind=Quota&from=2030-01-01T00:00:00Z", "auditor-token", 200),
            ("/admin/v1/audit:export?actor=user:root", "auditor-token", 200),
            ("/admin/v1/groups?member=user:alice", "auditor-token", 200),
            ("/admin/v1/usage?groupBy=principal,grant,action", "auditor-token", 200),
            ("/admin/v1/usage?by=range&groupBy=principal", "auditor-token", 200),
            ("/admin/v1/denials", "auditor-token", 200),
            ("/admin/v1/denials?by=hour&groupBy=code", "auditor-token", 200),
            ("/admin/v1/settling-backlog", "auditor-token", 200),
            ("/admin/v1/quotas?nearLimit=0.8", "auditor-token", 200),
            ("/admin/v1/api-keys?expiresBefore=2030-01-31T00:00:00Z", "auditor-token", 200),
            ("/admin/v1/storage-credentials?expiresBefore=2030-01-31T00:00:00Z", "auditor-token", 200),
            ("/admin/v1/access?bucket=photos&key=uploads/a.png&expandGroups=true", "auditor-token", 200),
            ("/admin/v1/grants:unused", "auditor-token", 200),
            ("/admin/v1/requests/018f0000-0000-7000-8000-00000000000e", "auditor-token", 200),
            ("/healthz", "", 200), ("/readyz", "", 503),
        ] {
            let answer = await gateway.send(.get, path, token: token.isEmpty ? nil : token)
            #expect(answer.status == status, "\(path): \(answer.text)")
        }
        #expect(await TestGateway().send(.get, "/readyz").status == 200)
    }

    @Test("is served as it stands in the repository")
    func served() async throws {
        let answer = await TestGateway().send(.get, "/openapi.yaml")
        let file = try Data(contentsOf: ContractDocument.repository.appending(path: "openapi/sluice.yaml"))
        #expect(answer.bytes == Array(file))
        #expect(answer.headers[.contentType] == "application/yaml")
    }
}

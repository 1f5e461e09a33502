import ContractTesting
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayAPI
import LibCrypto

@Suite("A body")
struct BodyTests {
    private static let batch = "/v1/presigned-urls/batch"
    private static let quota = #"{"principal":"user:a","metric":"urls","period":"day","limit":5}"#

    /// Accepts a caller once. Afterwards, the credential is another one.
    private final class ForgettingAuthenticator: Authenticator {
        private let isFirst = Mutex(true)
        private let later: String

        init(later: String) { self.later = later }

        func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
            let isFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return try await StubAuthenticator().authenticate(isFirst ? token : Secret(later))
        }
    }

    /// Accepts every credential, tickets too.
    private struct TrustingAuthenticator: Authenticator {
        func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
            try await StubAuthenticator().authenticate(Secret("admin-token"))
        }
    }

    /// Sends a request whose body arrives in pieces; returns how many of them were read.
    private func send(
        _ method: HTTPRequest.Method, _ path: String, token: String?, headers: HeaderFields = [:],
        pieces: [Result<[UInt8], RequestBodyError>], to gateway: TestGateway = TestGateway()
    ) async -> (answer: TestAnswer, asked: Int) {
        let asked = Mutex(0)
        let body = RequestBodyStream {
            let turn = asked.withLock { asked in
                defer { asked += 1 }
                return asked
            }
            return try pieces.indices.contains(turn) ? pieces[turn].get() : nil
        }
        var fields = headers
        if let token { fields[.authorization] = "Bearer \(token)" }
        if fields[.contentType] == nil { fields[.contentType] = "application/json" }
        let head = RequestHead(method: method, target: path, headerFields: fields)
        let response = await gateway.responder.respond(to: ServerRequest(head: head, body: .stream(body)))
        return (await TestAnswer(collecting: response), asked.withLock { $0 })
    }

    private static func pieces(of text: String, _ count: Int = 7) -> [Result<[UInt8], RequestBodyError>] {
        let bytes = Array(text.utf8)
        return stride(from: 0, to: bytes.count, by: count).map {
            .success(Array(bytes[$0..<min($0 + count, bytes.count)]))
        }
    }

    @Test("leaves the request all its time, however long it took to arrive")
    func arrival() async {
        let gateway = TestGateway()
        let ends = Mutex<[ContinuousClock.Instant]>([])
        let pieces = Self.pieces(of: #"{"items":[{"action":"GetObject","bucket":"photos","key":"uploads/a.txt"}]}"#)
        let body = RequestBodyStream {
            let turn = ends.withLock { ends in
                ends.append(.now)
                return ends.count - 1
            }
            return try pieces.indices.contains(turn) ? pieces[turn].get() : nil
        }
        let head = RequestHead(
            method: .post, target: Self.batch,
            headerFields: [.authorization: "Bearer user-token", .contentType: "application/json"])
        let response = await gateway.responder.respond(to: ServerRequest(head: head, body: .stream(body)))
        #expect(await TestAnswer(collecting: response).text.contains(#""url""#))
        let end = ends.withLock { $0.last ?? .now }
        let deadlines = gateway.ledger.deadlines.withLock { $0 }
        #expect(deadlines.count == 1 && deadlines[0] >= end + APIRequest.recordTimeout)
    }

    @Test("that comes in pieces is the same as one that came whole, also for an idempotency key")
    func pieces() async {
        let gateway = TestGateway()
        let whole = await gateway.send(
            .post, "/admin/v1/quotas", token: "admin-token", headers: [.idempotencyKey: "k"], json: Self.quota)
        #expect(whole.status == 201, "\(whole.text)")
        let (again, _) = await send(
            .post, "/admin/v1/quotas", token: "admin-token", headers: [.idempotencyKey: "k"],
            pieces: Self.pieces(of: Self.quota), to: gateway)
        #expect(again.bytes == whole.bytes && again.headers[.idempotencyReplayed] == "true")
        let (other, _) = await send(
            .post, "/admin/v1/quotas", token: "admin-token", headers: [.idempotencyKey: "k"],
            pieces: Self.pieces(of: Self.quota + " "), to: gateway)
        #expect(other.string("code") == "IdempotencyKeyReused")
    }

    @Test("is not asked for before it is known who sends it", arguments: AccessControlTests.routes.indices)
    func nobody(index: Int) async {
        let route = AccessControlTests.routes[index]
        guard route.takesBody, route.access != .anyone else { return }
        // The credential is in the body, which has to be read for it, and is therefore short.
        guard route.access != .webIdentity else {
            #expect(route.bodyPlan == .collect(maxBytes: 16_384), "\(route.template)")
            return
        }
        let path = route.template.replacing("{bucket}", with: "photos").replacing("{id}", with: "x")
            .replacing("{group}", with: "group:a")
        for token in [nil, "wrong"] + (route.access == .admin ? ["user-token"] : []) {
            let (answer, asked) = await send(route.method, path, token: token, pieces: Self.pieces(of: "{}"))
            #expect([401, 403].contains(answer.status) && asked == 0, "\(route.template): \(answer.text)")
        }
    }

    @Test(
        "that does not arrive is told as it is",
        arguments: [
            (RequestBodyError.disconnected, 400), (.timedOut, 408), (.tooLarge, 413), (.noMemory, 503),
        ])
    func broken(error: RequestBodyError, status: Int) async {
        for (path, token) in [(Self.batch, "user-token"), ("/v1/events/s3", MemoryStoreEvents.secret)] {
            let (answer, _) = await send(
                .post, path, token: token, pieces: [.success(Array("{".utf8)), .failure(error)])
            #expect(answer.status == status, "\(path): \(answer.text)")
            #expect(answer.headers[.retryAfter] == (status == 503 ? "1" : nil))
        }
    }

    @Test(
        "that comes when its sender is an admin no more changes nothing",
        arguments: [("gone", 401), ("user-token", 403)])
    func late(later: String, status: Int) async {
        let gateway = TestGateway(authenticator: ForgettingAuthenticator(later: later))
        let (answer, asked) = await send(
            .post, "/admin/v1/quotas", token: "admin-token", pieces: Self.pieces(of: Self.quota), to: gateway)
        #expect(answer.status == status && asked > 1, "\(answer.text)")
    }

    @Test("that streams changes nothing either", arguments: [("gone", 401), ("user-token", 403)])
    func lateStream(later: String, status: Int) async {
        let gateway = TestGateway(authenticator: ForgettingAuthenticator(later: later))
        let line = #"{"principal":"user:bob","bucket":"photos","prefix":"a/","actions":["PutObject"]}"#
        let (answer, asked) = await send(
            .post, "/admin/v1/grants:import", token: "admin-token", headers: [.contentType: "application/x-ndjson"],
            pieces: Self.pieces(of: line + "\n" + line.replacing("bob", with: "carol")), to: gateway)
        #expect(answer.status == status && asked > 1, "\(answer.text)")
        // Both lines had arrived, and nothing was done with them.
        let store = gateway.stores.grantBulk
        #expect(store.lines.withLock { $0.count } == 2 && store.imports.withLock { $0 } == 0)
    }

    @Test("is one of few where it is long: each principal has a share of the memory")
    func shares() async throws {
        let bodies = LongBodies()
        let (alice, bob) = (try Principal.user("alice"), try Principal.user("bob"))
        let half = LongBodies.maxBytes / 2
        for _ in 0..<2 {
            try await bodies.hold(half, of: alice) {
                try await bodies.hold(half, of: alice) {
                    await #expect(throws: GatewayError.slowDown(retryAfter: 1)) {
                        try await bodies.hold(1, of: alice) {}
                    }
                    try await bodies.hold(half, of: bob) {}
                }
                try await bodies.hold(half, of: alice) {}
            }
        }
    }

    @Test("that is long is refused unread where a signature over it is all that is shown")
    func signed() async throws {
        var headers: HeaderFields = [.authorization: "c2lnbmF0dXJl"]
        headers[try #require(HTTPField.Name("x-oss-pub-key-url"))] = Data("https://key.example/pem".utf8)
            .base64EncodedString()
        let (answer, asked) = await send(
            .post, "/v1/events/oss", token: nil, headers: headers, pieces: Self.pieces(of: "bucket=photos"))
        #expect(answer.status == 413 && asked == 0, "\(answer.text)")
    }

    @Test("that is coded is refused unread, wherever one is taken", arguments: AccessControlTests.routes.indices)
    func coded(index: Int) async {
        let route = AccessControlTests.routes[index]
        guard route.takesBody else { return }
        let path = route.template.replacing("{bucket}", with: "photos").replacing("{id}", with: "x")
            .replacing("{group}", with: "group:a")
            .replacing("{ticket}", with: "sluicet_aaaaaaaaaaaa_" + String(repeating: "A", count: 43))
        let token = route.access == .store ? MemoryStoreEvents.secret : "admin-token"
        let gateway =
            route.access == .ticket ? TestGateway(authenticator: TrustingAuthenticator()) : TestGateway()
        let type = route.access == .webIdentity ? "application/x-www-form-urlencoded" : "application/json"
        for coding in ["gzip", "GZIP", "br", "identity, gzip", "gzip,identity", ", deflate ,", "x-unknown"] {
            let headers: HeaderFields = [.contentEncoding: coding, .contentType: type]
            let plan = gateway.responder.begin(
                RequestHead(method: route.method, target: path, headerFields: headers))
            guard case .stream = plan.body else {
                Issue.record("\(route.template) has a coded body gathered")
                continue
            }
            let (answer, asked) = await send(
                route.method, path, token: token, headers: headers, pieces: Self.pieces(of: "{}"), to: gateway)
            // Without its body, the request has no credential. That is found first.
            guard route.access != .webIdentity else {
                #expect(answer.status == 400 && asked == 0, "\(route.template) \(coding): \(answer.text)")
                #expect(answer.text.contains("identity"), "\(route.template) \(coding): \(answer.text)")
                continue
            }
            #expect(answer.status == 415 && asked == 0, "\(route.template) \(coding): \(answer.text)")
            #expect(answer.headers[.acceptEncoding] == "identity")
            // Protocols have refusals in forms of their own.
            let detail = route.clientProtocol == nil ? answer.string("detail") : answer.text
            #expect(detail?.contains("identity") == true, "\(route.template) \(coding): \(answer.text)")
        }
        for coding in ["", "identity", "Identity", " ,identity,\t", "identity, IDENTITY"] {
            let headers: HeaderFields = [.contentEncoding: coding, .contentType: type]
            #expect(
                gateway.responder.begin(
                    RequestHead(method: route.method, target: path, headerFields: headers)
                ).body == route.bodyPlan)
            let (answer, _) = await send(
                route.method, path, token: token, headers: headers, pieces: Self.pieces(of: "{}"), to: gateway)
            #expect(answer.headers[.acceptEncoding] == nil, "\(route.template) '\(coding)': \(answer.text)")
        }
    }

    @Test("may be left out, or an object without members, wherever the contract does not ask for one")
    func optional() async throws {
        let contract = try ContractDocument.shared.get()
        var names: Set<String> = []
        for operation in contract.operations where operation.method == "POST" {
            let request = contract.resolved(operation.body.requestBody)
            guard request.required?.flag != true else { continue }
            names.insert(operation.name)
            var statuses: Set<Int> = []
            for json in [nil, "", "{}", " {} "] {
                let gateway = TestGateway()
                let answer = try await post(operation, json, to: gateway)
                #expect(![400, 413, 415].contains(answer.status), "\(operation.name) \(json ?? "-"): \(answer.text)")
                statuses.insert(answer.status)
            }
            #expect(statuses.count == 1, "\(operation.name)")
            for json in ["[]", "null", "{", "0", #"{"nosuch":1}"#, #"{"":{}}"#, "{}{}"] {
                let answer = try await post(operation, json, to: TestGateway())
                #expect(answer.status == 400, "\(operation.name) \(json): \(answer.text)")
            }
            let text = try await post(operation, "{}", type: "text/plain", to: TestGateway())
            #expect(text.status == 415, "\(operation.name)")
        }
        #expect(names.count { $0.contains(":confirm") } == 2)
        #expect(names.contains { $0.contains(":rotate") } && names.contains { $0.contains(":validate") })
    }

    /// Sends a POST to an existing row.
    private func post(
        _ operation: ContractDocument.Operation, _ json: String?, type: String? = nil, to gateway: TestGateway
    ) async throws -> TestAnswer {
        if operation.path.contains("{bucket}") { try await gateway.makeBucket() }
        if operation.path.contains("/issuers/{id}") { try await gateway.makeIssuer() }
        if operation.path.hasPrefix("/admin/v1/api-keys/{id}") {
            let key = APIKey(
                id: MemoryUploads.openID, prefix: "abcdefghij01", hash: Digest(), name: "key",
                principal: try .user("alice"), createdAt: TestGateway.now)
            _ = try await gateway.stores.apiKeys.create(
                key, by: ChangeContext(actor: .bootstrapAdmin, requestID: ""))
        }
        let path = operation.path.replacing("{bucket}", with: "photos")
            .replacing("{id}", with: MemoryUploads.openID.lowercaseText)
        var headers: HeaderFields = [:]
        headers[.contentType] = type
        return await gateway.send(.post, path, token: "admin-token", headers: headers, json: json)
    }
}

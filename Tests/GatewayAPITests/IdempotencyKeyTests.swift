import ContractTesting
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

@Suite("Idempotency keys")
struct IdempotencyKeyTests {
    private static let quota = #"{"principal": "user:a", "metric": "urls", "period": "day", "limit": 5}"#
    private static func quota(per period: String) -> String { quota.replacing("day", with: period) }
    private static let download = #"{"action": "GetObject", "bucket": "photos", "key": "uploads/a"}"#

    private func post(
        _ path: String, _ body: String, key: String?, to gateway: TestGateway, token: String = "admin-token"
    ) async -> TestAnswer {
        var headers = HeaderFields()
        headers[.idempotencyKey] = key
        return await gateway.send(.post, path, token: token, headers: headers, json: body)
    }

    @Test("the same request gets the same answer once more, and takes effect once")
    func replay() async {
        let gateway = TestGateway()
        let first = await post("/admin/v1/quotas", Self.quota, key: "k1", to: gateway)
        #expect(first.status == 201 && first.headers[.idempotencyReplayed] == nil)
        let second = await post("/admin/v1/quotas", Self.quota, key: "k1", to: gateway)
        #expect(second.status == 201 && second.bytes == first.bytes)
        #expect(second.headers[.location] == first.headers[.location])
        #expect(second.headers[.eTag] == first.headers[.eTag])
        #expect(second.headers[.idempotencyReplayed] == "true")
        #expect(second.headers[.requestID] != first.headers[.requestID])
        #expect(gateway.stores.quotas.changes.withLock { $0.count } == 1)
        let (hourly, monthly) = (Self.quota(per: "hour"), Self.quota(per: "month"))
        let other = await post("/admin/v1/quotas", hourly, key: "k2", to: gateway)
        #expect(other.status == 201 && other.string("id") != first.string("id"))
        let without = await post("/admin/v1/quotas", monthly, key: nil, to: gateway)
        #expect(without.status == 201 && without.string("id") != first.string("id"))
    }

    @Test("another body, white space too, or another path under the same key is refused")
    func otherRequest() async {
        let gateway = TestGateway()
        _ = await post("/admin/v1/quotas", Self.quota, key: "k1", to: gateway)
        for body in [Self.quota.replacing("5", with: "6"), Self.quota + " ", Self.quota.replacing(": ", with: ":")] {
            let answer = await post("/admin/v1/quotas", body, key: "k1", to: gateway)
            #expect(answer.status == 422 && answer.string("code") == "IdempotencyKeyReused")
        }
        #expect(gateway.stores.quotas.changes.withLock { $0.count } == 1)
        let reset = #"{"all": true}"#
        let ids = [StubPolicy.quotaID.lowercaseText, StubPolicy.grantID.lowercaseText]
        #expect(await post("/admin/v1/quotas/\(ids[0]):reset", reset, key: "k1", to: gateway).status == 200)
        #expect(await post("/admin/v1/quotas/\(ids[1]):reset", reset, key: "k1", to: gateway).status == 422)
        var demanding: HeaderFields = [.ifMatch: "*"]
        demanding[.idempotencyKey] = "k1"
        let answer = await gateway.send(
            .post, "/admin/v1/quotas", token: "admin-token", headers: demanding, json: Self.quota)
        #expect(answer.status == 422)
    }

    @Test("a refusal is not kept: the request may be tried again")
    func refusal() async {
        let gateway = TestGateway()
        let bad = await post("/admin/v1/quotas", "{}", key: "k1", to: gateway)
        #expect(bad.status == 400)
        #expect(await post("/admin/v1/quotas", Self.quota, key: "k1", to: gateway).status == 201)
    }

    @Test("what is cancelled ends its claim: its answer is kept, or its key is free", arguments: [true, false])
    func cancelled(hasEffect: Bool) async {
        let gateway = TestGateway()
        let start = Latch()
        let request = Task {
            await start.wait()
            return await post("/admin/v1/quotas", hasEffect ? Self.quota : "{}", key: "k1", to: gateway)
        }
        gateway.idempotency.whenActing.withLock { $0 = { request.cancel() } }
        start.open()
        let answer = await request.value
        #expect(request.isCancelled && answer.status == (hasEffect ? 201 : 400), "\(answer.text)")
        let again = await post("/admin/v1/quotas", Self.quota, key: "k1", to: gateway)
        #expect(again.status == 201, "\(again.text)")
        #expect(again.headers[.idempotencyReplayed] == (hasEffect ? "true" : nil))
        #expect(gateway.stores.quotas.changes.withLock { $0.count } == 1)
    }

    @Test func `a key is free at once if its request was cancelled while it was claimed, or before`() async {
        for isClaimed in [true, false] {
            let gateway = TestGateway()
            let start = Latch()
            let request = Task {
                await start.wait()
                return await post("/admin/v1/quotas", Self.quota, key: "k1", to: gateway)
            }
            if isClaimed {
                gateway.idempotency.whenClaimed.withLock { $0 = { request.cancel() } }
            } else {
                request.cancel()
            }
            start.open()
            let answer = await request.value
            #expect(answer.status == 503, "\(answer.text)")
            #expect(gateway.idempotency.calls.withLock { $0 } == (isClaimed ? 1 : 0))
            gateway.idempotency.whenClaimed.withLock { $0 = nil }
            let again = await post("/admin/v1/quotas", Self.quota, key: "k1", to: gateway)
            #expect(again.status == 201 && again.headers[.idempotencyReplayed] == nil, "\(again.text)")
            #expect(gateway.stores.quotas.changes.withLock { $0.count } == 1)
        }
    }

    @Test("who may not call an operation gets no answer of it by a key")
    func roles() async {
        let gateway = TestGateway()
        _ = await post("/admin/v1/quotas", Self.quota, key: "k1", to: gateway)
        for (token, status) in [("auditor-token", 403), ("user-token", 403), ("wrong", 401)] {
            let answer = await post("/admin/v1/quotas", Self.quota, key: "k1", to: gateway, token: token)
            #expect(answer.status == status)
        }
    }

    @Test("a kept answer is for credentials with the same groups and claims; what is issued again is decided again")
    func otherIdentity() async {
        let tokens = ["user-token", "grouped-token", "tenant-token"]
        for first in tokens {
            for second in tokens {
                let gateway = TestGateway()
                let wish = #"{"bucket": "photos", "prefix": "uploads/"}"#
                let made = await post("/v1/tickets", wish, key: "nightly", to: gateway, token: first)
                #expect(made.status == 201, "\(made.text)")
                let again = await post("/v1/tickets", wish, key: "nightly", to: gateway, token: second)
                #expect(again.status == (first == second ? 201 : 422), "\(first) \(second): \(again.text)")
                #expect(again.text.contains(made.string("ticket") ?? "none") == (first == second))
                for token in [first, second] {
                    let link = await post(
                        "/v1/presigned-urls", Self.download, key: "nightly", to: gateway, token: token)
                    #expect(link.status == 201, "\(link.text)")
                }
            }
        }
    }

    @Test(
        "hostile keys are refused before anything happens",
        arguments: ["", " ", "a b", "ä", String(repeating: "k", count: 256)])
    func hostileKeys(key: String) async {
        let gateway = TestGateway()
        let answer = await post("/admin/v1/quotas", Self.quota, key: key, to: gateway)
        #expect(answer.status == 400 && answer.string("field") == "Idempotency-Key", "\(answer.text)")
        #expect(gateway.stores.quotas.changes.withLock { $0.isEmpty })
        #expect(gateway.idempotency.calls.withLock { $0 } == 0)
    }

    @Test("two keys are none, 255 bytes are one")
    func bounds() async {
        let gateway = TestGateway()
        var headers = HeaderFields()
        headers[values: .idempotencyKey] = ["a", "a"]
        let answer = await gateway.send(
            .post, "/admin/v1/quotas", token: "admin-token", headers: headers, json: Self.quota)
        #expect(answer.status == 400 && answer.string("field") == "Idempotency-Key")
        let longest = String(repeating: "~", count: 255)
        #expect(await post("/admin/v1/quotas", Self.quota, key: longest, to: gateway).status == 201)
    }

    @Test("what streams takes no key")
    func streams() async {
        let gateway = TestGateway()
        for route in gateway.responder.router.routes where route.method == .post {
            guard case .stream = route.bodyPlan else { continue }
            let answer = await post(route.template, "{}", key: "k1", to: gateway)
            #expect(answer.status == 400 && answer.string("field") == "Idempotency-Key", "\(route.template)")
            #expect(gateway.idempotency.calls.withLock { $0 } == 0)
        }
    }

    @Test("the protocols of other clients know no keys: one is passed over")
    func protocols() async {
        let gateway = TestGateway()
        let routes = gateway.responder.router.routes.filter { $0.clientProtocol != nil && $0.method == .post }
        #expect(!routes.isEmpty && routes.allSatisfy { $0.repetition == .kept })
        for route in routes {
            let head = RequestHead(
                method: .post, target: route.template,
                headerFields: [
                    .authorization: "Bearer user-token", .contentType: "application/json", .idempotencyKey: "k1",
                ])
            let request = ServerRequest(head: head, body: .collected(Array("{}".utf8)))
            let answer = await TestAnswer(collecting: gateway.responder.respond(to: request))
            #expect(answer.headers[.idempotencyReplayed] == nil, "\(route.template)")
        }
        #expect(gateway.idempotency.calls.withLock { $0 } == 0)
    }

    @Test("without a key, and by other methods, nothing is looked up")
    func noKey() async {
        let gateway = TestGateway()
        _ = await post("/v1/presigned-urls", Self.download, key: nil, to: gateway)
        _ = await gateway.send(
            .get, "/admin/v1/quotas", token: "admin-token", headers: [.idempotencyKey: "k1"])
        #expect(gateway.idempotency.calls.withLock { $0 } == 0)
    }

    private func text(of answer: TestAnswer) -> String {
        answer.text.replacing(answer.headers[.requestID] ?? "", with: "")
    }

    @Test("whatever is issued is issued once, and signed again the same")
    func issuedAgain() async throws {
        let contract = try ContractDocument.shared.get()
        let routes = TestGateway().responder.router.routes.filter { $0.repetition == .issuedAgain }
        for route in routes {
            let operation = try #require(contract.operation("POST", route.template))
            let content = contract.resolved(operation.body.requestBody).content
            for (name, example) in contract.examples(in: content, "application/json") {
                let gateway = TestGateway(policy: .ofExamples)
                let body = String(decoding: try example.bytes, as: UTF8.self)
                let path = route.template.replacing("{id}", with: MemoryUploads.openID.lowercaseText)
                let first = await post(path, body, key: "k", to: gateway, token: "user-token")
                #expect(200..<300 ~= first.status && first.headers[.idempotencyReplayed] == nil)
                let recorded = gateway.ledger.proposals.withLock { $0.count }
                #expect(recorded > 0)
                let second = await post(path, body, key: "k", to: gateway, token: "user-token")
                // The problem of a refused batch item names the request that it belongs to.
                #expect(text(of: second) == text(of: first), "\(route.template) \(name)")
                #expect(second.headers[.idempotencyReplayed] == "true")
                #expect(gateway.ledger.proposals.withLock { $0.count } == recorded)
                let other = await post(path, body, key: "another", to: gateway, token: "user-token")
                #expect(other.bytes != first.bytes || route.template.contains("signatures"))
                #expect(gateway.idempotency.kept.isEmpty)
            }
        }
    }

    @Test("of what was issued nothing is kept, of other answers what they say")
    func whatIsKept() async throws {
        let gateway = TestGateway()
        let issued = await post("/v1/presigned-urls", Self.download, key: "k1", to: gateway, token: "user-token")
        #expect(issued.status == 201)
        #expect(gateway.idempotency.kept.isEmpty)
        let key = await post("/admin/v1/api-keys", #"{"name":"n","principal":"user:a"}"#, key: "k1", to: gateway)
        let kept = try #require(KeptAnswer(bytes: gateway.idempotency.kept))
        guard case .bytes(let bytes) = kept.response.body else {
            Issue.record("The kept answer is not whole.")
            return
        }
        #expect(bytes == key.bytes)
    }

    @Test("every operation that issues says so, and every POST takes a key")
    func routes() {
        let routes = TestGateway().responder.router.routes.filter { $0.method == .post }
        let issuing = routes.filter { $0.repetition == .issuedAgain }.map(\.template)
        #expect(
            Set(issuing) == [
                "/v1/presigned-urls", "/v1/presigned-urls/batch", "/v1/post-policies",
                "/v1/multipart-uploads/{id}/parts",
                "/v1/signatures/oss", "/v1/signatures/aws-v2", "/v1/sts", "/v1/cdn-cookies",
            ])
    }

    @Test("the answer to the largest batch of grants is kept")
    func largestBatch() async throws {
        let gateway = TestGateway()
        let writes = (0..<GrantBatch.maxCount).map { number in
            #"{"principal":"user:bob","bucket":"photos","prefix":"\#(number)/","actions":["PutObject"]}"#
        }
        let body = #"{"writes":["# + writes.joined(separator: ",") + "]}"
        let answer = await post("/admin/v1/grants:apply", body, key: "k1", to: gateway)
        #expect(answer.status == 200)
        let kept = try #require(KeptAnswer(bytes: gateway.idempotency.kept))
        guard case .bytes(let bytes) = kept.response.body else {
            Issue.record("The kept answer is not whole.")
            return
        }
        #expect(bytes == answer.bytes && bytes.count > 1 << 20)
    }

    @Test("what is too long or streams is not kept")
    func longAnswers() {
        func answer(_ body: ResponseBody) -> ServerResponse {
            ServerResponse(head: ResponseHead(status: .ok, headerFields: [.contentType: "text/plain"]), body: body)
        }
        #expect(KeptAnswer(answer(.bytes([UInt8](repeating: 65, count: 2 << 20)))) != nil)
        #expect(KeptAnswer(answer(.bytes([UInt8](repeating: 65, count: 2 << 20 + 1)))) == nil)
        #expect(KeptAnswer(answer(.stream(length: nil) { _ in })) == nil)
        #expect(KeptAnswer(bytes: Array("{}".utf8)) == nil)
    }
}

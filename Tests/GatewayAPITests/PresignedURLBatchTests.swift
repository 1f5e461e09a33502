import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import PrometheusMetrics
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("POST /v1/presigned-urls/batch")
struct PresignedURLBatchTests {
    private static let path = "/v1/presigned-urls/batch"

    @Test("answers each item as a single request would be, in order")
    func partialFailure() async throws {
        let gateway = TestGateway()
        let body = """
            {"items": [
                {"action": "PutObject", "bucket": "photos", "keyPrefix": "uploads/", "keyExtension": "png", "contentType": "image/png"},
                {"action": "GetObject", "bucket": "photos", "key": "elsewhere"},
                {"action": "GetObject", "bucket": "photos", "key": "uploads/x", "colour": "red"}, 7,
                {"action": "GetObject", "bucket": "photos", "key": "uploads/b"}
            ]}
            """
        let answer = await gateway.send(.post, Self.path, token: "user-token", json: body)
        #expect(answer.status == 200, "\(answer.text)")
        let results = try #require(answer.json["results"] as? [[String: Any]])
        #expect(results.map { $0["status"] as? Int } == [nil, 403, 400, 400, nil])
        #expect(
            results.map { $0["code"] as? String } == [nil, "AccessDenied", "InvalidArgument", "InvalidArgument", nil])
        #expect(results.map { $0["field"] as? String } == [nil, nil, "colour", "body", nil])
        let requestID = answer.headers[.requestID]
        #expect(results[1]["requestID"] as? String == requestID)
        let key = try #require(results[0]["key"] as? String)
        #expect(key.hasPrefix("uploads/") && key.hasSuffix(".png") && key.utf8.count == 48)
        #expect((results[0]["url"] as? String)?.hasPrefix("https://store.example/photos/\(key)?") == true)
        let proposals = gateway.ledger.proposals.withLock { $0 }
        #expect(
            proposals.map { $0.id.uuidString.lowercased() } == [
                results[0]["id"] as? String, results[4]["id"] as? String,
            ])
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(answer.headers[.rateLimit] == #""018f0000-0000-7000-8000-00000000000d";r=98;t=3600"#)
        #expect(
            String(decoding: gateway.metrics.text(), as: UTF8.self).contains(
                #"sluice_refused_total{code="InvalidArgument"} 2"#))
    }

    @Test("takes up to 1,000 items, and a body larger than other routes take")
    func limits() async throws {
        let item = #"{"action":"GetObject","bucket":"photos","key":"uploads/b"}"#
        let gateway = TestGateway()
        for (count, status) in [(0, 200), (1000, 200), (1001, 400)] {
            let body = "{\"items\":[" + repeatElement(item, count: count).joined(separator: ",") + "]}"
            let answer = await gateway.send(.post, Self.path, token: "user-token", json: body)
            #expect(answer.status == status)
            #expect(status != 200 || (answer.json["results"] as? [Any])?.count == count)
            #expect(status != 400 || answer.string("field") == "items")
        }
        let head = RequestHead(method: .post, target: Self.path)
        #expect(gateway.responder.begin(head).body == .collect(maxBytes: 2_097_152))
    }

    @Test(
        "a body that is no batch is refused",
        arguments: [("{}", "items"), (#"{"items":{}}"#, "items"), (#"{"items":[],"x":1}"#, "x")])
    func badBody(body: String, field: String) async {
        let answer = await TestGateway().send(.post, Self.path, token: "user-token", json: body)
        #expect(answer.status == 400)
        #expect(answer.string("field") == field)
    }

    @Test("without a ledger no item has a URL")
    func unavailable() async throws {
        let gateway = TestGateway(ledger: StubLedger(failure: .unavailable(retryAfter: 3)))
        let body = #"{"items":[{"action":"GetObject","bucket":"photos","key":"uploads/b"}]}"#
        let answer = await gateway.send(.post, Self.path, token: "user-token", json: body)
        #expect((answer.json["results"] as? [[String: Any]])?.map { $0["status"] as? Int } == [503])
        #expect(!answer.text.contains("Signature"))
    }
}

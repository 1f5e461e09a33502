import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("POST /v1/presigned-urls")
struct PresignedURLTests {
    let upload = #"{"action":"PutObject","bucket":"photos","key":"uploads/a.png","contentType":"image/png"}"#

    @Test("answers 201 with everything a client needs, and lets nobody keep it")
    func issues() async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: upload)
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.string("method") == "PUT")
        #expect(answer.string("url")?.hasPrefix("https://store.example/photos/uploads/a.png?") == true)
        #expect((answer.json["headers"] as? [String: String])?.keys.map { $0.lowercased() } == ["content-type"])
        #expect(answer.number("expiresIn") == 900)
        #expect(answer.string("expiresAt") == "2030-03-17T18:01:40Z")
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(answer.headers[.rateLimit] == #""018f0000-0000-7000-8000-00000000000d";r=99;t=3600"#)
        #expect(
            answer.headers[.rateLimitPolicy]
                == #""018f0000-0000-7000-8000-00000000000d";q=100;w=86400;qu="requests""#)
        let proposals = gateway.ledger.proposals.withLock { $0 }
        #expect(proposals.map { $0.id.uuidString.lowercased() } == [answer.string("id")])
        #expect(proposals.first?.requestID == answer.headers[.requestID])
    }

    @Test("what does not hold what was decided is a fault inside, and a line in the log")
    func unproven() async throws {
        let item = #"{"items":[\#(upload)]}"#
        for (path, body) in [("/v1/presigned-urls", upload), ("/v1/presigned-urls/batch", item)] {
            let gateway = TestGateway(ledger: StubLedger(failure: .unproven(.header)))
            let answer = await gateway.send(.post, path, token: "user-token", json: body)
            #expect(answer.text.contains("InternalError") && !answer.text.contains("X-Amz"), "\(answer.text)")
            #expect(answer.status == (path.hasSuffix("batch") ? 200 : 500))
            #expect(gateway.logLines.contains("does not hold what was decided"))
            #expect(gateway.logLines.contains("header") && !gateway.logLines.contains("a.png"))
        }
    }

    @Test("a quota that is full answers 429, which one, and when to come again")
    func quota() async throws {
        let refusal = QuotaRefusal(
            quotaID: "018f", metric: .urls, period: .day, limit: 100, remaining: 0, resetsIn: 120
        )
        let gateway = TestGateway(ledger: StubLedger(verdict: .quotaExceeded(refusal)))
        let answer = await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: upload)
        #expect(answer.status == 429)
        #expect(answer.string("code") == "QuotaExceeded")
        #expect(answer.headers[.retryAfter] == "120")
        #expect(answer.headers[.rateLimit] == #""018f";r=0;t=120"#)
        #expect(answer.headers[.rateLimitPolicy] == #""018f";q=100;w=86400;qu="requests""#)
        #expect((answer.json["quota"] as? [String: Any])?["id"] as? String == "018f")
        #expect(answer.number("remaining") == 0)
    }

    @Test("the source address that decides is the one trusted proxies name")
    func sourceAddress() async throws {
        let conditions = GrantConditions(sourceCIDRs: ["203.0.113.0/24"])
        let networks = try ["192.0.2.0/24"].map { try #require(IPNetwork($0)) }
        let settings = APISettings(trustedProxies: TrustedProxies(networks: networks))
        let gateway = TestGateway(settings, policy: StubPolicy(conditions: conditions))
        let cases: [(String?, String, Int)] = [
            ("203.0.113.9", "192.0.2.7", 201),
            ("203.0.113.9, 192.0.2.8", "192.0.2.7", 201),
            ("203.0.113.9, 198.51.100.1", "192.0.2.7", 403),
            (nil, "192.0.2.7", 403),
            ("203.0.113.9", "198.51.100.1", 403),
            ("unknown", "192.0.2.7", 403),
            (nil, "203.0.113.9", 201),
        ]
        for (forwardedFor, peer, status) in cases {
            var headers = HeaderFields()
            headers[.forwardedFor] = forwardedFor
            let answer = await gateway.send(
                .post, "/v1/presigned-urls", token: "user-token", headers: headers, json: upload, from: peer)
            #expect(answer.status == status, "\(forwardedFor ?? "-") from \(peer): \(answer.text)")
        }
    }

    @Test(
        "a body that is not exactly what the operation takes is refused by the member's name",
        arguments: [
            (#"{"action":"PutObject","bucket":"photos","key":"a","contentType":"a/b","colour":"red"}"#, "colour"),
            (#"{"action":"GetObject","bucket":"photos","key":"a","response":{"x":"y"}}"#, "response.x"),
            (#"{"action":"GetObject","bucket":"photos","key":7}"#, "key"),
            (#"{"action":"Delete","bucket":"photos","key":"a"}"#, "action"),
            (#"{"action":"GetObject","bucket":"photos","key":"a","expiresIn":1.5}"#, "expiresIn"),
            (#"{"action":"GetObject","bucket":"photos","key":"a","expiresIn":"9"}"#, "expiresIn"),
            (#"{"action":"GetObject","bucket":"photos"}"#, "key"),
            (
                #"{"action":"PutObject","bucket":"photos","key":"a","contentType":"a/b","metadata":{"a":1}}"#,
                "metadata.a"
            ),
            ("[]", "body"), ("", "body"), ("{", "body"),
        ]
    )
    func badBody(body: String, field: String) async {
        let answer = await TestGateway().send(.post, "/v1/presigned-urls", token: "user-token", json: body)
        #expect(answer.status == 400)
        #expect(answer.string("code") == "InvalidArgument")
        #expect(answer.string("field") == field)
    }

    @Test("a ledger that is gone is 503 with Retry-After, and no URL")
    func unavailable() async {
        let gateway = TestGateway(ledger: StubLedger(failure: .unavailable(retryAfter: 3)))
        let answer = await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: upload)
        #expect(answer.status == 503)
        #expect(answer.headers[.retryAfter] == "3")
        #expect(!answer.text.contains("Signature"))
    }

    @Test("the cause of a 503 is in the line of its request, and its advice alone in the answer")
    func cause() async throws {
        for advice in [nil, "An admin finds out why."] {
            let cause = Cause("PostgreSQL: FATAL 57P03: starting up", advice: advice)
            for failure in [
                GatewayError.unavailable(retryAfter: 3, cause: cause), .slowDown(retryAfter: 3, cause: cause),
            ] {
                let gateway = TestGateway(ledger: StubLedger(failure: failure))
                let answer = await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: upload)
                #expect(answer.string("detail") == advice)
                #expect(!answer.text.contains("57P03"))
                let line = try #require(gateway.requestLog.requests.withLock { $0.last })
                #expect(line.cause?.description == cause.description)
                #expect(line.id == answer.string("requestID"))
            }
        }
    }

    @Test("what the server lacks is in the log of what it refuses")
    func shortage() throws {
        for shortage in ServerFailure.Shortage.allCases {
            let gateway = TestGateway()
            _ = gateway.responder.response(to: .unavailable(retryAfter: 1, lacking: shortage))
            #expect(gateway.logLines.contains(shortage.rawValue))
        }
    }
}

import Bytes
import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("Temporary credentials")
struct SessionEndpointTests {
    private let path = "/v1/sts/oss?bucket=photos&prefix=uploads/"

    @Test("come in exactly the body that the OSS SDKs read, also on a ticket in the URL")
    func credentialsURI() async throws {
        let body = #"""
            {"StatusCode":200,"Code":"Success","AccessKeyId":"STS.N1","AccessKeySecret":"session-secret",\#
            "SecurityToken":"session-token/+=","Expiration":"2030-03-17T18:46:40Z"}
            """#
        let answer = await TestGateway().send(.get, path, token: "user-token")
        #expect(answer.status == 200)
        #expect(answer.text == body)
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(answer.headers[.contentType] == "application/json")

        let (text, ticket) = try TicketTests.row()
        let fixture = IssuerFixture()
        fixture.policy.add(ticket)
        let gateway = TestGateway(authenticator: fixture.authenticator)
        let bare = await gateway.send(.get, "/distribute-token.json?ticket=\(text)")
        #expect(bare.text == body)
        let order = try #require(gateway.opener.orders.withLock { $0.first })
        #expect(order.policy.contains("acs:oss:*:*:photos/uploads/*") && !order.policy.contains("PutObject"))
        #expect(order.name == "alice")
        let proposal = try #require(gateway.ledger.proposals.withLock { $0.first })
        #expect(proposal.charges.contains { $0.quota.id == ticket.id && $0.quota.limit == 3 })
        #expect(proposal.scopes.contains(.ticket(name: ticket.name)))
        for secret in [text, "session-secret", "session-token"] { #expect(!gateway.logLines.contains(secret)) }
    }

    @Test("are refused with status 200 and the reason in the body, never with null")
    func refusals() async throws {
        let cases: [(String, String?, Int, String)] = [
            (path, nil, 401, "Unauthenticated"), (path, "expired-token", 401, "ExpiredToken"),
            ("/v1/sts/oss", "user-token", 400, "InvalidArgument"),
            ("/v1/sts/oss?bucket=photos&prefix=other/", "user-token", 403, "AccessDenied"),
            ("/v1/sts/oss?bucket=nosuch", "user-token", 403, "AccessDenied"),
            ("/v1/sts/oss?bucket=photos&actions=Delete", "user-token", 400, "InvalidArgument"),
            ("/v1/sts/oss?bucket=photos&actions=", "user-token", 400, "InvalidArgument"),
            ("/v1/sts/oss?bucket=photos&expiresIn=x", "user-token", 400, "InvalidArgument"),
            ("/distribute-token.json?ticket=x", nil, 401, "Unauthenticated"),
            ("/distribute-token.json?ticket=sluicet_aaaaaaaaaaaa_\(String(repeating: "A", count: 43))", nil, 401, ""),
        ]
        for (path, token, status, code) in cases {
            let answer = await TestGateway().send(.get, path, token: token)
            #expect(answer.status == 200)
            #expect(answer.number("StatusCode") == status, "\(path): \(answer.text)")
            #expect(code.isEmpty || answer.string("ErrorCode") == code)
            #expect(answer.string("ErrorMessage")?.isEmpty == false)
            #expect(Set(answer.json.keys) == ["StatusCode", "Code", "ErrorCode", "ErrorMessage"])
            #expect(answer.string("Code") == answer.string("ErrorCode"))
            #expect(answer.headers[.cacheControl] == "no-store")
        }
        let slow = TestGateway(opener: StubOpener(failure: .slowDown(retryAfter: 2)))
        #expect(await slow.send(.get, path, token: "user-token").number("StatusCode") == 503)
        #expect(slow.ledger.proposals.withLock { $0.isEmpty })
    }

    @Test("on a ticket with a key are a JWE that only the key opens")
    func encryption() async throws {
        var (text, ticket) = try TicketTests.row()
        let key = [UInt8](0..<32)
        ticket.responseKey = Secret(key)
        let fixture = IssuerFixture()
        fixture.policy.add(ticket)
        let answer = await TestGateway(authenticator: fixture.authenticator).send(
            .get, "/distribute-token.json?ticket=\(text)")
        #expect(answer.headers[.contentType] == "application/jose")
        let parts = answer.text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        try #require(parts.count == 5)
        #expect(Base64URL.decode(parts[0]) == Array(#"{"alg":"dir","enc":"A256GCM"}"#.utf8))
        #expect(parts[1].isEmpty)
        let sealed = try [2, 3, 4].map { try #require(Base64URL.decode(parts[$0])) }
        #expect(sealed[0].count == 12 && sealed[2].count == 16)
        let body = try AESGCMKey(key).open(sealed.flatMap { $0 }, authenticating: Array(parts[0]))
        #expect(
            String(decoding: body, as: UTF8.self).hasPrefix(
                #"{"StatusCode":200,"Code":"Success","AccessKeyId":"STS.N1""#))
    }

    @Test("name the address that links have by default")
    func publicEndpoint() async throws {
        var policy = StubPolicy()
        policy.publicEndpoints = [
            .default: PublicEndpoint(url: "https://files.example", addressing: .cname),
            .internal: PublicEndpoint(url: "https://internal.example"),
        ]
        let answer = await TestGateway(policy: policy).send(
            .post, "/v1/sts", token: "user-token", json: #"{"bucket":"photos","actions":["oss:PutObject"]}"#)
        #expect(answer.string("endpoint") == "https://files.example" && answer.string("addressing") == "cname")
    }

    @Test("come with endpoint, region and the scope that was granted, and are on record")
    func general() async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(
            .post, "/v1/sts", token: "user-token",
            json: #"{"bucket":"photos","prefix":"","actions":["oss:PutObject"],"expiresIn":900}"#)
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.string("endpoint") == "https://store.example")
        #expect(answer.string("expiresAt") == "2030-03-17T18:01:40Z")
        let credentials = answer.json["credentials"] as? [String: String]
        #expect(credentials?["sessionToken"] == "session-token/+=")
        let scope = try #require((answer.json["scope"] as? [[String: Any]])?.first)
        #expect(scope["action"] as? String == "PutObject")
        #expect(scope["allow"] as? [String] == ["uploads/"])
        #expect((answer.json["notGranted"] as? [Any])?.isEmpty == true)
        #expect(answer.headers[.rateLimit] != nil)
        let proposal = try #require(gateway.ledger.proposals.withLock { $0.first })
        #expect(proposal.delivery == .sts && proposal.method == "*" && proposal.key.rawValue == "uploads/")
        #expect(proposal.action == .putObject && proposal.furtherActions.isEmpty)
        #expect(proposal.expiresAt == TestGateway.now.addingTimeInterval(900))
        #expect(answer.string("id") == proposal.id.uuidString.lowercased())
        #expect(!gateway.logLines.contains("session-"))
        let failed = TestGateway(opener: StubOpener(failure: .slowDown(retryAfter: 2)))
        let slow = await failed.send(.post, "/v1/sts", token: "user-token", json: #"{"bucket":"photos"}"#)
        #expect(slow.status == 503)
        #expect(slow.headers[.retryAfter] == "2")
    }

    @Test("say which action they go without and why, and are refused to whoever names it")
    func omissions() async throws {
        var policy = StubPolicy()
        policy.conditions = GrantConditions(contentTypes: ["image/*"], allowResponseContentType: true)
        let gateway = TestGateway(policy: policy)
        let answer = await gateway.send(
            .post, "/v1/sts", token: "user-token", json: #"{"bucket":"photos","prefix":"uploads/a/"}"#)
        #expect(answer.status == 201, "\(answer.text)")
        let lost = try #require(answer.json["notGranted"] as? [[String: String]])
        #expect(lost.count == 1 && lost[0]["action"] == "PutObject" && lost[0]["code"] == "NotEnforceable")
        #expect(lost[0]["bucket"] == "photos" && lost[0]["prefix"] == "uploads/a/")
        #expect(lost[0]["reason"]?.contains("presigned URLs") == true)
        let plain = await gateway.send(.get, path, token: "user-token")
        #expect(plain.string("Code") == "Success")
        let message = try #require(plain.string("StatusMessage"))
        #expect(message.contains("PutObject on 'photos' below 'uploads/'") && message.contains("presigned URLs"))
        let count = gateway.ledger.proposals.withLock { $0.count }

        let refused = await gateway.send(.get, path + "&actions=GetObject,PutObject", token: "user-token")
        #expect(refused.number("StatusCode") == 422 && refused.string("Code") == "NotEnforceable")
        #expect(refused.string("ErrorMessage")?.hasPrefix("PutObject: ") == true, "\(refused.text)")
        let named = await gateway.send(
            .post, "/v1/sts", token: "user-token",
            json: #"{"bucket":"photos","prefix":"uploads/","actions":["PutObject","GetObject"]}"#)
        #expect(named.status == 422 && named.string("detail")?.hasPrefix("PutObject: ") == true)
        #expect(gateway.ledger.proposals.withLock { $0.count } == count)
        let reading = await gateway.send(.get, path + "&actions=GetObject", token: "user-token")
        #expect(reading.string("Code") == "Success" && reading.json["StatusMessage"] == nil, "\(reading.text)")
    }

    @Test("that cannot be recorded do not leave", arguments: [GatewayError.unavailable(retryAfter: 1)])
    func unrecorded(error: GatewayError) async {
        let gateway = TestGateway(ledger: StubLedger(failure: error))
        let answer = await gateway.send(.get, path, token: "user-token")
        #expect(answer.number("StatusCode") == 503)
        #expect(!answer.text.contains("session-"))
    }

    @Test("a ticket that is used up is one that has ended")
    func usedUp() async throws {
        let (text, ticket) = try TicketTests.row()
        let fixture = IssuerFixture()
        fixture.policy.add(ticket)
        let refusal = QuotaRefusal(
            quotaID: ticket.id.uuidString.lowercased(), metric: .urls, period: .total, limit: 3, remaining: 0,
            resetsIn: nil)
        let gateway = TestGateway(
            ledger: StubLedger(verdict: .quotaExceeded(refusal)), authenticator: fixture.authenticator)
        let answer = await gateway.send(.get, "/distribute-token.json?ticket=\(text)")
        #expect(answer.string("ErrorCode") == "ExpiredToken")
        #expect(answer.number("StatusCode") == 401)
        #expect(answer.string("ErrorMessage") == "All uses of the ticket are taken; fetch a new one.")
    }
}

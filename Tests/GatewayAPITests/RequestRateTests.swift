import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("The rate of requests")
struct RequestRateTests {
    private static let origin = ContinuousClock.now

    private let alice: Principal

    init() throws {
        alice = try .user("alice")
    }

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.origin + .milliseconds(milliseconds) }

    private func refusal(_ take: () throws -> Void) -> RateRefusal? {
        do {
            try take()
            return nil
        } catch {
            guard case .tooManyRequests(let refusal)? = error as? APIError else { return nil }
            return refusal
        }
    }

    @Test("a bucket holds its burst, fills up at its rate and never beyond")
    func bucket() {
        let rate = RequestRate("requests", perSecond: 10, burst: 20, from: Self.origin)
        func admitted(at milliseconds: Int) -> Int {
            var count = 0
            while refusal({ try rate.take(from: alice, at: at(milliseconds)) }) == nil { count += 1 }
            return count
        }
        #expect(admitted(at: 0) == 20)
        #expect(admitted(at: 99) == 0)
        #expect(admitted(at: 100) == 1)
        #expect(admitted(at: 1100) == 10)
        #expect(admitted(at: 1_000_000) == 20)
        // A request that arrived earlier, but is checked later.
        #expect(admitted(at: 999_000) == 0)
    }

    @Test("principals do not notice each other")
    func principals() throws {
        let rate = RequestRate("requests", perSecond: 1, burst: 1, from: Self.origin)
        let all = try (0..<200).map { try Principal.user("u\($0)") }
        for principal in all { #expect(refusal { try rate.take(from: principal, at: at(0)) } == nil) }
        for principal in all { #expect(refusal { try rate.take(from: principal, at: at(0)) } != nil) }
    }

    @Test("a refusal says what is left and when there will be enough, and takes nothing")
    func refusals() {
        let rate = RequestRate("requests", perSecond: 2, burst: 10, from: Self.origin)
        #expect(refusal { try rate.take(8, from: alice, at: at(0)) } == nil)
        let expected = RateRefusal(
            name: "requests", burst: 10, window: 5, remaining: 2, retryAfter: 2)
        for _ in 0..<3 { #expect(refusal { try rate.take(5, from: alice, at: at(0)) } == expected) }
        #expect(refusal { try rate.take(5, from: alice, at: at(1499)) } != nil)
        #expect(refusal { try rate.take(5, from: alice, at: at(1500)) } == nil)
    }

    @Test(
        "who asks for more than half of the bucket gets it when half is there, and owes the rest",
        arguments: [10, 11, 1000])
    func large(count: Int) {
        let rate = RequestRate("requests", perSecond: 10, burst: 10, from: Self.origin)
        #expect(refusal { try rate.take(from: alice, at: at(0)) } == nil)
        #expect(refusal { try rate.take(count - 1, after: 1, from: alice, at: at(0)) } == nil)
        #expect(refusal { try rate.take(from: alice, at: at(99)) } != nil)
        let refused = refusal { try rate.take(count, from: alice, at: at(499)) }
        #expect(refused?.retryAfter == 1 && refused?.remaining == 4)
        #expect(refusal { try rate.take(count, from: alice, at: at(500)) } == nil)
        // Ten tokens in all were there by now, and twenty were taken.
        #expect(refusal { try rate.take(from: alice, at: at(1099)) }?.remaining == 0)
        #expect(refusal { try rate.take(from: alice, at: at(1100)) } == nil)
    }

    @Test("memory is bounded: the bucket that was used longest ago is forgotten")
    func forgetting() throws {
        let rate = RequestRate("requests", perSecond: 1, burst: 1, maxPrincipals: 16, from: Self.origin)
        #expect(refusal { try rate.take(from: alice, at: at(0)) } == nil)
        for number in 0..<1000 {
            let other = try Principal.user("u\(number)")
            #expect(refusal { try rate.take(from: other, at: at(0)) } == nil)
        }
        #expect(refusal { try rate.take(from: alice, at: at(0)) } == nil)
    }

    private func ask(_ gateway: TestGateway, _ path: String = "/v1/access", token: String = "user-token") async
        -> TestAnswer
    {
        await gateway.send(.get, path, token: token)
    }

    /// Plays a scene, again if it took so long that the rate may have given back a part of what the scene used.
    private func quickly<Value>(within limit: Duration, _ scene: () async throws -> Value) async rethrows -> Value {
        while true {
            let start = ContinuousClock.now
            let value = try await scene()
            if ContinuousClock.now - start < limit { return value }
        }
    }

    @Test(
        "beyond it the answer is 429 with its fields, whatever the caller's roles; without a token it is 401 as ever",
        .timeLimit(.minutes(1)))
    func answers() async {
        let (gateway, answers) = await quickly(within: .milliseconds(900)) {
            let gateway = TestGateway(APISettings(requestsPerSecond: 1))
            // The stub identifies one principal by all its tokens.
            let answers = [
                await ask(gateway), await ask(gateway, "/admin/v1/quotas"), await ask(gateway),
                await ask(gateway, "/admin/v1/quotas", token: "admin-token"),
            ]
            return (gateway, answers)
        }
        #expect(answers.map(\.status) == [200, 403, 429, 429])
        for answer in answers.suffix(2) {
            #expect(answer.string("code") == "TooManyRequests")
            #expect(answer.string("type") == "/problems/too-many-requests")
            #expect(answer.headers[.retryAfter] == "1")
            #expect(answer.headers[.rateLimit] == #""requests";r=0;t=1"#)
            #expect(answer.headers[.rateLimitPolicy] == #""requests";q=2;w=2;qu="requests""#)
        }
        #expect(await gateway.send(.get, "/v1/access").status == 401)
        #expect(await gateway.send(.get, "/healthz").status == 200)
    }

    @Test(
        "each item of a batch counts, up to what may come at once; a batch that is refused issues nothing",
        .timeLimit(.minutes(1)))
    func batches() async {
        func body(_ count: Int) -> String {
            let item = #"{"action": "GetObject", "bucket": "photos", "key": "uploads/b"}"#
            return #"{"items": ["# + Array(repeating: item, count: count).joined(separator: ",") + "]}"
        }
        func send(_ count: Int, to gateway: TestGateway) async -> Int {
            await gateway.send(.post, "/v1/presigned-urls/batch", token: "user-token", json: body(count)).status
        }
        let (small, statuses) = await quickly(within: .milliseconds(500)) {
            let gateway = TestGateway(APISettings(requestsPerSecond: 5))
            return (gateway, [await send(8, to: gateway), await send(8, to: gateway)])
        }
        #expect(statuses == [200, 429])
        #expect(small.ledger.proposals.withLock { $0.count } == 8)
        let large = await quickly(within: .milliseconds(900)) {
            let gateway = TestGateway(APISettings(requestsPerSecond: 1))
            return [await send(30, to: gateway), await ask(gateway).status]
        }
        #expect(large == [200, 429])
        #expect(await send(1000, to: TestGateway()) == 200)
    }

    /// Takes the tokens of the other stub, and a ticket of the same user.
    private struct TicketStub: Authenticator {
        let text: String
        let ticket: Ticket

        func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
            guard token.reveal() == text else { return try await StubAuthenticator().authenticate(token) }
            return Caller(
                principal: ticket.principal, groups: [], roles: [], claims: [:], expiresAt: ticket.expiresAt,
                token: token, scope: nil, position: StubPolicy.position, ticket: ticket)
        }
    }

    @Test(
        "what a ticket asks for, also the items of its batches, keeps its owner from nothing", .timeLimit(.minutes(1)))
    func batchesByTicket() async throws {
        let (text, row) = try TicketTests.row()
        var ticket = row
        ticket.actions = [.putObject]
        let path =
            "/companion/\(text)/s3/multipart/\(MemoryUploads.openID.lowercaseText)/batch"
            + "?key=uploads%2Flarge.png&partNumbers=1,2,3,4,5,6"
        let (byTicket, byToken) = await quickly(within: .milliseconds(300)) {
            let gateway = TestGateway(
                APISettings(requestsPerSecond: 3), authenticator: TicketStub(text: text, ticket: ticket))
            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(await gateway.send(.get, path).status) }
            let count = statuses.count
            for _ in 0..<7 { statuses.append(await ask(gateway).status) }
            return (Array(statuses[..<count]), Array(statuses[count...]))
        }
        #expect(byTicket.last == 429, "\(byTicket)")
        #expect(byToken == Array(repeating: 200, count: 6) + [429])
    }

    @Test("a user revokes 20 tickets at once, and an admin as many as there are", .timeLimit(.minutes(1)))
    func revocations() async throws {
        var gateway = TestGateway()
        var paths: [String] = []
        let answers = try await quickly(within: .milliseconds(900)) {
            gateway = TestGateway()
            paths = []
            for _ in 0..<22 {
                let made = await gateway.send(
                    .post, "/v1/tickets", token: "user-token", json: #"{"bucket":"photos","prefix":"uploads/"}"#)
                paths.append(try #require(made.headers[.location]))
            }
            var answers: [TestAnswer] = []
            for path in paths.prefix(21) {
                answers.append(await gateway.send(.delete, path, token: "user-token"))
            }
            return answers
        }
        #expect(answers.dropLast().allSatisfy { $0.status == 204 })
        let refused = try #require(answers.last)
        #expect(refused.status == 429 && refused.string("code") == "TooManyRequests")
        #expect(refused.headers[.rateLimitPolicy] == #""revocations";q=20;w=20;qu="requests""#)
        #expect(await ask(gateway, paths[20]).status == 200)
        #expect(await gateway.send(.delete, "/admin" + paths[20], token: "admin-token").status == 204)
        let audited = gateway.stores.tickets.changes.withLock { $0.map(\.isAudited) }
        // Creating these tickets is not audited either; the store omits those changes by itself.
        #expect(audited.suffix(21) == Array(repeating: false, count: 20) + [true])
    }
}

@Suite("What admins see and end")
struct GatewayAndTicketAdminTests {
    @Test("gateways are listed with what they are")
    func gateways() async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(.get, "/admin/v1/gateways", token: "auditor-token")
        #expect(answer.status == 200)
        let items = try #require(answer.json["items"] as? [[String: Any]])
        #expect(items.map { $0["live"] as? Bool } == [true, false])
        let position = try #require(items[0]["policyPosition"] as? [String: Any])
        #expect(position["sequence"] as? Int == 1)
        #expect(position["tag"] as? String == StubPolicy.position.tag.uuidString.lowercased())
        #expect(items[1]["policyPosition"] == nil)
        #expect(items.map { $0["clockAheadMilliseconds"] as? Int } == [-43, 1500])
        #expect(items[0]["masterKeyIDs"] as? [String] == ["k2", "k1"])
        #expect(await gateway.send(.get, "/admin/v1/gateways", token: "user-token").status == 403)
        #expect(await gateway.send(.get, "/admin/v1/gateways?live=true", token: "admin-token").status == 400)
    }

    @Test("all tickets of a user end by one call, which says how many")
    func revocation() async {
        let gateway = TestGateway()
        for _ in 0..<3 {
            _ = await gateway.send(
                .post, "/v1/tickets", token: "user-token", json: #"{"bucket":"photos","prefix":"uploads/"}"#)
        }
        func revoke(_ json: String, token: String = "admin-token") async -> TestAnswer {
            await gateway.send(.post, "/admin/v1/tickets:revoke", token: token, json: json)
        }
        #expect(await revoke(#"{"principal":"user:alice"}"#, token: "auditor-token").status == 403)
        for json in [#"{"principal":"group:staff"}"#, #"{"principal":"*"}"#, #"{"principal":"alice"}"#, "{}"] {
            let answer = await revoke(json)
            #expect(answer.status == 400 && answer.string("field") == "principal")
        }
        #expect(await revoke(#"{"principal":"user:bob"}"#).number("revoked") == 0)
        #expect(await revoke(#"{"principal":"user:alice"}"#).number("revoked") == 3)
        #expect(await revoke(#"{"principal":"user:alice"}"#).number("revoked") == 0)
        let list = await gateway.send(.get, "/admin/v1/tickets", token: "auditor-token")
        #expect((list.json["items"] as? [Any])?.isEmpty == true)
    }

    @Test("the operator caps the life of tickets, also of those that name none")
    func ticketLife() async {
        let gateway = TestGateway(APISettings(ticketMaxAge: 600))
        func make(_ members: String) async -> TestAnswer {
            await gateway.send(
                .post, "/v1/tickets", token: "user-token", json: #"{"bucket":"photos","prefix":""\#(members)}"#)
        }
        for members in ["", #","expiresIn":600"#] {
            let end = Timestamp.text(of: TestGateway.now.addingTimeInterval(600))
            #expect(await make(members).string("expiresAt") == end)
        }
        let refused = await make(#","expiresIn":601"#)
        #expect(refused.status == 400 && refused.string("field") == "expiresIn")
    }
}

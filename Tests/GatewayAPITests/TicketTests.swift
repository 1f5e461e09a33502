import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Testing

@testable import GatewayAPI

@Suite("Tickets")
struct TicketTests {
    @Test("are made with defaults that outlast a day's refreshes, and shown once")
    func creation() async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(
            .post, "/v1/tickets", token: "user-token", json: #"{"bucket":"photos","prefix":"uploads/"}"#)
        #expect(answer.status == 201)
        #expect(answer.number("maxUses") == 1000)
        #expect(answer.string("expiresAt") == Timestamp.text(of: TestGateway.now.addingTimeInterval(43_200)))
        #expect(answer.headers[.cacheControl] == "no-store")
        let text = try #require(answer.string("ticket"))
        #expect(answer.string("path") == "/distribute-token.json?ticket=" + text)
        #expect(answer.json["responseKey"] == nil)
        let location = try #require(answer.headers[.location])
        for path in [location, "/v1/tickets"] {
            let read = await gateway.send(.get, path, token: "user-token")
            #expect(read.status == 200)
            #expect(!read.text.contains(text))
        }
        #expect(!gateway.logLines.contains(text))
        let encrypting = await gateway.send(
            .post, "/v1/tickets", token: "user-token",
            json: #"{"bucket":"photos","prefix":"","encryptsResponses":true}"#)
        #expect(encrypting.string("responseKey")?.utf8.count == 43)
    }

    @Test(
        "that make no sense are refused, naming the field",
        arguments: [
            (#"{"bucket":"photos"}"#, "prefix"), (#"{"bucket":"photos","prefix":"/a"}"#, "prefix"),
            (#"{"bucket":"photos","prefix":"${sub}/"}"#, "prefix"), (#"{"bucket":"P","prefix":""}"#, "bucket"),
            (#"{"bucket":"photos","prefix":"","expiresIn":0}"#, "expiresIn"),
            (#"{"bucket":"photos","prefix":"","expiresIn":604801}"#, "expiresIn"),
            (#"{"bucket":"photos","prefix":"","maxUses":0}"#, "maxUses"),
            (#"{"bucket":"photos","prefix":"","maxUses":100001}"#, "maxUses"),
            (#"{"bucket":"photos","prefix":"","actions":[]}"#, "actions"),
            (#"{"bucket":"photos","prefix":"","actions":["Delete"]}"#, "actions[0]"),
        ])
    func refusedFields(json: String, field: String) async {
        let answer = await TestGateway().send(.post, "/v1/tickets", token: "user-token", json: json)
        #expect(answer.status == 400)
        #expect(answer.string("field") == field)
    }

    @Test("of others are as good as none")
    func foreign() async throws {
        let gateway = TestGateway()
        var ticket = try Self.row().ticket
        ticket.principal = try .user("bob")
        _ = try await gateway.stores.tickets.create(
            ticket, by: ChangeContext(actor: ticket.principal, requestID: "r"))
        let path = "/v1/tickets/\(ticket.id.uuidString.lowercased())"
        for method in [HTTPRequest.Method.get, .delete] {
            let answer = await gateway.send(method, path, token: "user-token")
            #expect(answer.status == 404)
            #expect(answer.string("code") == "NoSuchTicket")
        }
        #expect(await gateway.send(.delete, "/admin" + path, token: "admin-token").status == 204)
    }

    @Test("are no bearer tokens")
    func notAsBearer() async throws {
        let (text, ticket) = try Self.row()
        let fixture = IssuerFixture()
        fixture.policy.add(ticket)
        let gateway = TestGateway(authenticator: fixture.authenticator)
        let answer = await gateway.send(.get, "/v1/access", token: text)
        #expect(answer.status == 401)
        #expect(await gateway.send(.get, "/v1/access?ticket=\(text)").status == 401)
    }

    @Test("whose answers are encrypted are accepted where answers are encrypted, and nowhere else")
    func encrypting() async throws {
        let places = [
            "/distribute-token.json?ticket=TICKET", "/v1/objects/photos/uploads/a?ticket=TICKET",
            "/companion/TICKET/s3/sts", "/companion/TICKET/s3/params?filename=a&type=image/png",
        ]
        var accepted: [Bool: [String]] = [:]
        for isEncrypting in [true, false] {
            let row = try Self.row()
            var ticket = row.ticket
            if isEncrypting { ticket.responseKey = Secret([UInt8](repeating: 7, count: 32)) }
            let fixture = IssuerFixture()
            fixture.policy.add(ticket)
            for place in places {
                let gateway = TestGateway(authenticator: fixture.authenticator)
                let answer = await gateway.send(.get, place.replacing("TICKET", with: row.text))
                let isRefused = answer.status == 401 || answer.text.contains("\"StatusCode\":401")
                if isRefused { #expect(answer.text.contains("'encryptsResponses'"), "\(answer.text)") }
                if !isRefused { accepted[isEncrypting, default: []].append(place) }
            }
        }
        #expect(accepted == [true: Array(places.prefix(1)), false: places])
        // Every place of a ticket is in the list.
        let routes = TestGateway().responder.router.routes.filter { [.ticket, .userOrTicket].contains($0.access) }
        #expect(Set(routes.map(\.template).filter { !$0.contains("multipart") }).count == places.count)
    }

    @Test("speak for their maker, without roles, and rest on the row that vouched for the maker")
    func authentication() async throws {
        let fixture = IssuerFixture([IssuerFixture.issuer()])
        let (text, ticket) = try Self.row(on: .issuer("https://id.example"))
        fixture.policy.add(ticket)
        let caller = try await fixture.caller(text)
        #expect(caller.principal == ticket.principal && caller.groups == ticket.groups && caller.roles.isEmpty)
        #expect(caller.claims == ticket.claims && caller.ticket == ticket && caller.expiresAt == ticket.expiresAt)
        #expect(caller.scope == .issuer("https://id.example"))
        #expect(caller.position == fixture.policy.position)
        let wrong = String(text.dropLast()) + (text.last == "A" ? "B" : "A")
        #expect(await fixture.refusal(wrong) == .unauthenticated(reason: "The token is not accepted."))
        fixture.policy.change(.issuer("https://id.example")) { issuers, _ in issuers = [] }
        try await fixture.cache.advance()
        #expect(await fixture.refusal(text) == .unauthenticated(reason: "The token is not accepted."))
        // A later row of the same name does not vouch for the ticket.
        var issuer = IssuerFixture.issuer()
        issuer.createdAt = ticket.createdAt.addingTimeInterval(1)
        fixture.policy.change(.issuer("https://id.example")) { [issuer] issuers, _ in issuers = [issuer] }
        try await fixture.cache.advance()
        #expect(await fixture.refusal(text) == .unauthenticated(reason: "The token is not accepted."))
    }

    /// Another issuer may have got the prefix, and then the name is another person's.
    @Test func `end when their issuer gets another prefix`() async throws {
        let changes: [@Sendable (inout Issuer) -> Void] = [{ $0.principalPrefix = "x:" }, { $0.groupPrefix = "x:" }]
        for change in changes {
            let fixture = IssuerFixture([
                IssuerFixture.issuer {
                    $0.principalPrefix = "al"
                    $0.groupPrefix = "st"
                }
            ])
            let (text, ticket) = try Self.row(on: .issuer("https://id.example"))
            fixture.policy.add(ticket)
            #expect(await fixture.refusal(text) == nil)
            fixture.policy.change(.issuer("https://id.example")) { issuers, _ in change(&issuers[0]) }
            try await fixture.cache.advance()
            #expect(await fixture.refusal(text) == .unauthenticated(reason: "The token is not accepted."))
        }
    }

    /// A ticket lives on with what its key may do now.
    @Test func `name the groups that their API key has now`() async throws {
        let secret = try #require(APIKeyText(randomBytes: [UInt8](repeating: 7, count: APIKeyText.randomByteCount)))
        let key = APIKey(
            id: uuid("018f0000-0000-7000-8000-0000000000aa"), prefix: secret.prefix, hash: secret.digest, name: "app",
            principal: try .user("alice"), groups: [try .group("staff")], createdAt: .distantPast)
        let fixture = IssuerFixture(apiKeys: [key])
        let (text, ticket) = try Self.row(on: .apiKey(prefix: key.prefix))
        fixture.policy.add(ticket)
        #expect(try await fixture.caller(text).groups == key.groups)
        let changes: [[Principal]] = [[], [try .group("barred")], [try .group("staff"), try .group("barred")]]
        for groups in changes {
            fixture.policy.change(.apiKey(prefix: key.prefix)) { _, keys in keys[0].groups = groups }
            try await fixture.cache.advance()
            let caller = try await fixture.caller(text)
            #expect(caller.groups == groups && caller.principal == ticket.principal && caller.ticket == ticket)
            #expect(caller.proof?.position == fixture.policy.position)
            #expect(caller.proof?.scopes == [.apiKey(prefix: key.prefix), .ticket(name: ticket.name)])
        }
    }

    @Test("end when they expire and when they are revoked")
    func ends() async throws {
        let fixture = IssuerFixture()
        let (text, ticket) = try Self.row()
        fixture.policy.add(ticket)
        #expect(await fixture.refusal(text) == nil)
        fixture.policy.revoke(ticket.name)
        try await fixture.cache.advance()
        #expect(await fixture.refusal(text) == .unauthenticated(reason: "The token is not accepted."))
        let (other, later) = try Self.row(seed: 9)
        fixture.policy.add(later)
        fixture.clock.value += 3600
        #expect(await fixture.refusal(other) == .expiredToken)
    }

    /// A ticket of `user:alice` that lives for an hour by the fixture's clock.
    static func row(seed: UInt8 = 1, on scope: PolicyScope? = nil) throws -> (text: String, ticket: Ticket) {
        let text = try #require(
            TicketText(randomBytes: (0..<TicketText.randomByteCount).map { seed &+ UInt8($0 * 5) }))
        let start = Date(timeIntervalSince1970: IssuerFixture.start)
        let ticket = Ticket(
            id: uuid("018f0000-0000-7000-8000-0000000000\(seed < 10 ? "0" : "")\(seed)"), name: text.name,
            hash: text.digest, principal: try .user("alice"), groups: [try .group("staff")], claims: ["tenant": "t1"],
            issuedOn: scope, bucket: try BucketName("photos"), prefix: ExactText("uploads/"), actions: [.getObject],
            maxUses: 3, expiresAt: start.addingTimeInterval(3600), createdAt: start)
        return (text.text.reveal(), ticket)
    }
}

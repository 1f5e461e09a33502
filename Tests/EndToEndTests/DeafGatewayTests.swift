import Foundation
import LibPQ
import Testing

/// Changes of policy at a gateway that holds the old state in memory and receives no notification.
///
/// Each change is made at another gateway, and the following request is the first event that could reveal it.
@Suite struct DeafGatewayTests {
    private static let mute = """
        DO $$ BEGIN
            EXECUTE replace(
                pg_get_functiondef('write_policy_log'::regproc), 'PERFORM pg_notify(''sluice_policy'', v_seq::text);', '');
        END $$;
        """

    private static let anyState = [(name: "If-Match", value: "*")]

    /// A deployment of two gateways without notifications, with a bucket and a user who may download everything in it.
    private func withDeafGateway(
        _ body: (_ site: Deployment, _ alice: User, _ ask: () async throws -> Answer) async throws -> Void
    ) async throws {
        try await Deployment.with(gateways: 2) { site in
            try await site.session().runScript(Self.mute)
            let body = "SELECT count(*) FROM pg_proc WHERE proname = 'write_policy_log' AND prosrc ~ 'pg_notify'"
            try #require(try await site.number(body) == 0)
        } _: { site in
            try await site.makeBucket("deaf")
            let alice = try await site.makeUser("alice")
            try await site.grant(["GetObject"], to: alice.principal, in: "deaf", prefix: "held/")
            let deaf = alice.client.at(site.gateways[1].port)
            let ask = { try await deaf.ask(.download("held/k", from: "deaf")) }
            #expect(try await ask().status == 201)
            try await body(site, alice, ask)
        }
    }

    @Test func `a revoked grant, and one made again`() async throws {
        try await withDeafGateway { site, alice, ask in
            let grants = try await site.admin.call("GET", "/admin/v1/grants").json["items"].items
            try await site.delete("grants", try #require(grants.first?["id"].text))
            #expect(try await ask().code == "AccessDenied")
            try await site.grant(["GetObject"], to: alice.principal, in: "deaf", prefix: "held/")
            #expect(try await ask().status == 201)
            try await site.grant(
                ["GetObject"], to: "*", in: "deaf", prefix: "held/k", options: ["effect": "deny"])
            #expect(try await ask().code == "AccessDenied")
        }
    }

    @Test func `a revoked key of a user, and of an admin`() async throws {
        try await withDeafGateway { site, alice, ask in
            try await site.delete("api-keys", alice.keyID)
            #expect(try await ask().status == 401)
            let admin = try await site.makeUser("second-admin", roles: ["admin"])
            let deaf = admin.client.at(site.gateways[1].port)
            #expect(try await deaf.call("GET", "/admin/v1/quotas").status == 200)
            try await site.delete("api-keys", admin.keyID)
            #expect(try await deaf.call("GET", "/admin/v1/quotas").status == 401)
        }
    }

    /// Operations that record nothing, so that no statement proves the key.
    @Test(arguments: [
        ("GET", "/v1/access"), ("GET", "/v1/tickets"), ("GET", "/v1/tickets/{id}"), ("DELETE", "/v1/tickets/{id}"),
        ("GET", "/v1/multipart-uploads/{id}"), ("DELETE", "/v1/multipart-uploads/{id}"),
        ("GET", "/v1/multipart-uploads/{id}/parts"), ("POST", "/v1/multipart-uploads/{id}:complete"),
        ("POST", "/v1/issuances/{id}:confirm"),
    ])
    func `a revoked key of a user who only looks`(method: String, path: String) async throws {
        try await withDeafGateway { site, _, _ in
            let path = path.replacing("{id}", with: UUID().uuidString.lowercased())
            let bob = try await site.makeUser("bob")
            let deaf = bob.client.at(site.gateways[1].port)
            #expect(try await deaf.ask(.download("held/k", from: "deaf")).code == "AccessDenied")
            // A completed upload may be completed again, which records nothing.
            let tag = "5d41402abc4b2a76b9719d911017c592"
            let body: JSON? = path.hasSuffix(":complete") ? ["parts": [["partNumber": 1, "etag": .string(tag)]]] : nil
            #expect([200, 404].contains(try await deaf.call(method, path, body).status))
            try await site.delete("api-keys", bob.keyID)
            #expect(try await deaf.call(method, path, body).status == 401)
        }
    }

    /// Nothing proves a kept answer again.
    @Test func `no kept answer for a revoked key`() async throws {
        try await withDeafGateway { site, _, _ in
            let bob = try await site.makeUser("bob")
            let deaf = bob.client.at(site.gateways[1].port)
            let wish: JSON = ["bucket": "deaf", "prefix": "held/"]
            func ask() async throws -> Answer {
                try await deaf.call("POST", "/v1/tickets", wish, headers: [("Idempotency-Key", "nightly")])
            }
            let first = try await ask()
            #expect(first.status == 201, "\(first.text)")
            #expect(try await ask().json["id"] == first.json["id"])
            try await site.delete("api-keys", bob.keyID)
            #expect(try await ask().status == 401)
        }
    }

    @Test func `a group that was left, and a quota that was set`() async throws {
        try await withDeafGateway { site, alice, ask in
            try await site.grant(["GetObject"], to: "group:readers", in: "deaf", prefix: "group/")
            try await site.create("groups/group:readers/members", ["member": "\(alice.principal)"])
            let deaf = alice.client.at(site.gateways[1].port)
            let request = JSON.download("group/k", from: "deaf")
            #expect(try await deaf.ask(request).status == 201)
            try await site.delete("groups/group:readers/members", alice.principal)
            #expect(try await deaf.ask(request).code == "AccessDenied")
            try await site.quota(1, for: alice.principal)
            #expect(try await ask().status == 201)
            #expect(try await ask().code == "QuotaExceeded")
        }
    }

    /// A ticket lives on with what its key may do now.
    @Test func `groups that the key of a ticket has got and lost`() async throws {
        try await withDeafGateway { site, _, _ in
            try await site.makeBucket("shared", options: ["allowsRedirects": true])
            try await site.grant(["GetObject"], to: "group:readers", in: "shared")
            try await site.grant(["GetObject"], to: "group:barred", in: "shared", options: ["effect": "deny"])
            let bob = try await site.makeUser("bob", groups: ["readers"])
            let made = try await bob.client.call("POST", "/v1/tickets", ["bucket": "shared", "prefix": ""])
            let ticket = try #require(made.json["ticket"].text, "\(made.text)")
            site.keepSecret(ticket)
            let deaf = APIClient(port: site.gateways[1].port)
            let steps: [(groups: [String], status: Int)] = [
                (["readers"], 303), ([], 403), (["readers"], 303), (["readers", "barred"], 403),
            ]
            for step in steps {
                let groups = JSON.array(step.groups.map { .string("group:" + $0) })
                let change = try await site.admin.call(
                    "PATCH", "/admin/v1/api-keys/\(bob.keyID)", ["groups": groups], headers: Self.anyState)
                #expect(change.status == 200, "\(change.text)")
                let answer = try await deaf.call("GET", "/v1/objects/shared/k?ticket=\(ticket)")
                #expect(answer.status == step.status, "\(step.groups): \(answer.text)")
            }
        }
    }

    /// What a ticket is made with is proved as it is made.
    @Test func `no ticket for a group that a key has lost`() async throws {
        try await withDeafGateway { site, _, _ in
            let bob = try await site.makeUser("bob", groups: ["readers"])
            let deaf = bob.client.at(site.gateways[1].port)
            let wish: JSON = ["bucket": "deaf", "prefix": "group/"]
            #expect(try await deaf.call("POST", "/v1/tickets", wish).status == 201)
            #expect(
                try await site.admin.call(
                    "PATCH", "/admin/v1/api-keys/\(bob.keyID)", ["groups": []], headers: Self.anyState
                )
                .status == 200)
            #expect(try await deaf.call("POST", "/v1/tickets", wish).status == 201)
            #expect(try await site.number("SELECT count(*) FROM tickets WHERE groups = '{}'") == 1)
            #expect(try await site.number("SELECT count(*) FROM tickets") == 2)
        }
    }

    @Test func `no ticket for a token whose key the issuer's row has lost`() async throws {
        try await withDeafGateway { site, _, _ in
            let issuer = try await TokenTests.TokenIssuer("https://id.example")
            let row = try await site.create(
                "issuers",
                [
                    "issuer": "https://id.example", "audiences": ["sluice"], "algorithms": ["RS256"],
                    "principalPrefix": "id:", "groupPrefix": "id:", "keys": ["inline": try await issuer.keySet()],
                ])
            let token = try await issuer.token([:])
            site.keepSecret(token)
            let deaf = site.client(token: token, at: 1)
            let wish: JSON = ["bucket": "deaf", "prefix": ""]
            #expect(try await deaf.call("POST", "/v1/tickets", wish).status == 201)
            let other = try await TokenTests.TokenIssuer("https://id.example")
            let path = "/admin/v1/issuers/\(try #require(row["id"].text))"
            #expect(
                try await site.admin.call(
                    "PATCH", path, ["keys": ["inline": try await other.keySet()]], headers: Self.anyState
                )
                .status == 200)
            #expect(try await deaf.call("POST", "/v1/tickets", wish).status == 401)
            #expect(try await site.number("SELECT count(*) FROM tickets") == 1)
        }
    }

    @Test func `an issuer that was removed`() async throws {
        try await withDeafGateway { site, _, _ in
            let issuer = try await TokenTests.TokenIssuer("https://id.example")
            let row = try await site.create(
                "issuers",
                [
                    "issuer": "https://id.example", "audiences": ["sluice"], "algorithms": ["RS256"],
                    "principalPrefix": "id:", "groupPrefix": "id:", "keys": ["inline": try await issuer.keySet()],
                ])
            try await site.grant(["GetObject"], to: "user:id:alice", in: "deaf")
            let token = try await issuer.token([:])
            site.keepSecret(token)
            let deaf = site.client(token: token, at: 1)
            #expect(try await deaf.ask(.download("k", from: "deaf")).status == 201)
            try await site.delete("issuers", try #require(row["id"].text))
            #expect(try await deaf.ask(.download("k", from: "deaf")).status == 401)
        }
    }
}

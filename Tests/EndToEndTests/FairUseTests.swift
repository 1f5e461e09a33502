import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// One user takes nothing from others, neither by requests nor by tickets. Also: the information that gateways publish
/// about themselves.
@Suite struct FairUseTests {
    private func redirect(_ ticket: JSON, to key: String = "a") throws -> String {
        "/v1/objects/fair/\(key)?ticket=\(try #require(ticket["ticket"].text))"
    }

    private func furnish(_ site: Deployment) async throws -> User {
        try await site.makeBucket("fair", options: ["allowsRedirects": true])
        let alice = try await site.makeUser("alice")
        try await site.grant(["GetObject"], to: alice.principal, in: "fair")
        return alice
    }

    private func makeTicket(_ user: User, at site: Deployment) async throws -> JSON {
        let made = try await user.client.call("POST", "/v1/tickets", ["bucket": "fair", "prefix": ""])
        try #require(made.status == 201, "\(made.text)")
        site.keepSecret(made.json["ticket"].text ?? "")
        return made.json
    }

    @Test func `making tickets leaves no line in the log of policy and none in the audit`() async throws {
        try await Deployment.with { site in
            let alice = try await furnish(site)
            let lines = "SELECT (SELECT count(*) FROM policy_log) + (SELECT count(*) FROM policy_changes)"
            let audit = "SELECT count(*) FROM admin_audit"
            let before = (lines: try await site.number(lines), audit: try await site.number(audit))
            let request = try alice.client.request("POST", "/v1/tickets", ["bucket": "fair", "prefix": ""])
            let port = site.gateways[0].port
            // The lock is held all the time, as it is where links are recorded: making a ticket takes no other. Only
            // changes of policy do.
            let holder = try site.session()
            _ = try await holder.number("SELECT count(pg_advisory_lock_shared(advisory_lock('policy')))")
            try await onThreads(4) { _ in
                var connection = KeptConnection()
                for _ in 0..<50 {
                    let answer = Answer(try connection.exchange(request, port: port))
                    #expect(answer.status == 201)
                    site.keepSecret(answer.json["ticket"].text ?? "")
                }
            }
            _ = try await holder.number("SELECT count(pg_advisory_unlock_shared(advisory_lock('policy')))")
            #expect(try await site.number("SELECT count(*) FROM tickets") == 200)
            #expect(try await site.number(lines) == before.lines)
            #expect(try await site.number(audit) == before.audit)

            // Revoking tickets takes the lock, and so its rate is limited.
            let list = try await alice.client.call("GET", "/v1/tickets?pageSize=100").json["items"].items
            var statuses: [Int] = []
            for ticket in list {
                statuses.append(
                    try await alice.client.call("DELETE", "/v1/tickets/\(try #require(ticket["id"].text))").status)
            }
            let revoked = statuses.count { $0 == 204 }
            #expect(20..<list.count ~= revoked && statuses.count { $0 == 429 } == list.count - revoked)
            #expect(try await site.number(audit) == before.audit)
            #expect(try await site.number("SELECT count(*) FROM tickets") == 200 - revoked)
        }
    }

    @Test func `a ticket works at once on every gateway, and is dead at once on every gateway`() async throws {
        try await Deployment.with(gateways: 2) { site in
            let alice = try await furnish(site)
            let bare = [site.client(), site.client(at: 1)]
            func statuses(_ ticket: JSON) async throws -> [Int] {
                var statuses: [Int] = []
                for gateway in bare.reversed() {
                    let answer = try await gateway.call("GET", redirect(ticket))
                    site.keepSecret(answer["Location"] ?? "")
                    statuses.append(answer.status)
                }
                return statuses
            }
            for round in 0..<3 {
                let ticket = try await makeTicket(alice, at: site)
                #expect(try await statuses(ticket) == [303, 303], "round \(round)")
                let path = "/v1/tickets/\(try #require(ticket["id"].text))"
                #expect(try await alice.client.call("DELETE", path).status == 204)
                #expect(try await statuses(ticket) == [401, 401], "round \(round)")
            }
            let tickets = [try await makeTicket(alice, at: site), try await makeTicket(alice, at: site)]
            for ticket in tickets { #expect(try await statuses(ticket) == [303, 303]) }
            let issued = try await site.number("SELECT count(*) FROM issuances")
            let audit = try await site.number("SELECT count(*) FROM admin_audit")
            for count in [2, 0] {
                let answer = try await site.admin.call(
                    "POST", "/admin/v1/tickets:revoke", ["principal": "\(alice.principal)"])
                #expect(answer.status == 200 && answer.json["revoked"].integer == count, "\(answer.text)")
            }
            for ticket in tickets { #expect(try await statuses(ticket) == [401, 401]) }
            #expect(try await site.number("SELECT count(*) FROM issuances") == issued)
            // Also the revocation that found nothing has a row.
            #expect(try await site.number("SELECT count(*) FROM admin_audit") == audit + 2)
        }
    }

    @Test func `who sends too much is told so and when to come again, and nobody else notices`() async throws {
        try await Deployment.with(settings: ["SLUICE_REQUESTS_PER_SECOND": "5"]) { site in
            let alice = try await furnish(site)
            let bob = try await site.makeUser("bob")
            var refused: Answer?
            for _ in 0..<1000 where refused == nil {
                let answer = try await alice.client.call("GET", "/v1/access")
                if answer.status == 429 { refused = answer } else { #expect(answer.status == 200) }
            }
            let answer = try #require(refused)
            #expect(answer.code == "TooManyRequests" && answer["Retry-After"] == "1")
            #expect(answer["RateLimit"] == #""requests";r=0;t=1"#)
            #expect(answer["RateLimit-Policy"] == #""requests";q=10;w=2;qu="requests""#)
            #expect(try await bob.client.call("GET", "/v1/access").status == 200)
            try await waitUntil("the bucket has something again", seconds: 10) {
                try await alice.client.call("GET", "/v1/access").status == 200
            }
        }
    }

    /// Starts of uploads write rows, and users may start many at once. Admins have connections of their own.
    @Test func `an admin changes grants while starts of uploads wait on all their connections`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("fair", options: ["protocols": ["aws-remote-signing"]])
            let alice = try await site.makeUser("alice")
            try await site.grant(["PutObject"], to: alice.principal, in: "fair")
            let start: JSON = [
                "region": "eu-west-1", "method": "POST", "uri": "https://store.example/fair/a?uploads", "headers": [:],
            ]
            let request = try alice.client.request("POST", "/v1/aws/s3/sign", start, keepsConnection: false)
            let port = site.gateways[0].port
            let (holder, observer) = (try site.session(), try site.session())
            try await holder.runScript("BEGIN; LOCK TABLE remote_uploads IN ACCESS EXCLUSIVE MODE")
            /// The transactions of starts that wait. Each is refused after a while, and another one takes its place.
            func waiting() async throws -> [String] {
                try await observer.texts(
                    """
                    SELECT l.virtualtransaction FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                    WHERE d.datname = current_database() AND NOT l.granted
                        AND l.relation = to_regclass('public.remote_uploads')
                    ORDER BY 1
                    """)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        while !Task.isCancelled { _ = try await request.answer(fromPort: port) }
                    }
                }
                var number = 0
                try await waitUntil("a grant is made while the same starts wait") {
                    let before = try await waiting()
                    guard before.count == 4 else { return false }
                    number += 1
                    let grant: JSON = [
                        "principal": "user:\(number)", "bucket": "fair", "prefix": "", "actions": ["GetObject"],
                    ]
                    let status = try await site.admin.call("POST", "/admin/v1/grants", grant).status
                    return try await waiting() == before && status == 201
                }
                group.cancelAll()
                await holder.close()
            }
            await observer.close()
            #expect(try await request.answer(fromPort: port).status == 200)
        }
    }

    @Test func `gateways are listed while they run, and gone when they stop`() async throws {
        try await Deployment.with(gateways: 2) { site in
            func listed() async throws -> [JSON] {
                let answer = try await site.admin.call("GET", "/admin/v1/gateways")
                #expect(answer.status == 200)
                return answer.json["items"].items
            }
            try await waitUntil("both are known") { try await listed().count == 2 }
            for gateway in try await listed() {
                #expect(gateway["live"] == .bool(true) && gateway["masterKeyIDs"] == ["k1"])
            }
            let second = site.gateways[1]
            await site.end(second) { #expect(await second.terminate() == 0) }
            #expect(try await listed().count == 1)
        }
    }

    /// The stop lasts longer than a heartbeat is valid, so the log moves on and loses the entries that the gateway
    /// knew.
    @Test func `a gateway that was stopped issues nothing on what the log has forgotten`() async throws {
        try await Deployment.with(gateways: 2) { site in
            try await site.makeBucket("fair")
            let alice = try await site.makeUser("alice")
            let grant = try await site.grant(["GetObject"], to: alice.principal, in: "fair")
            let sleeper = site.gateways[1]
            let there = alice.client.at(sleeper.port)
            let issued = try await there.ask(.download("k", from: "fair"))
            site.keepSecret(urlOf: issued)
            #expect(issued.status == 201)
            sleeper.process.signal(SIGSTOP)
            try await site.delete("grants", grant)
            try await site.makeBucket("other")
            let session = try site.session()
            // The other gateway reports with its next heartbeat how far it has read.
            try await waitUntil("all lines but the last are pruned") {
                try await session.runScript(
                    """
                    UPDATE gateways SET last_seen_at = last_seen_at - interval '31 s';
                    UPDATE policy_log SET at = at - interval '40 days';
                    SELECT prune_policy_log(now(), 1000);
                    """)
                return try await session.number("SELECT count(*) FROM policy_log") == 1
            }
            sleeper.process.signal(SIGCONT)
            #expect(try await there.ask(.download("k", from: "fair")).status == 403)
            #expect(try await site.number("SELECT count(*) FROM issuances") == 1)
            await session.close()
        }
    }
}

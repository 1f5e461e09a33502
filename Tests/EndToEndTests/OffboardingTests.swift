import Foundation
import Testing

/// A person leaves: what two gateways issue before and after the offboarding.
@Suite struct OffboardingTests {
    @Test("a user is offboarded as the dry run showed, and dead at once at every gateway")
    func personLeaves() async throws {
        try await Deployment.with(gateways: 2) { deployment in try await leave(deployment) }
    }

    private func leave(_ deployment: Deployment) async throws {
        let bucket = try await deployment.makeBucket("offboarding")
        let leaver = try await deployment.makeUser("offboarding-leaver")
        let other = try await deployment.makeUser("offboarding-other")
        try await deployment.grant(["GetObject"], to: leaver.principal, in: bucket)
        try await deployment.grant(["GetObject", "PutObject"], to: "group:offboarding", in: bucket, prefix: "team/")
        for user in [leaver, other] {
            let path = "/admin/v1/groups/group:offboarding/members"
            let answer = try await deployment.admin.call("POST", path, ["member": "\(user.principal)"])
            try #require(answer.status == 201, "\(answer.text)")
        }
        let quota = try await deployment.quota(100, for: leaver.principal)
        let ticket = try await leaver.client.call(
            "POST", "/v1/tickets", ["bucket": "\(bucket)", "prefix": "team/", "actions": ["GetObject"]])
        try #require(ticket.status == 201, "\(ticket.text)")
        if let text = ticket.json["ticket"].text { deployment.keepSecret(text) }
        let second = deployment.client(token: leaver.client.token, at: 1)
        for client in [leaver.client, second] {
            let url = try await client.ask(.download("team/a", from: bucket))
            #expect(url.status == 201, "\(url.text)")
            deployment.keepSecret(urlOf: url)
        }

        let may = try await deployment.admin.call(
            "GET", "/admin/v1/access?bucket=\(bucket)&key=team/a&expandGroups=true")
        let items = may.json["items"].items
        #expect(items.compactMap { $0["principal"].text } == ["group:offboarding", leaver.principal, other.principal])
        let outcomes = items.map { item in
            item["verdicts"].items.first { $0["action"] == "GetObject" }?["outcome"].text
        }
        #expect(outcomes == ["allowed", "allowed", "allowed"])

        let path = "/admin/v1/principals/\(leaver.principal):offboard"
        let shown = try await deployment.admin.call("POST", path, ["dryRun": true])
        try #require(shown.status == 200, "\(shown.text)")
        #expect(shown.json["count"].integer == 4 && shown.json["alive"]["count"].integer == 2)
        let tag = try #require(shown["ETag"])
        // What changes after the dry run is not removed unseen.
        let late = try await deployment.grant(["PutObject"], to: leaver.principal, in: bucket)
        let refused = try await deployment.admin.call("POST", path, [:], headers: [("If-Match", tag)])
        #expect(refused.status == 412, "\(refused.text)")
        #expect(try await second.ask(.download("team/b", from: bucket)).status == 201)
        try await deployment.delete("grants", late)
        let done = try await deployment.admin.call("POST", path, [:], headers: [("If-Match", tag)])
        #expect(done.status == 200 && done.json["count"].integer == 4, "\(done.text)")
        #expect(done.json["alive"]["count"].integer == 3 && done.json["alive"]["lastExpiresAt"].text != nil)

        for client in [leaver.client, second] {
            #expect(try await client.ask(.download("team/c", from: bucket)).status == 401)
            if let text = ticket.json["ticket"].text {
                let fetched = try await APIClient(port: client.port).call(
                    "GET", "/v1/objects/\(bucket)/team/a?ticket=\(text)")
                #expect(fetched.status == 401, "\(fetched.text)")
            }
        }
        #expect(try await other.ask(.download("team/c", from: bucket)).status == 201)
        // A quota only limits the user.
        #expect(try await deployment.admin.call("GET", "/admin/v1/quotas/\(quota)").status == 200)
        let again = try await deployment.admin.call("POST", path, [:], headers: [("If-Match", tag)])
        #expect(again.status == 200 && again.json["count"].integer == 0)
        // A new key for the same principal begins with nothing.
        let returned = try await deployment.makeUser("offboarding-leaver")
        #expect(try await returned.ask(.download("team/d", from: bucket)).status == 403)
        let left = try await deployment.admin.call("GET", "/admin/v1/access?principal=\(leaver.principal)")
        #expect(left.json["items"].items.isEmpty && left.status == 200, "\(left.text)")
    }
}

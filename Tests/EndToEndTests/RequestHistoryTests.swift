import Foundation
import TestSupport
import Testing

/// What became of a request, found by its identifier at the running program.
@Suite(.deployment) struct RequestHistoryTests {
    @Test func `an admin finds why a request was refused, what another issued, and what a third changed`() async throws
    {
        let site = try Deployment.current
        try await site.makeBucket("history-bucket")
        let user = try await site.makeUser("history-user")
        let grant = try await site.grant(
            ["PutObject"], to: user.principal, in: "history-bucket", prefix: "a/",
            options: ["conditions": ["contentTypes": ["image/png"]]])
        let auditor = try await site.makeUser("history-auditor", roles: ["auditor"])
        func history(_ id: String) async throws -> JSON {
            let answer = try await auditor.client.call("GET", "/admin/v1/requests/\(id)")
            #expect(answer.status == 200)
            return answer.json
        }

        let refused = try await user.ask(.upload("a/hidden-name", to: "history-bucket"))
        #expect(refused.status == 403)
        let id = try #require(refused.json["requestID"].text)
        let found = try await history(id)
        let row = try #require(found["refusals"].items.first)
        #expect(row["reason"].text == "conditionFailed" && row["subject"].text == "contentTypes")
        #expect(row["grantID"].text == grant && row["principal"].text == user.principal)
        #expect(row["bucket"].text == "history-bucket" && row["keyPrefix"].text == "a/")
        // After the next write, the row is in the database, without the key.
        try await waitUntil("the refusal is written") {
            try await site.number("SELECT count(*) FROM refusals WHERE request_id = '\(id)'") == 1
        }
        #expect(try await history(id)["refusals"].items == [row])
        #expect(try await site.number("SELECT count(*) FROM refusals r WHERE r::text LIKE '%hidden-name%'") == 0)

        // A token that is not accepted: its identifier is all that its holder can tell.
        let stranger = try await site.client(token: "sluice_historystrng_\(String(repeating: "B", count: 43))").call(
            "GET", "/v1/access")
        #expect(stranger.status == 401)
        let denials = try await history(try #require(stranger.json["requestID"].text))["refusals"].items
        let denied = try #require(denials.first)
        #expect(denied["code"].text == "Unauthenticated" && denied["sourceAddress"].text == "127.0.0.1")

        try await site.grant(["GetObject"], to: user.principal, in: "history-bucket", prefix: "a/")
        let issued = try await user.ask(.download("a/x", from: "history-bucket"))
        #expect(issued.status == 201)
        let traces = try await history(try #require(issued["X-Request-Id"]))
        #expect(traces["issuances"].items.map { $0["id"] } == [issued.json["id"]])
        #expect(traces["refusals"].items.isEmpty)

        let change = try await site.admin.call("DELETE", "/admin/v1/grants/\(grant)")
        let changes = try await history(try #require(change["X-Request-Id"]))["changes"].items
        #expect(changes.map { $0["operation"].text } == ["delete"])
        #expect(changes.map { $0["resourceID"].text } == [grant])
    }
}

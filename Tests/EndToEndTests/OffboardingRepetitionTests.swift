import Foundation
import Testing

/// The product of offboarding, idempotency keys and two gateways: an answer that is repeated gives nothing back that
/// was taken away, and takes nothing away that was given since.
@Suite struct OffboardingRepetitionTests {
    /// A request of the leaver, sent first before the offboarding.
    private struct Repeated {
        let asked: Asked
        /// The gateways of the first request and of its repetitions.
        let first: Int
        let other: Int
        let key: String
        var answer: Answer?
    }

    private enum Asked: String, CaseIterable {
        case url, batch, form, ticket

        func body(_ bucket: String) -> (target: String, body: JSON) {
            switch self {
            case .url: ("/v1/presigned-urls", .download("a", from: bucket))
            case .batch:
                ("/v1/presigned-urls/batch", ["items": [.download("a", from: bucket), .download("b", from: bucket)]])
            case .form:
                (
                    "/v1/post-policies",
                    ["bucket": "\(bucket)", "key": "f", "contentTypes": ["image/png"], "minBytes": 1, "maxBytes": 9]
                )
            case .ticket: ("/v1/tickets", ["bucket": "\(bucket)", "prefix": "", "actions": ["GetObject"]])
            }
        }

        /// What a repetition gets from a user who is back, with nothing and with a grant. A ticket was made once and is
        /// gone; URLs and forms are proved again.
        func expected(hasGrant: Bool) -> (status: Int, isRepeated: Bool, isUsable: Bool) {
            switch self {
            case .url, .form: hasGrant ? (201, true, true) : (403, false, false)
            case .batch: (200, true, hasGrant)
            case .ticket: (201, true, false)
            }
        }
    }

    private static let bucket = "repetition"

    private func send(_ one: Repeated, as user: User, at gateway: Int, of site: Deployment) async throws -> Answer {
        let (target, body) = one.asked.body(Self.bucket)
        return try await user.client.at(site.gateways[gateway].port).call(
            "POST", target, body, headers: [(name: "Idempotency-Key", value: one.key)])
    }

    @Test func `what was asked for before the offboarding comes back only where it is granted anew`() async throws {
        try await Deployment.with(gateways: 2) { site in
            try await site.makeBucket(Self.bucket, options: ["allowsRedirects": true])
            let leaver = try await site.makeUser("repetition-leaver")
            try await site.grant(["GetObject", "PutObject"], to: leaver.principal, in: Self.bucket)
            try await site.quota(1000, for: leaver.principal)
            var requests: [Repeated] = []
            for asked in Asked.allCases {
                for (first, other) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let key = "\(asked.rawValue)-\(first)-\(other)"
                    requests.append(Repeated(asked: asked, first: first, other: other, key: key))
                }
            }
            for index in requests.indices {
                let answer = try await send(requests[index], as: leaver, at: requests[index].first, of: site)
                #expect(answer.status / 100 == 2, "\(answer.text)")
                site.keepSecret(urlOf: answer)
                site.keepSecret(answer.json["ticket"].text ?? "")
                requests[index].answer = answer
                let again = try await send(requests[index], as: leaver, at: requests[index].other, of: site)
                #expect(again.text == answer.text && again["Idempotency-Replayed"] == "true", "\(again.text)")
            }
            // Four URLs, four batches of two, four forms.
            let issued = "SELECT count(*) FROM issuances"
            let used = "SELECT sum(used) FROM quota_usage"
            #expect(try await site.number(issued) == 16)
            #expect(try await site.number(used) == 16)

            let path = "/admin/v1/principals/\(leaver.principal):offboard"
            let done = try await site.admin.call("POST", path, [:], headers: [("If-Match", "*")])
            #expect(done.status == 200, "\(done.text)")
            for one in requests {
                let refused = try await send(one, as: leaver, at: one.other, of: site)
                #expect(refused.status == 401, "\(one.key): \(refused.text)")
            }
            let returned = try await site.makeUser("repetition-leaver")
            for hasGrant in [false, true] {
                if hasGrant { try await site.grant(["GetObject", "PutObject"], to: leaver.principal, in: Self.bucket) }
                for one in requests { try await expectRepeated(one, as: returned, hasGrant: hasGrant, at: site) }
            }
            // Repetitions are recorded and charged once.
            #expect(try await site.number(issued) == 16)
            #expect(try await site.number(used) == 16)
        }
    }

    private func expectRepeated(
        _ one: Repeated, as user: User, hasGrant: Bool, at site: Deployment
    ) async throws {
        let expected = one.asked.expected(hasGrant: hasGrant)
        let again = try await send(one, as: user, at: one.other, of: site)
        let name = "\(one.key), grant: \(hasGrant)"
        #expect(again.status == expected.status, "\(name): \(again.text)")
        #expect((again["Idempotency-Replayed"] == "true") == expected.isRepeated, "\(name)")
        if one.asked == .ticket {
            #expect(again.text == one.answer?.text, "\(name)")
            let ticket = try #require(again.json["ticket"].text)
            for gateway in site.gateways {
                let used = try await APIClient(port: gateway.port).call(
                    "GET", "/v1/objects/\(Self.bucket)/a?ticket=\(ticket)")
                #expect(used.status == 401, "\(name): \(used.text)")
            }
        } else {
            #expect((again.text == one.answer?.text) == expected.isUsable, "\(name): \(again.text)")
            #expect(again.text.contains("ignature") == expected.isUsable, "\(name): \(again.text)")
        }
    }

    @Test func `one key offboards once, at two gateways, and not those who came back`() async throws {
        try await Deployment.with(gateways: 2) { site in
            try await site.makeBucket(Self.bucket)
            let leaver = try await site.makeUser("repetition-leaver")
            for prefix in ["a/", "b/", "c/"] {
                try await site.grant(["GetObject"], to: leaver.principal, in: Self.bucket, prefix: prefix)
            }
            let path = "/admin/v1/principals/\(leaver.principal):offboard"
            func offboard(_ tag: String, key: String, at gateway: Int, _ body: JSON = [:]) async throws -> Answer {
                try await site.admin.at(site.gateways[gateway].port).call(
                    "POST", path, body, headers: [("If-Match", tag), ("Idempotency-Key", key)])
            }
            // A refusal is not kept: the same key may be used with the right tag.
            let early = try await offboard("\"another\"", key: "leave", at: 0)
            #expect(early.status == 412, "\(early.text)")
            let shown = try await site.admin.call("POST", path, ["dryRun": true])
            let tag = try #require(shown["ETag"])
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        while true {
                            let answer = try await offboard(tag, key: "leave", at: number % 2)
                            guard answer.code == "IdempotencyKeyInUse" else { return answer }
                            try await Task.sleep(for: .milliseconds(5))
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 && $0.text == answers[0].text }, "\(answers.map(\.text))")
            #expect(answers.count { $0["Idempotency-Replayed"] == nil } == 1)
            #expect(answers[0].json["count"].integer == 4)
            let removals = "SELECT count(*) FROM admin_audit WHERE operation = 'delete'"
            #expect(try await site.number(removals) == 4)

            let returned = try await site.makeUser("repetition-leaver")
            let grant = try await site.grant(["GetObject"], to: leaver.principal, in: Self.bucket, prefix: "a/")
            for gateway in 0...1 {
                let again = try await offboard(tag, key: "leave", at: gateway)
                #expect(again.text == answers[0].text && again["Idempotency-Replayed"] == "true", "\(again.text)")
                // A condition belongs to the request, as its body does.
                let another = try await offboard("*", key: "leave", at: gateway)
                #expect(another.status == 422 && another.code == "IdempotencyKeyReused", "\(another.text)")
                let url = try await returned.client.at(site.gateways[gateway].port).ask(
                    .download("a/x", from: Self.bucket))
                #expect(url.status == 201, "\(url.text)")
                site.keepSecret(urlOf: url)
            }
            #expect(try await site.number(removals) == 4)
            // Another key is another offboarding.
            let second = try await offboard("*", key: "leave-again", at: 1)
            #expect(second.status == 200 && second.json["count"].integer == 2, "\(second.text)")
            #expect(try await site.admin.call("GET", "/admin/v1/grants/\(grant)").status == 404)
            for gateway in 0...1 {
                let url = try await returned.client.at(site.gateways[gateway].port).ask(
                    .download("a/x", from: Self.bucket))
                #expect(url.status == 401, "\(url.text)")
            }
        }
    }
}

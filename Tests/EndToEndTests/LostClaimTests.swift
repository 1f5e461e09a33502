import Foundation
import Glibc
import LibPQ
import PostgresTesting
import Testing

/// Requests with idempotency keys whose gateway is killed or stops before it answers.
@Suite struct LostClaimTests {
    /// A request with its own key.
    private struct Sent: Sendable {
        let target: String
        let body: JSON
        let key: String
        let client: APIClient

        func send(to port: UInt16) async throws -> Answer {
            try await client.at(port).call("POST", target, body, headers: [(name: "Idempotency-Key", value: key)])
        }

        /// Whether the answer is signed again instead of kept.
        var isIssuing: Bool { ["presigned-urls", "batch", "post-policies"].contains { target.hasSuffix($0) } }
    }

    /// The same kinds of requests, for each number.
    private static func requests(_ count: Int, _ alice: User, _ site: Deployment) -> [Sent] {
        (0..<count).flatMap { number in
            let batch: [JSON] = [.download("b\(number)", from: "lost"), .download("c\(number)", from: "lost")]
            let form: JSON = ["bucket": "lost", "key": "f\(number)", "contentTypes": ["image/png"], "maxBytes": 9]
            let quota: JSON = [
                "principal": "user:x\(number)", "metric": "urls", "period": "day", "limit": .number(1000 + number),
            ]
            let grant: JSON = [
                "principal": "user:x", "bucket": "lost", "prefix": "\(number)/", "actions": ["GetObject"],
            ]
            let bodies: [(String, JSON, APIClient)] = [
                ("/v1/presigned-urls", .download("a\(number)", from: "lost"), alice.client),
                ("/v1/presigned-urls/batch", ["items": .array(batch)], alice.client),
                ("/v1/post-policies", form, alice.client),
                ("/v1/tickets", ["bucket": "lost", "prefix": "\(number)/"], alice.client),
                ("/admin/v1/quotas", quota, site.admin),
                ("/admin/v1/api-keys", ["name": "k\(number)", "principal": "user:machine"], site.admin),
                ("/admin/v1/grants:apply", ["writes": [grant]], site.admin),
            ]
            return bodies.map { Sent(target: $0.0, body: $0.1, key: "key-\(number)", client: $0.2) }
        }
    }

    /// Sends a request as a client that respects `Retry-After`, until it has a final answer.
    private func answerInTheEnd(_ request: Sent, from port: UInt16) async throws -> Answer {
        while true {
            let answer = try await request.send(to: port)
            // With few processors, a change may take too long and be given up.
            guard answer.code == "IdempotencyKeyInUse" || answer.status == 503 else { return answer }
            let seconds = try #require(answer["Retry-After"].flatMap { Int($0) })
            #expect(1...5 ~= seconds)
            try await Task.sleep(for: .seconds(seconds))
        }
    }

    @Test func `each key has an answer within seconds, and one effect, whatever its gateway was doing`() async throws {
        try await Deployment.with(gateways: 3) { site in
            try await site.makeBucket("lost")
            let alice = try await site.makeUser("lost-alice")
            try await site.grant(["GetObject", "PutObject"], to: alice.principal, in: "lost")
            let (survivor, killed, stopped) = (site.gateways[0], site.gateways[1], site.gateways[2])
            let count = 8
            let requests = Self.requests(count, alice, site)
            let holder = try site.session()
            // Requests that record or commit a change wait, so that some end up with an effect and some only with a
            // claim.
            _ = try await holder.number("SELECT count(pg_advisory_lock(advisory_lock('policy')))")
            let answers = try await withThrowingTaskGroup(of: (Int, Answer?).self) { group in
                for (place, request) in requests.enumerated() {
                    let port = place % 2 == 0 ? killed.port : stopped.port
                    group.addTask { (place, try? await request.send(to: port)) }
                }
                try await holder.waitForBlocked(12, on: "advisory")
                await site.end(killed) { await killed.crash() }
                stopped.process.signal(SIGSTOP)
                defer { stopped.process.signal(SIGCONT) }
                _ = try await holder.number("SELECT count(pg_advisory_unlock(advisory_lock('policy')))")
                #expect(try await site.number("SELECT count(*) FROM idempotency_keys WHERE answered_at IS NULL") >= 12)
                let start = ContinuousClock.now
                let final = try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
                    for (place, request) in requests.enumerated() {
                        group.addTask { (place, try await answerInTheEnd(request, from: survivor.port)) }
                    }
                    return try await group.reduce(into: [Int: Answer]()) { $0[$1.0] = $1.1 }
                }
                let time = ContinuousClock.now - start
                // A key whose claim nobody ends is free after five seconds; otherwise it would take minutes.
                #expect(time < .seconds(30), "the last key was answered after \(time)")
                // The process that lost its claims wakes up.
                stopped.process.signal(SIGCONT)
                var late: [Int: Answer] = [:]
                for try await (place, answer) in group { late[place] = answer }
                return (final: final, late: late)
            }
            for (place, request) in requests.enumerated() {
                let final = try #require(answers.final[place])
                site.keepSecret(urlOf: final)
                let isGone = final.code == "IdempotentAnswerGone" && !request.isIssuing
                #expect(200..<300 ~= final.status || isGone, "\(request.target): \(final.text)")
                guard let late = answers.late[place] else { continue }
                // A batch is answered item by item.
                let items = late.json["results"].items.isEmpty ? [late.json] : late.json["results"].items
                let finals = final.json["results"].items.isEmpty ? [final.json] : final.json["results"].items
                for (item, then) in zip(items, finals) {
                    let isRefused = [409, 503].contains(item["status"].integer ?? 0)
                    #expect(isRefused || isGone || item == then, "\(request.target): \(late.text) after \(final.text)")
                }
            }
            #expect(try await site.number("SELECT count(*) FROM issuances") == 4 * count)
            #expect(try await site.number("SELECT count(DISTINCT object_key) FROM issuances") == 4 * count)
            #expect(try await site.number("SELECT count(*) FROM tickets") == count)
            #expect(try await site.number("SELECT count(*) FROM quotas") == count)
            #expect(try await site.number("SELECT count(DISTINCT quota_limit) FROM quotas") == count)
            #expect(try await site.number("SELECT count(*) FROM api_keys WHERE name LIKE 'k_'") == count)
            #expect(try await site.number("SELECT count(*) FROM grants WHERE principal = 'user:x'") == count)
        }
    }
}

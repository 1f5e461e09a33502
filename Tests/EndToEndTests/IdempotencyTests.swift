import Foundation
import HTTPTesting
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// Requests with idempotency keys at the running program, on two gateways that are killed in between.
@Suite struct IdempotencyTests {
    private func send(
        _ target: String, _ body: JSON, key: String, as client: APIClient
    ) async throws -> Answer {
        try await client.call("POST", target, body, headers: [(name: "Idempotency-Key", value: key)])
    }

    /// Sends the same request many times at once, to all gateways in turn, until each has a final answer.
    private func sendManyTimes(
        _ target: String, _ body: JSON, key: String, as client: APIClient, at site: Deployment
    ) async throws -> [Answer] {
        let ports = site.gateways.map(\.port)
        return try await withThrowingTaskGroup(of: Answer.self) { group in
            for index in 0..<50 {
                group.addTask {
                    var last: Answer?
                    try await waitUntil("the request is answered") {
                        let answer = try await send(target, body, key: key, as: client.at(ports[index % ports.count]))
                        last = answer
                        guard answer.code == "IdempotencyKeyInUse" else { return true }
                        // As long as the claim lasts if nobody renews it.
                        let wait = answer["Retry-After"].flatMap { Int($0) } ?? 0
                        #expect(answer.status == 409 && 1...5 ~= wait)
                        return false
                    }
                    return try #require(last)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `fifty requests with one key are one issuance, on two gateways`() async throws {
        try await Deployment.with(gateways: 2) { site in
            try await site.makeBucket("once")
            let alice = try await site.makeUser("once-alice")
            let grant = try await site.grant(["PutObject", "GetObject"], to: alice.principal, in: "once")
            try await site.quota(10, for: alice.principal)
            let bodies: [(String, JSON)] = [
                ("/v1/presigned-urls", .upload("a", to: "once")),
                (
                    "/v1/presigned-urls",
                    [
                        "action": "PutObject", "bucket": "once", "keyPrefix": "made/", "contentType": "text/plain",
                        "contentLength": 5,
                    ]
                ),
                (
                    "/v1/post-policies",
                    ["bucket": "once", "key": "f", "contentTypes": ["image/png"], "minBytes": 1, "maxBytes": 9]
                ),
                ("/v1/presigned-urls/batch", ["items": [.download("b", from: "once"), .download("b", from: "once")]]),
            ]
            for (number, (target, body)) in bodies.enumerated() {
                let answers = try await sendManyTimes(
                    target, body, key: "key-\(number)", as: alice.client, at: site)
                for answer in answers { site.keepSecret(urlOf: answer) }
                #expect(Set(answers.map(\.text)).count == 1, "\(target): \(answers.first?.text ?? "")")
                #expect(answers.allSatisfy { $0.status == 201 || $0.status == 200 })
                #expect(answers.count { $0["Idempotency-Replayed"] == nil } == 1)
            }
            #expect(try await site.number("SELECT count(*) FROM issuances") == 5)
            #expect(try await site.number("SELECT used FROM quota_usage") == 5)
            // Other white space makes another body; another caller has its own keys.
            let spaced = try alice.client.request(
                "POST", "/v1/presigned-urls", .upload("a", to: "once"),
                headers: [(name: "Idempotency-Key", value: "key-0")], keepsConnection: false)
            var bytes = spaced
            bytes.body.append(UInt8(ascii: " "))
            bytes.headers.removeAll { $0.name == "Content-Length" }
            bytes.headers.append((name: "Content-Length", value: "\(bytes.body.count)"))
            let other = Answer(try await bytes.answer(fromPort: alice.client.port))
            #expect(other.status == 422 && other.code == "IdempotencyKeyReused")
            let bob = try await site.makeUser("once-bob")
            #expect(
                try await send("/v1/presigned-urls", .upload("a", to: "once"), key: "key-0", as: bob.client).status
                    == 403)
            // The table contains nothing that could be used as a credential.
            let rows = try await site.session().texts("SELECT k::text FROM idempotency_keys k")
            #expect(rows.count == 4)
            #expect(rows.allSatisfy { !$0.contains("X-Amz") && !$0.contains("key-") && !$0.contains("store.example") })
            try await site.delete("grants", grant)
            for (number, (target, body)) in bodies.enumerated() {
                let refused = try await send(target, body, key: "key-\(number)", as: alice.client)
                #expect(!refused.text.contains("X-Amz-Signature"), "\(target) after the revoke")
                #expect(target.hasSuffix("batch") || refused.status == 403)
            }
            #expect(try await site.number("SELECT count(*) FROM issuances") == 5)
        }
    }

    @Test func `an item that was refused is issued under the same key, and the others are as they were`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("again")
            let alice = try await site.makeUser("again-alice")
            try await site.grant(["GetObject"], to: alice.principal, in: "again")
            let quota = try await site.quota(1, for: alice.principal)
            let body: JSON = ["items": [.download("a", from: "again"), .download("b", from: "again")]]
            func ask() async throws -> Answer {
                let answer = try await send("/v1/presigned-urls/batch", body, key: "k", as: alice.client)
                for result in answer.json["results"].items {
                    if let url = result["url"].text { site.keepSecret(url) }
                }
                return answer
            }
            let first = try await ask()
            #expect(first.status == 200 && first["Idempotency-Replayed"] == nil, "\(first.text)")
            let refused = first.json["results"].items.map { $0["code"].text }
            #expect(refused == [nil, "QuotaExceeded"])
            try await site.limit(quota, to: 2)
            let second = try await ask()
            #expect(second.status == 200 && second["Idempotency-Replayed"] == "true", "\(second.text)")
            let issued = second.json["results"].items
            try #require(issued.count == 2)
            #expect(issued[0] == first.json["results"].items.first)
            #expect(issued[1]["url"].text != nil)
            // Nothing is left to issue.
            #expect(try await ask().text == second.text)
            #expect(try await site.number("SELECT count(*) FROM issuances") == 2)
            #expect(try await site.number("SELECT used FROM quota_usage") == 2)
        }
    }

    @Test func `a change is made once, and its answer survives the gateway`() async throws {
        try await Deployment.with(gateways: 2) { site in
            let body: JSON = ["name": "key of a machine", "principal": "user:machine", "roles": ["auditor"]]
            let answers = try await sendManyTimes("/admin/v1/api-keys", body, key: "a", as: site.admin, at: site)
            let token = try #require(answers[0].json["key"].text)
            site.keepSecret(token)
            #expect(Set(answers.map(\.text)).count == 1)
            #expect(try await site.number("SELECT count(*) FROM api_keys") == 1)
            for gateway in site.gateways { await site.end(gateway) { await gateway.crash() } }
            try await site.startGateway()
            let again = try await send("/admin/v1/api-keys", body, key: "a", as: site.admin)
            #expect(again.text == answers[0].text && again["Idempotency-Replayed"] == "true")
            // What was made under a key can be removed; the repeated answer does not bring it back.
            try await site.delete("api-keys", try #require(again.json["id"].text))
            let late = try await send("/admin/v1/api-keys", body, key: "a", as: site.admin)
            #expect(late.text == answers[0].text)
            #expect(try await site.client(token: token).call("GET", "/admin/v1/grants").status == 401)
            #expect(try await site.number("SELECT count(*) FROM api_keys") == 0)
            let texts = try await site.session().texts("SELECT k::text FROM idempotency_keys k")
            let hex = Data(token.utf8).map { String(format: "%02x", $0) }.joined()
            #expect(texts.count == 1 && texts.allSatisfy { !$0.contains(token) && !$0.contains(hex) })
        }
    }

    @Test func `a gateway that dies between effect and answer leaves one effect`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("dead")
            let alice = try await site.makeUser("dead-alice")
            try await site.grant(["PutObject", "GetObject"], to: alice.principal, in: "dead")
            let download = JSON.download("a", from: "dead")
            let quota: JSON = ["principal": "user:x", "metric": "urls", "period": "day", "limit": 1]
            let issued = try await send("/v1/presigned-urls", download, key: "k", as: alice.client)
            let made = try await send("/admin/v1/quotas", quota, key: "k", as: site.admin)
            site.keepSecret(urlOf: issued)
            // The state after a kill that follows the commit: the claim has expired, and no answer was kept.
            try await site.session().runScript(
                "UPDATE idempotency_keys SET answered_at = NULL, sealed = NULL, key_id = NULL, claimed_until = now()")
            let again = try await send("/v1/presigned-urls", download, key: "k", as: alice.client)
            #expect(again.status == 201 && again.text == issued.text)
            let gone = try await send("/admin/v1/quotas", quota, key: "k", as: site.admin)
            #expect(gone.status == 409 && gone.code == "IdempotentAnswerGone")
            #expect(try await site.number("SELECT count(*) FROM issuances") == 1)
            #expect(try await site.number("SELECT count(*) FROM quotas") == 1)
            #expect(made.status == 201)
            // A link that has expired is not issued again.
            try await site.session().runScript(
                """
                UPDATE idempotency_keys SET issuance_ids = ARRAY(
                    SELECT overlay(i::text placing '0190a0b0-c0d0' from 1 for 13)::uuid FROM unnest(issuance_ids) AS i
                ) WHERE issuance_ids <> '{}'
                """)
            let dead = try await send("/v1/presigned-urls", download, key: "k", as: alice.client)
            #expect(dead.status == 409 && dead.code == "IdempotentAnswerGone")
        }
    }

    @Test func `a database that is killed under load leaves each key one effect`() async throws {
        var options = ClusterOptions()
        options.fsync = true
        let cluster = try await TestCluster(options)
        try await Deployment.with(cluster: cluster) { site in
            try await site.makeBucket("killed")
            let alice = try await site.makeUser("killed-alice")
            try await site.grant(["GetObject"], to: alice.principal, in: "killed")
            let count = 40
            func sendBoth(_ number: Int) async throws -> [Answer] {
                let quota: JSON = [
                    "principal": "user:x\(number)", "metric": "urls", "period": "day", "limit": .number(1000 + number),
                ]
                return [
                    try await send(
                        "/v1/presigned-urls", .download("k\(number)", from: "killed"), key: "k\(number)",
                        as: alice.client),
                    try await send("/admin/v1/quotas", quota, key: "k\(number)", as: site.admin),
                ]
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count { group.addTask { _ = try await sendBoth(number) } }
                group.addTask {
                    try await waitUntil("some are recorded") {
                        try await site.number("SELECT count(*) FROM issuances") >= 3
                    }
                    try await cluster.kill()
                }
                try await group.waitForAll()
            }
            try await cluster.start()
            try await waitUntil("the gateway is ready again") {
                try await site.client().call("GET", "/readyz").status == 200
            }
            try await site.session().runScript("UPDATE idempotency_keys SET claimed_until = now()")
            for number in 0..<count {
                // What cannot be recorded yet may be repeated.
                var answers: [Answer] = []
                try await waitUntil("the gateway records again") {
                    answers = try await sendBoth(number)
                    return answers.allSatisfy { $0.status != 503 }
                }
                site.keepSecret(urlOf: answers[0])
                #expect(answers[0].status == 201, "\(answers[0].text)")
                // The change was made even where the answer was not kept.
                #expect(answers[1].status == 201 || answers[1].code == "IdempotentAnswerGone", "\(answers[1].text)")
            }
            #expect(try await site.number("SELECT count(*) FROM issuances") == count)
            #expect(try await site.number("SELECT count(DISTINCT object_key) FROM issuances") == count)
            #expect(try await site.number("SELECT count(*) FROM quotas") == count)
            #expect(try await site.number("SELECT count(DISTINCT quota_limit) FROM quotas") == count)
        }
        try await cluster.stop()
    }
}

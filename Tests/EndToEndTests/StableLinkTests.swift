import Foundation
import HTTPTesting
import TestSupport
import Testing

/// Links that are the same within a window, at stores that verify signatures.
@Suite struct StableLinkTests {
    @Test("two callers get one link and two rows, and the store takes it", arguments: StoreKind.allCases)
    func sameLinks(kind: StoreKind) async throws {
        try await StoreBench.with(kind, options: ["stableLinkWindow": 86_400]) { bench in
            let body = Array("the bytes of an object".utf8)
            let key = bench.freshKey("a b+c.png")
            #expect(try await bench.uploadLink(key, for: body).use(body).status == 200)
            let bob = try await bench.deployment.makeUser("bob")
            try await bench.deployment.grant(["GetObject"], to: bob.principal, in: bench.bucket)
            let wish = JSON.download(key, from: bench.bucket)
            // A day may end between two links.
            var answers: [Answer] = []
            for _ in 0..<2 {
                answers = [try await bench.user.ask(wish), try await bob.ask(wish)]
                if answers[0].json["expiresAt"] == answers[1].json["expiresAt"] { break }
            }
            let urls = try answers.map { try #require($0.json["url"].text, "\($0.text)") }
            for url in urls { bench.deployment.keepSecret(url) }
            #expect(urls[0] == urls[1] && answers[0].json["id"] != answers[1].json["id"])
            #expect(try await Link(answers[0].json).use().body == body)
            let left = try #require(answers[0].json["expiresIn"].integer)
            #expect(900...87_300 ~= left)
            let recorded = try await bench.deployment.number(
                """
                SELECT count(*) FROM issuances WHERE object_key = '\(key)' AND action = 'GetObject'
                    AND abs(extract(epoch FROM expires_at - issued_at) - \(left)) < 60
                """)
            #expect(recorded >= 2)

            let redirect = try await bench.user.client.call(
                "GET", "/v1/objects/\(bench.bucket)/\(key.replacing(" ", with: "%20"))")
            #expect(redirect["Location"] == urls[0], "\(redirect.text)")
            let age = try #require(redirect["Cache-Control"]?.split(separator: "=").last.flatMap { Int($0) })
            #expect(left - 120...left - 60 ~= age, "the redirect may be kept as long as the link lives")
        }
    }
}

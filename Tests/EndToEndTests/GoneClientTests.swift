import HTTPTesting
import TestSupport
import Testing

/// Clients that disconnect while the gateway answers them.
@Suite(.timeLimit(.minutes(3))) struct GoneClientTests {
    @Test func `clients that hang up make no errors, and nothing of them is kept`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("gone")
            let user = try await site.makeUser("alice")
            try await site.grant(["GetObject"], to: user.principal, in: "gone")
            let gateway = site.gateways[0]
            let request = try user.client.request("GET", "/v1/access")
            try await waitUntil("some are seen to have gone") {
                for turn in UInt32(0)..<40 {
                    try await request.hangUp(.reset, atPort: gateway.port, after: turn * 100)
                }
                return try await MetricsReading(of: gateway).requests("gone", at: "/v1/access") >= 5
            }
            try await waitUntil("all requests are over") {
                try await MetricsReading(of: gateway).requestsUnderWay == 0
            }
            let metrics = try await MetricsReading(of: gateway)
            #expect(metrics.requests("5xx", at: "/v1/access") == 0)
            for code in ["SlowDown", "ServiceUnavailable"] {
                #expect(metrics["sluice_refused_total{code=\"\(code)\"}"] == 0)
            }
            await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            let lines = site.log.split(separator: "\n").filter { $0.contains(" route=/v1/access ") }
            #expect(lines.contains { $0.hasSuffix("Request abandoned") })
            #expect(!lines.contains { $0.contains(" status=503 ") || $0.contains(" reason=") })
            #expect(try await site.number("SELECT count(*) FROM refusals") == 0)
        }
    }

    /// A claim that nobody ends lasts five seconds.
    @Test func `a key is free soon after its client has hung up, whatever the gateway was doing`() async throws {
        try await Deployment.with { site in
            try await site.makeBucket("gone")
            let user = try await site.makeUser("alice")
            try await site.grant(["GetObject"], to: user.principal, in: "gone")
            let port = site.gateways[0].port
            for turn in UInt32(0)..<20 {
                let headers = [(name: "Idempotency-Key", value: "gone-\(turn)")]
                let request = try user.client.request(
                    "POST", "/v1/presigned-urls", .download("k", from: "gone"), headers: headers)
                try await request.hangUp(.reset, atPort: port, after: turn * 200)
                try await waitUntil("the key is free", seconds: 4) {
                    let answer = try await user.ask(.download("k", from: "gone"), headers: headers)
                    #expect(answer.status == 201 || answer.code == "IdempotencyKeyInUse", "\(answer.text)")
                    return answer.status == 201
                }
            }
        }
    }
}

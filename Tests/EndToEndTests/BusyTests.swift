import LibPQ
import PostgresTesting
import Testing

/// A gateway that answers as many requests as it may, because PostgreSQL is slow.
@Suite(.timeLimit(.minutes(3))) struct BusyTests {
    @Test func `a gateway without a place for a request tells that it lives, whether it is ready, and its metrics`()
        async throws
    {
        try await Deployment.with(settings: ["SLUICE_HTTP_MAX_REQUESTS_IN_FLIGHT": "1"]) { site in
            try await site.makeBucket("busy")
            let user = try await site.makeUser("alice")
            try await site.grant(["GetObject"], to: user.principal, in: "busy")
            let holder = try site.session()
            try await holder.runScript("BEGIN; LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE")
            async let slow = user.ask(
                .download("k", from: "busy"), headers: [(name: "Idempotency-Key", value: "busy")])
            try await holder.waitForBlocked(in: "%claim_idempotency_key%")
            let refused = try await user.client.call("GET", "/v1/access")
            #expect(refused.status == 503 && refused.code == "SlowDown", "\(refused.text)")
            #expect(try await site.client().call("GET", "/healthz").status == 200)
            #expect(try await site.client().call("GET", "/metrics").status == 200)
            let readiness = try await site.client().call("GET", "/readyz")
            #expect(!readiness.json["checks"].items.isEmpty, "\(readiness.text)")
            await holder.close()
            #expect(try await slow.status == 201)
        }
    }
}

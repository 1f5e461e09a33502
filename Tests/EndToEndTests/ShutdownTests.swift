import HTTPTesting
import LibPQ
import PostgresTesting
import TestSupport
import Testing

extension LoadTests {
    /// SIGTERM: accepted requests are answered, and recorded issuances were answered.
    @Suite struct ShutdownTests {
        private static let clients = 32

        @Test func `requests under way are answered before the gateway ends`() async throws {
            try await Deployment.with { site in
                let user = try await makeUser(at: site)
                let request = try user.client.request("POST", "/v1/presigned-urls", .download("k", from: "stop"))
                let gateway = site.gateways[0]
                let tally = Tally()
                // Holds up every recording until the gateway has been told to end.
                let session = try site.session()
                #expect(try await user.ask(.download("k", from: "stop")).status == 201)
                _ = try await session.number("SELECT count(pg_advisory_lock(advisory_lock('policy')))")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await onThreads(Self.clients) { _ in
                            var connection = KeptConnection()
                            tally.note(try connection.exchange(request, port: gateway.port), expected: [201])
                        }
                    }
                    try await waitUntil("all requests are under way") {
                        try await MetricsReading(of: gateway).requestsUnderWay == Self.clients
                    }
                    gateway.process.signal(15)
                    try await waitUntil("nobody else is let in") {
                        (try? await site.client().call("GET", "/healthz")) == nil
                    }
                    #expect(tally.statuses.isEmpty)
                    _ = try await session.number("SELECT count(pg_advisory_unlock(advisory_lock('policy')))")
                    try await group.waitForAll()
                }
                await site.end(gateway) { #expect(await gateway.process.exitStatus() == 0) }
                #expect(tally.count(of: 201) == Self.clients)
                #expect(tally.wrong.isEmpty)
                #expect(try await site.number("SELECT count(*) FROM issuances") == Self.clients + 1)
            }
        }

        @Test func `a stop under load leaves no row whose URL was not sent`() async throws {
            try await Deployment.with { site in
                let user = try await makeUser(at: site)
                let request = try user.client.request("POST", "/v1/presigned-urls", .download("k", from: "stop"))
                let gateway = site.gateways[0]
                let tally = Tally()
                let port = gateway.port
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await onThreads(Self.clients) { _ in
                            var connection = KeptConnection()
                            while let answer = try? connection.exchange(request, port: port) {
                                tally.note(answer, expected: [201])
                            }
                        }
                    }
                    try await waitUntil("URLs are issued") { tally.count(of: 201) >= 300 }
                    gateway.process.signal(15)
                    try await group.waitForAll()
                }
                await site.end(gateway) { #expect(await gateway.process.exitStatus() == 0) }
                #expect(tally.wrong.isEmpty)
                #expect(try await site.number("SELECT count(*) FROM issuances") == tally.count(of: 201))
            }
        }

        private func makeUser(at site: Deployment) async throws -> User {
            try await site.makeBucket("stop")
            let user = try await site.makeUser("alice")
            try await site.grant(["GetObject"], to: user.principal, in: "stop")
            return user
        }
    }
}

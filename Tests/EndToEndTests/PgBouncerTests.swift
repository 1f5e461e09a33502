import Foundation
import HTTPTesting
import PostgresTesting
import Testing

/// The program behind a real PgBouncer.
@Suite(.enabled(if: Bouncer.isThere), .timeLimit(.minutes(3))) struct PgBouncerTests {
    @Test func `session mode serves, proves and recovers`() async throws {
        try await Deployment.with(cluster: try await TestCluster(ClusterOptions())) { site in
            let bouncer = try await Bouncer("session", before: site.cluster)
            let gateway = try await site.startGateway(bouncer.settings(database: site.databaseName))
            try await site.makeBucket("pooled")
            let alice = try await site.makeUser("alice")
            let grant = try await site.grant(["GetObject"], to: alice.principal, in: "pooled")
            let pooled = alice.client.at(gateway.port)
            for _ in 0..<20 { #expect(try await pooled.ask(.download("k", from: "pooled")).status == 201) }
            await bouncer.end()
            let refused = try await pooled.ask(.download("k", from: "pooled"))
            #expect(refused.status == 503 && refused["Retry-After"] != nil)
            let again = try await Bouncer("session", before: site.cluster)
            try await waitUntil("links flow again", seconds: 15) {
                try await pooled.ask(.download("k", from: "pooled")).status == 201
            }
            // Changed at the gateway that connects directly.
            try await site.delete("grants", grant)
            #expect(try await pooled.ask(.download("k", from: "pooled")).code == "AccessDenied")
            await again.end()
        }
    }

    @Test(arguments: ["transaction", "statement"], ["", "server_round_robin = 1\nmin_pool_size = 12"])
    func `a mode that shares sessions is refused at the start, with the reason`(
        mode: String, more: String
    ) async throws {
        try await Deployment.with(cluster: try await TestCluster(ClusterOptions()), gateways: 0) { site in
            let bouncer = try await Bouncer(mode, before: site.cluster, more)
            let settings = bouncer.settings(database: site.databaseName)
            // With a pool that has many idle sessions.
            _ = try? await Program.run(["doctor"], environment: site.environment.merging(settings) { $1 })
            let error = try await #require(throws: ProgramError.self) { try await site.startGateway(settings) }
            #expect(error.output.contains("shares sessions among clients"), "\(error)")
            #expect(error.output.contains("pool_mode = session"), "\(error)")
            let migration = try await #require(throws: ProgramError.self) {
                try await Program.run(["migrate"], environment: site.environment.merging(settings) { $1 })
            }
            #expect(migration.output.contains("pool_mode = session"), "\(migration)")
            await bouncer.end()
            // Logs are searched for secrets: a gateway has to have run.
            try await site.startGateway()
        }
    }
}

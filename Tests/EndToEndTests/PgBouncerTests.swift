import Foundation
import PostgresTesting
import TestSupport
import Testing

/// The program behind a real PgBouncer.
@Suite(
    .enabled(if: Bouncer.isThere || Surroundings.areRequired, "pgbouncer is not installed"), .timeLimit(.minutes(3)))
struct PgBouncerTests {
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

    @Test func `a gateway listens again after its sessions were ended, and after the server crashed`() async throws {
        try await Deployment.with(cluster: try await TestCluster(ClusterOptions())) { site in
            let bouncer = try await Bouncer("session", before: site.cluster, "server_login_retry = 1")
            let gateway = try await site.startGateway(bouncer.settings(database: site.databaseName))
            try await site.makeBucket("heard")
            let alice = try await site.makeUser("alice")
            let pooled = alice.client.at(gateway.port)
            var grants: [String] = []
            // Nobody asks the gateway for anything meanwhile, so that only a notification makes it read.
            func change(_ occasion: String) async throws {
                try await waitUntil("the other gateway takes the change: \(occasion)", seconds: 20) {
                    let row: JSON = [
                        "principal": "\(alice.principal)", "bucket": "heard", "prefix": "\(grants.count)/",
                        "actions": ["GetObject"],
                    ]
                    let answer = try await site.admin.call("POST", "/admin/v1/grants?ifExists=return", row)
                    if let id = answer.json["id"].text { grants.append(id) }
                    return [200, 201].contains(answer.status)
                }
                let last = try await site.number("SELECT max(seq) FROM policy_log")
                try await waitUntil("the change is heard: \(occasion)", seconds: 20) {
                    let metrics = try await APIClient(port: gateway.port).call("GET", "/metrics").text
                    return metrics.contains("\nsluice_policy_position \(last)\n")
                }
            }
            try await change("at first")
            for _ in 0..<3 {
                try await site.cluster.endSessions(where: "datname = '\(site.databaseName)'")
                try await change("after sessions were ended")
                #expect(try await pooled.ask(.download("0/k", from: "heard")).status == 201)
            }
            try await site.cluster.kill()
            let refused = try await pooled.ask(.download("0/k", from: "heard"))
            #expect(refused.status == 503 && refused["Retry-After"] != nil, "\(refused.text)")
            try await site.cluster.start()
            try await change("after a crash")
            try await waitUntil("links flow again", seconds: 20) {
                try await pooled.ask(.download("0/k", from: "heard")).status == 201
            }
            try await site.delete("grants", grants[0])
            #expect(try await pooled.ask(.download("0/k", from: "heard")).code == "AccessDenied")
            await bouncer.end()
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

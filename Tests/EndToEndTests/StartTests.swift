import Foundation
import Testing

/// What a gateway refuses to start with.
@Suite(.deployment) struct StartTests {
    private func failure(at site: Deployment, _ key: String) async throws -> ProgramError {
        site.keepSecret(key)
        return try await #require(throws: ProgramError.self) {
            try await site.startGateway(["SLUICE_MASTER_KEY": key])
        }
    }

    @Test func `another master key than that of the database is named, and not shown`() async throws {
        let site = try Deployment.current
        let other = Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
        // Nothing is sealed yet.
        let early = try await site.startGateway(["SLUICE_MASTER_KEY": "k2:\(other)"])
        await site.end(early) { await early.crash() }
        try await site.makeBucket("sealed")
        let own = try #require(site.environment["SLUICE_MASTER_KEY"])
        for (key, id) in [("k2:\(other)", "'k1' is not among those given"), ("k1:\(other)", "'k1' does not open")] {
            let error = try await failure(at: site, key)
            #expect(error.status == 1)
            #expect(error.output.contains("SLUICE_MASTER_KEY: the master key \(id)"), "\(error)")
            #expect(!error.output.contains(other) && !error.output.contains("listening"))
        }
        let both = ["SLUICE_MASTER_KEY": "k2:\(other)\n\(own)"]
        #expect(try await site.startGateway(both).process.isRunning)

        let user = try await site.makeUser("alice")
        try await site.grant(["GetObject"], to: user.principal, in: "sealed")
        _ = try await Program.run(["rotate-master-key"], environment: site.environment.merging(both) { $1 })
        let audited = "SELECT count(*) FROM admin_audit WHERE actor = 'rotate-master-key' AND operation = 'update'"
        #expect(try await site.number(audited) == 1)
        #expect(try await failure(at: site, own).output.contains("SLUICE_MASTER_KEY: the master key 'k2' is not"))
        let last = try await site.startGateway(["SLUICE_MASTER_KEY": "k2:\(other)"])
        #expect(try await user.client.at(last.port).ask(.download("k", from: "sealed")).status == 201)
    }
}

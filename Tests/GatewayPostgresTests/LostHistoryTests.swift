import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Policy in memory when a standby that lacks the last changes takes over.
@Suite(.timeLimit(.minutes(2))) struct LostHistoryTests {
    /// The log is not read after the grant is made, so its row is newer than the position that proves it. The log of
    /// the new primary has this position too, and no later line.
    @Test func `a grant that the new primary never had is not in memory any more`() async throws {
        let old = try await TestCluster(ClusterOptions())
        let new = try await TestCluster(standbyOf: old)
        let name = try await old.createDatabase(template: .migrated)
        let primary = Primary(logger: .silent)
        var configuration = try PostgresConfiguration(
            connectionString: "host=\(old.directory),\(new.directory) port=\(old.port),\(new.port) user=postgres "
                + "dbname=\(name) target_session_attrs=read-write",
            applicationName: "tests", sessionSettings: PostgresPolicySource.sessionSettings)
        configuration.primary = primary
        let watch = PrimaryWatch(configuration, primary: primary)
        try await watch.look()
        let history = try #require(primary.identity)

        let stores = PostgresAdminStores(
            pool: PostgresPool(
                try PostgresConfiguration(
                    connectionString: old.connectionString(database: name), applicationName: "admin"),
                size: 1, logger: .silent),
            keys: try .sample("k1"), logger: .silent, now: { Date() })
        let credential = try await stores.credentials.create(.sample(), by: AdminWorld.change).row
        let bucket = try await stores.buckets.create(.sample("demo", credential: credential.id), by: AdminWorld.change)
        let position = try await PostgresConnection(testing: old.connectionString(database: name)).position()
        let standby = try PostgresConnection(testing: new.connectionString(database: name))
        try await eventually { (try? await standby.position()) == position }
        await standby.close()
        try await new.stop()

        let cache = PolicyCache(
            source: PostgresPolicySource(
                pool: PostgresPool(configuration, size: 1, logger: .silent), keys: try .sample("k1"), logger: .silent))
        primary.onChange { cache.discard() }
        let alice = try Principal("user:alice")
        func grants() async throws -> [Grant] {
            try await cache.access(of: alice, groups: [], to: bucket.row.name, key: ObjectKey("team/x"))
                .principals.flatMap(\.grants)
        }
        try await cache.advance()
        let grant = try await stores.grants.create(.sample(), by: AdminWorld.change).row
        #expect(try await grants().map(\.id) == [grant.id])
        #expect(cache.position == position)

        try await old.kill()
        try await new.start()
        try await new.promote()
        try await eventually {
            try? await watch.look()
            return primary.identity != history
        }
        var left: [Grant]?
        try await eventually {
            left = try? await grants()
            return left != nil
        }
        #expect(left == [])
        #expect(cache.position == position)
        try await new.kill()
    }
}

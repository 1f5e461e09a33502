import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayPostgres

/// What rests on a history that is lost, when a standby that lacks the last changes takes over.
@Suite(.timeLimit(.minutes(2))) struct LostHistoryTests {
    /// A primary, a standby that lacks what is committed from now on, and a gateway that knows both.
    private struct World {
        let old: TestCluster
        let new: TestCluster
        let name: String
        let primary: Primary
        let configuration: PostgresConfiguration
        let watch: PrimaryWatch
        let history: ServerIdentity
        /// The rows of the old primary.
        let stores: PostgresAdminStores
        let bucket: BucketName
        /// The last change that both servers have.
        let position: PolicyPosition
        let cache: PolicyCache

        init() async throws {
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
            history = try #require(primary.identity)

            let stores = PostgresAdminStores(
                pool: PostgresPool(
                    try PostgresConfiguration(
                        connectionString: old.connectionString(database: name), applicationName: "admin"),
                    size: 1, logger: .silent),
                keys: try .sample("k1"), logger: .silent, now: { Date() })
            let credential = try await stores.credentials.create(.sample(), by: AdminWorld.change).row
            let bucket = try await stores.buckets.create(
                .sample("demo", credential: credential.id), by: AdminWorld.change)
            let position = try await PostgresConnection(testing: old.connectionString(database: name)).position()
            let standby = try PostgresConnection(testing: new.connectionString(database: name))
            try await eventually { (try? await standby.position()) == position }
            await standby.close()
            try await new.stop()

            let cache = PolicyCache(
                source: PostgresPolicySource(
                    pool: PostgresPool(configuration, size: 1, logger: .silent), keys: try .sample("k1"),
                    logger: .silent))
            primary.onChange { cache.beginHistory() }
            (self.old, self.new, self.name, self.primary) = (old, new, name, primary)
            (self.configuration, self.watch, self.stores) = (configuration, watch, stores)
            (self.bucket, self.position, self.cache) = (bucket.row.name, position, cache)
        }

        /// The position of a caller who is checked now.
        func checked() async throws -> PolicyPosition { try await cache.apiKey(prefix: "mine").position }

        /// Promotes the standby, and waits until the gateway sees it.
        func failOver() async throws {
            try await old.kill()
            try await new.start()
            try await new.promote()
            try await eventually {
                try? await watch.look()
                return primary.identity != history
            }
        }
    }

    /// The log is not read after the grant is made, so its row is newer than the position that proves it. The log of
    /// the new primary has this position too, and no later line.
    @Test func `a grant that the new primary never had is not in memory any more`() async throws {
        let world = try await World()
        let cache = world.cache
        let alice = try Principal("user:alice")
        func grants() async throws -> [Grant] {
            try await cache.access(of: alice, groups: [], to: world.bucket, key: ObjectKey("team/x"))
                .principals.flatMap(\.grants)
        }
        try await cache.advance()
        let grant = try await world.stores.grants.create(.sample(), by: AdminWorld.change).row
        #expect(try await grants().map(\.id) == [grant.id])
        #expect(cache.position == world.position)

        try await world.failOver()
        var left: [Grant]?
        try await eventually {
            left = try? await grants()
            return left != nil
        }
        #expect(left == [])
        #expect(cache.position == world.position)
        try await world.new.kill()
    }

    /// A decision may wait for a token service or in the queue of the ledger while the standby takes over. The new
    /// primary has the position that would prove it.
    @Test func `what rests on rows of the old primary is neither recorded nor changed at the new one`() async throws {
        let world = try await World()
        let ledger = try PostgresLedger(
            configuration: world.configuration, clock: .right, limits: .init(connections: 1), logger: .silent)
        let running = Task { await ledger.run() }
        defer { running.cancel() }
        let stores = PostgresAdminStores(
            pool: PostgresPool(world.configuration, size: 1, logger: .silent), keys: try .sample("k1"),
            logger: .silent, now: { Date() })
        func change(at position: PolicyPosition) -> ChangeContext {
            var change = AdminWorld.change
            change.proof = CredentialProof(position: position, scopes: [.apiKey(prefix: "mine")])
            return change
        }
        func record(at position: PolicyPosition) async throws -> RecordVerdict {
            try await ledger.record(IssuanceProposal.sample(at: position), deadline: .soon)
        }
        let before = try await world.checked()
        #expect(try await record(at: before).isRecorded)
        _ = try await world.stores.grants.create(.sample(), by: AdminWorld.change)

        try await world.failOver()
        var verdict: RecordVerdict?
        try await eventually {
            verdict = try? await record(at: before)
            return verdict != nil
        }
        #expect(verdict == .stale)
        await #expect(throws: GatewayError.staleCaller) {
            try await stores.grants.create(.sample(), by: change(at: before))
        }
        var checkedAgain: PolicyPosition?
        try await eventually {
            checkedAgain = try? await world.checked()
            return checkedAgain != nil
        }
        let after = try #require(checkedAgain)
        #expect(before == world.position && after == world.position)
        #expect(try await record(at: after).isRecorded)
        _ = try await stores.grants.create(.sample(), by: change(at: after))
        let session = try PostgresConnection(testing: world.new.connectionString(database: world.name))
        #expect(try await session.number("SELECT count(*) FROM issuances") == 1)
        #expect(try await session.number("SELECT count(*) FROM grants") == 1)
        await session.close()
        try await world.new.kill()
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayPostgres

/// Bulk changes while others change the same grants, and the cost of bulk changes.
@Suite(.timeLimit(.minutes(5))) struct BulkRaceTests {
    private func world() async throws -> AdminWorld {
        let world = try AdminWorld()
        try await world.makeBucket()
        return world
    }

    /// Lets another admin change a grant while a bulk change waits for the row.
    private func overtaking(
        _ id: UUID, _ world: AdminWorld, _ bulk: @escaping @Sendable () async throws -> Void
    ) async throws {
        let other = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await other.runScript("BEGIN")
        try await other.runScript("SELECT FROM grants WHERE id = '\(id)' AND removed_at IS NULL FOR UPDATE")
        async let change: Void = bulk()
        try await world.connection.waitForBlocked(in: "%UPDATE grants g SET removed_at%")
        try await other.runScript(
            """
            UPDATE grants SET removed_at = now(), removed_by = 'other', removed_change = current_policy_change()
            WHERE id = '\(id)' AND removed_at IS NULL;
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, note, created_by)
            SELECT g.id, g.principal, g.bucket, g.prefix, g.is_template, g.actions, g.effect, 'other', g.created_by
            FROM grants g WHERE g.id = '\(id)' LIMIT 1;
            SELECT append_policy_log('{user:alice}', 'other', '');
            """)
        try await other.runScript("COMMIT")
        try await change
    }

    @Test(.database(.migrated)) func aGrantThatIsChangedMeanwhileIsLookedAtAnew() async throws {
        let world = try await world()
        let grant = try await world.stores.grants.create(.plain(note: "first"), by: AdminWorld.change)
        try await overtaking(grant.id, world) {
            let result = try await world.importing([(nil, .plain(note: "file"))], prunes: true)
            #expect(result.counts == GrantCounts([.updated: 1]))
            #expect(result.samples.first?.before?.note == "other", "it is compared with what is there in the end")
        }
        #expect(try await world.exported().map(\.note) == ["file"])
        #expect(try await world.connection.number("SELECT count(*) FROM grant_history WHERE id = '\(grant.id)'") == 3)
        #expect(try await world.audit().last { $0.hasPrefix("update") }?.contains("\"other\"") == true)
    }

    @Test(.database(.migrated)) func aBatchForAnotherStateIsRefusedAlsoWhereItCameMeanwhile() async throws {
        let world = try await world()
        let grant = try await world.stores.grants.create(.plain(note: "first"), by: AdminWorld.change)
        await #expect(throws: GatewayError.self) {
            try await overtaking(grant.id, world) {
                _ = try await world.bulk().apply(
                    GrantBatch(
                        writes: [], removals: [GrantRemoval(id: grant.id, revision: grant.revision)], isDryRun: false),
                    by: AdminWorld.change)
            }
        }
        #expect(try await world.exported().map(\.note) == ["other"])
    }

    @Test(.database(.migrated)) func theLogIsLockedLastAndOnlyThen() async throws {
        let world = try await world()
        let issuing = try PostgresConnection(testing: TestDatabase.current.connectionString)
        // Sessions that issue share this lock. The import asks for it only when it commits.
        try await issuing.runScript("BEGIN")
        try await issuing.runScript("SELECT pg_advisory_xact_lock_shared(advisory_lock('policy'))")
        async let imported = world.importing(try (0..<50).map { (nil, try .plain("user:\($0)")) })
        try await world.connection.waitForBlocked(in: "COMMIT")
        let locks = """
            SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        #expect(try await world.connection.number(locks) == 1, "it holds the lock of imports and no other")
        #expect(try await world.connection.number("SELECT count(*) FROM grants") == 0)
        try await issuing.runScript("COMMIT")
        #expect(try await imported.counts[.created] == 50)
    }

    @Test(.database(.migrated)) func aLongCommitOfOthersDoesNotUndoTheWork() async throws {
        let world = try await world()
        let issuing = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await issuing.runScript("BEGIN")
        try await issuing.runScript("SELECT pg_advisory_xact_lock_shared(advisory_lock('policy'))")
        async let imported = world.importing([(nil, .plain())])
        try await world.connection.waitForBlocked(in: "COMMIT")
        let waitsSince = """
            SELECT coalesce(max(extract(epoch FROM l.waitstart) * 1000000), 0)
            FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE a.datname = current_database() AND NOT l.granted AND a.query = 'COMMIT'
            """
        let first = try await world.connection.number(waitsSince)
        // It asks again.
        try await eventually { try await world.connection.number(waitsSince) > first }
        try await issuing.runScript("COMMIT")
        #expect(try await imported.counts[.created] == 1)
        #expect(try await world.connection.number("SELECT count(*) FROM grant_history") == 1)
    }

    @Test(.database(.migrated)) func importsWaitForEachOther() async throws {
        let world = try await world()
        let holder = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await holder.runScript("SELECT pg_advisory_lock(1936485477, 0)")
        let lines = try (0..<20).map { (nil as UUID?, try Grant.plain("user:\($0)")) }
        async let first = world.importing(lines, prunes: true)
        async let second = world.importing(lines, prunes: true)
        try await world.connection.waitForBlocked(2, on: "advisory")
        // A dry run waits for nobody.
        #expect(try await world.importing(lines, prunes: true, isDryRun: true).counts[.created] == 20)
        try await holder.runScript("SELECT pg_advisory_unlock(1936485477, 0)")
        let counts = try await [first.counts, second.counts]
        #expect(counts.contains(GrantCounts([.created: 20])) && counts.contains(GrantCounts([.unchanged: 20])))
        #expect(try await world.exported().count == 20)
    }

    @Test(.database(.migrated)) func aKilledSessionLeavesNothing() async throws {
        let world = try await world()
        let holder = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await holder.runScript("SELECT pg_advisory_lock(advisory_lock('policy'))")
        async let imported = world.importing([(nil, .plain())])
        try await world.connection.waitForBlocked(in: "COMMIT")
        _ = try await world.connection.number(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query = 'COMMIT'
            """
        )
        do {
            _ = try await imported
            Issue.record("it is not told that it failed")
        } catch {
            #expect(error as? GatewayError == .unavailable(retryAfter: 1))
        }
        try await holder.runScript("SELECT pg_advisory_unlock(advisory_lock('policy'))")
        #expect(try await world.exported().isEmpty)
        #expect(try await world.importing([(nil, .plain())]).counts[.created] == 1)
    }

    @Test(.database(.migrated)) func aPageFarBehindCostsAsMuchAsTheFirst() async throws {
        let world = try await world()
        try await world.connection.runScript(
            """
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by)
            SELECT uuid_v7(), 'user:' || lpad((i % 5000)::text, 6, '0'), 'demo', 'p' || i || '/', false, '{GetObject}', 'allow', 'x'
            FROM generate_series(1, 30000) i;
            SELECT append_policy_log('{all}', 'x', '');
            """)
        try await world.connection.runScript("ANALYZE grants; PREPARE page AS \(GrantTable.page.text)")
        func buffers(_ after: String) async throws -> Int64 {
            let plan = try await world.connection.execute(
                Statement<Void, String>(
                    "EXPLAIN (ANALYZE, BUFFERS) EXECUTE page (NULL, NULL, NULL, NULL, NULL, NULL, NULL, \(after), 101)"
                ) { row throws(PostgresError) in try row.decode(0) })
            let line = try #require(plan.first { $0.contains("Buffers:") })
            return line.matches(of: /(?:hit|read)=(\d+)/).map { Int64($0.1) ?? 0 }.reduce(0, +)
        }
        let first = try await buffers("NULL, NULL, NULL, NULL")
        // After some executions of a statement, a session may use one plan for all values.
        for _ in 0..<10 { _ = try await buffers("NULL, NULL, NULL, NULL") }
        let last = try await buffers("'user:004900', 'demo', '', '00000000-0000-0000-0000-000000000000'")
        #expect(last <= first + 20, "\(last) instead of \(first) pages of the database")
    }
}

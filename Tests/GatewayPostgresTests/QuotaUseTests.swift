import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// The use of quotas: how it is read, and how a reset affects reservations.
@Suite struct QuotaUseTests {
    private func makeQuota(
        in world: AdminWorld, _ quota: Quota = .sample(limit: 1_000_000, metric: .bytes)
    ) async throws -> Quota {
        try await world.stores.quotas.create(quota, by: AdminWorld.change).row
    }

    /// Records uploads of 100 bytes each, whose URLs expired a minute ago.
    private func reserve(_ count: Int, of quota: Quota, by user: String = "user:alice", in world: AdminWorld)
        async throws
    {
        let position = try await world.connection.position()
        let proposals = try (0..<count).map { _ in
            try IssuanceProposal.sample(
                at: position, principal: user, scopes: ["nothing"], action: .putObject,
                charges: [quota.charge(100, by: user)], lifetime: -60)
        }
        #expect(try await world.connection.record(proposals).allSatisfy(\.isRecorded))
    }

    private func sweep(in world: AdminWorld, _ answer: @escaping @Sendable (ObjectKey) -> StoreLook) async {
        await ReservationSweeper(
            connection: world.connection, verifier: StubVerifier(answer: answer), clock: .right,
            schedule: .init(grace: .zero, batch: 3), logger: .silent
        ).runRound()
    }

    private func used(_ quota: Quota, in world: AdminWorld) async throws -> Int64? {
        try await world.stores.quotaCounters.summaries(of: [quota.id])[quota.id]?.used
    }

    @Test(.database(.migrated)) func sumsUpAndListsWhoUsedMost() async throws {
        let world = try AdminWorld()
        let quota = try await makeQuota(in: world)
        let total = try await makeQuota(in: world, .sample(limit: 5, period: .total))
        let uses = QuotaCounters(store: world.stores.quotaCounters)
        #expect(try await uses.summaries(of: [quota.id])[quota.id]?.holders == 0)
        for (user, count) in [("user:c", 1), ("user:a", 2), ("user:b", 2), ("user:é", 3)] {
            try await reserve(count, of: quota, by: user, in: world)
        }
        let summaries = try await uses.summaries(of: [quota.id, total.id, UUID()])
        #expect(summaries.count == 2)
        let summary = try #require(summaries[quota.id])
        #expect([summary.used, summary.highest, summary.holders] == [800, 300, 4])
        let start = try #require(summary.periodStart)
        #expect(try #require(summary.resetsAt).timeIntervalSince(start) == 86_400)
        #expect(
            summaries[total.id] == QuotaUseSummary(periodStart: nil, resetsAt: nil, used: 0, highest: 0, holders: 0))
        for size in 1...5 {
            var rows: [String] = []
            var token: String?
            repeat {
                let page = try await uses.uses(of: quota.id, ListQuery(pageSize: size, pageToken: token))
                rows += page.items.map { "\($0.holder.rawValue) \($0.used) \($0.reserved)" }
                token = page.nextPageToken
            } while token != nil && rows.count < 10
            #expect(rows == ["user:é 300 300", "user:a 200 200", "user:b 200 200", "user:c 100 100"])
        }
        await sweep(in: world) { _ in .object(100) }
        let settled = try await uses.uses(of: quota.id, ListQuery(filters: ["holder": "user:b"])).items
        #expect(settled == [QuotaUse(holder: try Principal("user:b"), used: 200, reserved: 0)])
        let token = try #require(await uses.uses(of: quota.id, ListQuery(pageSize: 1)).nextPageToken)
        for (id, query) in [
            (total.id, ListQuery(pageToken: token)),
            (quota.id, ListQuery(filters: ["holder": "user:b"], pageToken: token)),
            (quota.id, ListQuery(filters: ["user": "b"])), (quota.id, ListQuery(filters: ["holder": "a\0"])),
        ] {
            await #expect(throws: GatewayError.self) { try await uses.uses(of: id, query) }
        }
    }

    /// A page of many holders reads what is reserved once.
    @Test(.database(.migrated)) func readsReservationsOnceForAPage() async throws {
        let world = try AdminWorld()
        let quota = try await makeQuota(in: world)
        let users = (0..<200).map { "user:u\($0)" }
        for user in users { try await reserve(1, of: quota, by: user, in: world) }
        try await world.connection.runScript("ANALYZE")
        let connection = world.connection
        try await connection.runScript(
            "PREPARE uses (uuid, text, bigint, text, bigint) AS \(PostgresQuotaCounters.readUses.text)")
        let plan = try await connection.texts(
            "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) EXECUTE uses ('\(quota.id)', NULL, NULL, NULL, 1000)")
        let scans = plan.filter { $0.contains(" on reservations r") }
        #expect(scans.count == 1 && scans.allSatisfy { $0.contains("loops=1)") }, "\(plan.joined(separator: "\n"))")
        let counters = QuotaCounters(store: world.stores.quotaCounters)
        let page = try await counters.uses(of: quota.id, ListQuery(pageSize: 500)).items
        #expect(page.count == 200 && page.allSatisfy { $0.used == 100 && $0.reserved == 100 })
        // Only a quota of bytes has reservations.
        let urls = try await makeQuota(in: world, .sample(limit: 5))
        let other = try await connection.texts(
            "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) EXECUTE uses ('\(urls.id)', NULL, NULL, NULL, 1000)")
        #expect(
            other.filter { $0.contains(" on reservations r") }.allSatisfy { $0.contains("never executed") },
            "\(other.joined(separator: "\n"))")
    }

    /// A reset holds locks for which recordings wait, so it reads no reservations of other quotas.
    @Test(.database(.migrated)) func resetsByTheReservationsOfTheQuotaAlone() async throws {
        let world = try AdminWorld()
        let quota = try await makeQuota(in: world)
        try await reserve(3, of: quota, in: world)
        let connection = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("plan_cache_mode", "force_generic_plan")])
        try await connection.runScript(
            """
            \(HeldBytes.ofNobody(
                "1", quota: "'\(UUID())'", period: "quota_period_start('day', now())", from: "generate_series(1, 3000)"));
            ANALYZE reservations
            """)
        let read = try await connection.rowsRead(of: "reservations") {
            try await connection.runScript("SELECT reset_quota_usage('\(quota.id)', NULL, NULL)")
        }
        #expect(read < 100)
        #expect(try await connection.number("SELECT count(*) FROM reservations") == 3000)
    }

    /// There may be a million of them. Neither recordings nor admins who revoke something wait for their deletion.
    @Test(.database(.migrated)) func `a reset deletes reservations before it locks policy and counters`() async throws {
        let world = try AdminWorld()
        let quota = try await makeQuota(in: world)
        for user in ["user:alice", "user:bob"] { try await reserve(3, of: quota, by: user, in: world) }
        try await world.connection.runScript(
            """
            CREATE TABLE reset_steps (held text);
            CREATE FUNCTION note_reset_step() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                INSERT INTO reset_steps
                SELECT format(
                    'counters %s, advisory locks %s, time %s',
                    (SELECT count(*) FROM quota_usage u WHERE u.xmax = pg_current_xact_id()::xid),
                    (SELECT count(*) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.pid = pg_backend_pid()),
                    current_setting('statement_timeout'));
                RETURN NULL;
            END
            $$;
            CREATE TRIGGER reset_steps_are_noted AFTER DELETE ON reservations
            FOR EACH ROW EXECUTE FUNCTION note_reset_step()
            """)
        var change = AdminWorld.change
        change.proof = CredentialProof(position: try await world.connection.position(), scopes: [])
        let reset = try await world.stores.quotaCounters.reset(quota.id, of: .all, by: change)
        #expect(reset == QuotaReset(holders: 2, released: 600))
        #expect(
            try await world.connection.texts("SELECT s.held FROM reset_steps s")
                == Array(repeating: "counters 0, advisory locks 0, time 30s", count: 6))
    }

    @Test(.database(.migrated)) func whatWasReservedBeforeAResetIsNotGivenBackAfterIt() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let quota = try await makeQuota(in: world)
        let other = try await makeQuota(in: world, .sample(limit: 1_000_000, metric: .bytes, period: .month))
        try await reserve(10, of: quota, in: world)
        try await reserve(2, of: quota, by: "user:bob", in: world)
        try await reserve(1, of: other, in: world)
        try await world.connection.runScript("UPDATE reservations SET object_key = 'unused'")
        let reset = try await world.stores.quotaCounters.reset(
            quota.id, of: .one(try Principal("user:alice")), by: AdminWorld.change)
        #expect(reset == QuotaReset(holders: 1, released: 1000))
        #expect(try await used(quota, in: world) == 200)
        try await reserve(3, of: quota, in: world)
        // Nothing arrived of Alice's reservations. The reset gave back those before it, and settling those after it.
        await sweep(in: world) { $0.rawValue == "unused" ? .nothing : .object(100) }
        #expect(try await used(quota, in: world) == 300)
        let all = try await world.stores.quotaCounters.reset(quota.id, of: .all, by: AdminWorld.change)
        #expect(all == QuotaReset(holders: 2, released: 300))
        #expect(try await used(quota, in: world) == 0)
        #expect(try await used(other, in: world) == 0)
        #expect(try await QuotaAuditor(connection: world.connection).audit() == [])
        let lines = try await world.audit().filter { $0.hasPrefix("reset ") }
        let id = quota.id.lowercaseText
        #expect(
            lines == [
                """
                reset Quota \(id) user:root request-7 before {"used": 1000, "holder": "user:alice", "holders": 1} \
                after {"used": 0, "holder": "user:alice", "holders": 1}
                """,
                """
                reset Quota \(id) user:root request-7 before {"used": 300, "holders": 2} after {"used": 0, "holders": 2}
                """,
            ])
        await #expect(throws: GatewayError.notFound(.quota)) {
            try await world.stores.quotaCounters.reset(UUID(), of: .all, by: AdminWorld.change)
        }
        #expect(
            try await world.stores.quotaCounters.reset(quota.id, of: .one(.anyone), by: AdminWorld.change)
                == QuotaReset(holders: 0, released: 0))
    }

    /// Issuing, settling and resetting run at once. Counters must equal the sum of the ledger, the amounts given back
    /// and the reservations, and no deadlock may occur.
    @Test(.database(.migrated)) func resetsRaceWithIssuingAndSettling() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let quota = try await makeQuota(in: world)
        let connections = try (0..<3).map { _ in
            try PostgresConnection(testing: TestDatabase.current.connectionString)
        }
        let resets = try await withThrowingTaskGroup(of: Int.self) { group in
            for (index, connection) in connections.enumerated() {
                group.addTask {
                    for round in 0..<25 {
                        let position = try await connection.position()
                        let user = "user:\((index + round) % 2)"
                        let proposals = try (0..<4).map { _ in
                            try IssuanceProposal.sample(
                                at: position, principal: user, scopes: ["nothing"], action: .putObject,
                                charges: [quota.charge(100, by: user)], lifetime: -60)
                        }
                        let function: RecordingFunction = round.isMultiple(of: 2) ? .one : .several
                        #expect(try await connection.record(proposals, by: function).allSatisfy(\.isRecorded))
                    }
                    return 0
                }
            }
            for _ in 0..<2 {
                let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
                group.addTask {
                    for _ in 0..<15 {
                        await ReservationSweeper(
                            connection: connection, verifier: StubVerifier { _ in .nothing }, clock: .right,
                            schedule: .init(grace: .zero, batch: 5), logger: .silent
                        ).runRound()
                    }
                    return 0
                }
            }
            for index in 0..<2 {
                group.addTask {
                    var resets = 0
                    for _ in 0..<15 {
                        let holders: QuotaHolders = index == 0 ? .all : .one(try Principal("user:0"))
                        do {
                            _ = try await world.stores.quotaCounters.reset(
                                quota.id, of: holders, by: AdminWorld.change)
                            resets += 1
                        } catch {
                            #expect(error as? GatewayError == .slowDown(retryAfter: 1))
                        }
                    }
                    return resets
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(resets > 0)
        #expect(try await QuotaAuditor(connection: world.connection).audit() == [])
        #expect(try await world.connection.number("SELECT min(used) FROM quota_usage") >= 0)
        // An amount that a reset gave back cannot be given back again: every counter covers its reservations.
        #expect(
            try await world.connection.number(
                """
                SELECT count(*) FROM quota_usage u WHERE u.used < (
                    SELECT coalesce(sum(r.amount), 0) FROM reservations r
                    WHERE r.quota_id = u.quota_id AND r.holder = u.holder
                )
                """) == 0)
        try await reserve(1, of: quota, by: "user:0", in: world)
        _ = try await world.stores.quotaCounters.reset(quota.id, of: .all, by: AdminWorld.change)
        #expect(try await world.connection.number("SELECT count(*) FROM reservations") == 0)
    }
}

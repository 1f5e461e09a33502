import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

/// Pruning of the policy log: it removes what nobody needs, and nothing else.
@Suite struct PolicyPruningTests {
    private struct World {
        let admin: AdminWorld
        let history: PostgresPolicyHistory
        /// A connection that is logged in as the gateway.
        let gateway: PostgresConnection

        init() throws {
            let database = try TestDatabase.current
            let role = [(name: "role", value: "sluice_gateway")]
            admin = try AdminWorld()
            gateway = try PostgresConnection(testing: database.connectionString, settings: role)
            history = PostgresPolicyHistory(
                pool: PostgresPool(
                    try database.configuration(sessionSettings: PostgresIssuances.sessionSettings + role), size: 1,
                    logger: .silent),
                logger: .silent)
        }

        /// Makes everything written so far older than the retention time.
        func age() async throws {
            try await admin.connection.runScript("UPDATE policy_log SET at = at - interval '40 days'")
        }

        func prune() async {
            await PartitionUpkeep(
                connection: gateway, sums: gateway, schedule: .init(keepDays: nil), clock: .right, logger: .silent
            ).runRound()
        }

        /// Registers a gateway that has read up to a position and was last seen `secondsAgo` seconds ago.
        func note(_ position: PolicyPosition?, secondsAgo: Int = 0) async throws {
            let id = UUID()
            let heartbeat = Heartbeat(
                connection: gateway,
                identity: .init(id: id, version: "1.0.0", startedAt: Date(), masterKeys: { ["k1:01"] }),
                logger: .silent, now: { Date() }, position: { position }, keysFit: { true })
            await heartbeat.beat()
            try await admin.connection.runScript(
                "UPDATE gateways SET last_seen_at = last_seen_at - interval '\(secondsAgo) s' WHERE id = '\(id)'")
        }

        /// The numbers of the remaining log entries.
        func lines() async throws -> [Int64] {
            try await admin.connection.execute(
                Statement<Void, Int64>("SELECT seq FROM policy_log ORDER BY seq") { row throws(PostgresError) in
                    try row.decode(0)
                })
        }
    }

    @Test(.database(.migrated)) func youngLinesAndTheLastOneStay() async throws {
        let world = try World()
        for _ in 0..<3 { try await world.gateway.append(scopes: ["bucket:a"]) }
        let all = try await world.lines()
        await world.prune()
        #expect(try await world.lines() == all)
        try await world.age()
        let last = try await world.gateway.position()
        await world.prune()
        #expect(try await world.lines() == [last.sequence])
        #expect(try await world.gateway.position() == last)
        #expect(try await world.admin.connection.number("SELECT count(*) FROM policy_changes") == 1)
        // The next entry has the next number, and a decision at the last entry is still valid.
        #expect(try await world.gateway.record([.sample(at: last)]).allSatisfy(\.isRecorded))
        try await world.gateway.append(scopes: ["bucket:a"])
        #expect(try await world.lines() == [last.sequence, last.sequence + 1])
        #expect(try await world.gateway.record([.sample(at: last)], by: .one).allSatisfy(\.isRecorded))
    }

    /// Rows of one kind that cannot be removed keep no others.
    @Test(.database(.migrated)) func isPrunedAlsoWhereCountersCannotBe() async throws {
        let world = try World()
        for _ in 0..<3 { try await world.gateway.append(scopes: ["bucket:a"]) }
        try await world.age()
        try await world.admin.connection.runScript(
            """
            CREATE OR REPLACE FUNCTION prune_counters(p_now timestamptz, p_most integer) RETURNS integer
            LANGUAGE plpgsql AS $$ BEGIN RAISE 'no counter is removed'; END $$;
            INSERT INTO denials (principal, code, minute, count) VALUES ('user:a', 'AccessDenied', '2020-01-01', 1);
            INSERT INTO tickets (id, name, hash, principal, groups, claims, bucket, prefix, actions, max_uses,
                expires_at)
            VALUES (gen_random_uuid(), 'abcdefghijkl', sha256(''), 'user:a', '{}', '{}', 'demo', '', '{PutObject}', 1,
                '2020-01-01')
            """)
        let last = try await world.gateway.position()
        await world.prune()
        #expect(try await world.lines() == [last.sequence])
        for table in ["denials", "tickets"] {
            #expect(try await world.admin.connection.number("SELECT count(*) FROM \(table)") == 0, "\(table)")
        }
    }

    /// A decision of a month ago was made at that entry, however old the entry was.
    @Test(.database(.migrated)) func theLineThatWasInForceAMonthAgoStays() async throws {
        let world = try World()
        for _ in 0..<2 { try await world.gateway.append(scopes: ["bucket:a"]) }
        let inForce = try await world.gateway.position()
        try await world.age()
        try await world.gateway.append(scopes: ["bucket:b"])
        await world.prune()
        #expect(try await world.lines() == [inForce.sequence, inForce.sequence + 1])
        #expect(try await world.gateway.record([.sample(at: inForce, scopes: ["bucket:a"])]).allSatisfy(\.isRecorded))
    }

    @Test(.database(.migrated)) func whatALiveGatewayHasNotReadStays() async throws {
        let world = try World()
        var positions: [PolicyPosition] = []
        for _ in 0..<4 {
            try await world.gateway.append(scopes: ["bucket:a"])
            positions.append(try await world.gateway.position())
        }
        try await world.age()
        try await world.note(positions[0], secondsAgo: 31)
        // It was killed while PostgreSQL's clock was an hour ahead.
        try await world.note(positions[0], secondsAgo: -3600)
        try await world.note(positions[2])
        try await world.note(positions[1], secondsAgo: 20)
        try await world.note(nil)
        await world.prune()
        #expect(try await world.lines() == positions[1...].map(\.sequence))
        try await world.admin.connection.runScript(
            """
            UPDATE gateways
            SET last_seen_at = now() + CASE WHEN policy_seq IS NULL THEN 25 ELSE -25 END * interval '1 hour'
            """)
        await world.prune()
        #expect(try await world.lines() == [positions[3].sequence])
        #expect(try await world.admin.connection.number("SELECT count(*) FROM gateways") == 0)
    }

    /// A gateway sleeps until it no longer counts. The position that it knew is pruned, together with the change that
    /// it missed.
    @Test(.database(.migrated), arguments: RecordingFunction.allCases)
    func whoWakesUpOnAPrunedPositionRecordsNothing(by function: RecordingFunction) async throws {
        let world = try World()
        try await world.admin.makeBucket()
        let alice = try Principal("user:alice")
        let demo = try BucketName("demo")
        let grant = try await world.admin.stores.grants.create(.sample(), by: AdminWorld.change)
        let cache = PolicyCache(source: world.admin.source)
        func grants() async throws -> Int {
            try await cache.access(of: alice, groups: [], to: demo, key: nil).principals
                .first { $0.principal == alice }?.grants.count ?? 0
        }
        #expect(try await grants() == 1)
        let slept = try #require(cache.position)
        try await world.note(slept, secondsAgo: 60)
        try await world.admin.stores.grants.delete(grant.id.lowercaseText, by: AdminWorld.change)
        try await world.gateway.append(scopes: ["bucket:other"])
        try await world.age()
        await world.prune()
        #expect(try await world.lines().count == 1)

        let verdicts = try await world.gateway.record(
            [.sample(at: slept, scopes: ["user:alice"]), .sample(at: slept, scopes: ["user:nobody"])], by: function)
        #expect(verdicts == [.stale, .stale])
        #expect(try await world.admin.connection.number("SELECT count(*) FROM issuances") == 0)
        #expect(
            try await world.admin.source.changes(since: slept) == .restart(at: try await world.gateway.position()))
        #expect(try await grants() == 1, "it has not looked yet")
        try await cache.advance()
        #expect(try await grants() == 0)
        let position = try #require(cache.position)
        #expect(try await world.gateway.record([.sample(at: position)], by: function).allSatisfy(\.isRecorded))
    }

    @Test(.database(.migrated)) func historyIsToldAsBefore() async throws {
        let world = try World()
        try await world.admin.makeBucket()
        let alice = try Principal("user:alice")
        let staff = try Principal("group:staff")
        let demo = try BucketName("demo")
        let key = try ObjectKey("team/x")
        let member = GroupMember(group: staff, member: alice, createdAt: Date())
        var sequences: [Int64] = []
        func step(_ change: () async throws -> Void) async throws {
            try await change()
            sequences.append(try await world.gateway.position().sequence)
        }
        let grants = world.admin.stores.grants
        var grant = try Grant.sample()
        try await step { grant = try await grants.create(.sample(), by: AdminWorld.change).row }
        try await step { _ = try await world.admin.stores.members.create(member, by: AdminWorld.change) }
        try await step { try await world.gateway.append(scopes: ["bucket:demo"]) }
        try await step { try await grants.delete(grant.id.lowercaseText, by: AdminWorld.change) }
        try await step { try await world.admin.stores.members.delete(member.identifier, by: AdminWorld.change) }
        for _ in 0..<2 { try await step { try await world.gateway.append(scopes: ["bucket:demo"]) } }

        struct Told: Equatable {
            var groups: [Principal]
            var grants: [UUID]
            var grant: UUID?
        }
        func told(after sequence: Int64) async throws -> Told {
            Told(
                groups: try await world.history.groups(of: alice, after: sequence),
                grants: try await world.history.grants(of: [alice], in: demo, for: key, listing: nil, after: sequence)
                    .map(\.id),
                grant: try await world.history.grant(grant.id, after: sequence)?.id)
        }
        try await world.age()
        var before: [Told] = []
        var moments: [PolicyMoment?] = []
        for sequence in sequences {
            before.append(try await told(after: sequence))
            moments.append(try await world.history.moment(ofChange: sequence))
        }
        #expect(before.map(\.groups.count) == [0, 1, 1, 1, 0, 0, 0])
        #expect(before.map(\.grants.count) == [1, 1, 1, 0, 0, 0, 0])
        await world.prune()
        #expect(try await world.lines().count == 1)
        for (place, sequence) in sequences.enumerated() {
            #expect(try await told(after: sequence) == before[place], "after change \(place)")
        }
        // Changes on which no grant or membership rests are pruned. The last known change before them is found instead.
        let known = [0, 1, 1, 3, 4, 4, 6].map { moments[$0] }
        for (place, sequence) in sequences.enumerated() {
            #expect(try await world.history.moment(ofChange: sequence) == known[place], "change \(place)")
            let at = try #require(moments[place]).at
            // The last change of its millisecond: times are shown no closer.
            let last = moments.lastIndex { $0.map { $0.at < at.addingTimeInterval(0.001) } ?? false } ?? place
            #expect(try await world.history.moment(at: at) == known[last], "at change \(place)")
        }
    }

    /// Without the log entries since a reservation, nobody can tell what has changed since.
    @Test(.database(.migrated)) func nothingIsGivenBackForDecisionsThatTheLogHasForgotten() async throws {
        let world = try World()
        try await world.admin.connection.runScript(RevokeRaceTests.makeBucket)
        let quota = Quota.sample(limit: 1000, metric: .bytes)
        try await world.gateway.insert(quota)
        let position = try await world.gateway.position()
        let proposal = try IssuanceProposal.sample(
            at: position, action: .putObject, charges: [quota.charge(10)], lifetime: -60)
        #expect(try await world.gateway.record([proposal]).allSatisfy(\.isRecorded))
        // The bucket pointed elsewhere for a while.
        try await world.gateway.append(scopes: ["bucket:demo"])
        try await world.gateway.append(scopes: ["bucket:other"])
        try await world.age()
        await world.prune()
        await ReservationSweeper(
            connection: world.gateway, verifier: StubVerifier { _ in .nothing }, clock: .right,
            schedule: .init(grace: .zero), logger: .silent
        ).runRound()
        #expect(try await world.admin.connection.number("SELECT used FROM quota_usage") == 10)
    }
}

/// Counts how often master keys were compared.
private final class Comparisons: Sendable {
    private let state = Mutex((count: 0, fit: true))

    var count: Int { state.withLock { $0.count } }

    /// Decides whether the keys fit from now on.
    func set(fit: Bool) { state.withLock { $0.fit = fit } }

    func next() -> Bool {
        state.withLock { state in
            state.count += 1
            return state.fit
        }
    }
}

/// Heartbeats, by which gateways register themselves.
@Suite struct HeartbeatTests {
    @Test(.database(.migrated))
    func `a gateway that did not count as running compares its keys until they fit`() async throws {
        let world = try AdminWorld()
        let comparisons = Comparisons()
        let heartbeat = Heartbeat(
            connection: try PostgresConnection(
                testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")]),
            identity: .init(id: UUID(), version: "1.2.3", startedAt: Date(), masterKeys: { ["k1:01"] }),
            logger: .silent, now: { Date() }, position: { nil }, keysFit: { comparisons.next() })
        func beat(afterSeconds seconds: Int = 0) async throws -> Int {
            try await world.connection.age(by: seconds)
            await heartbeat.beat()
            return comparisons.count
        }
        // At its start, it compares them otherwise.
        #expect(try await beat() == 0)
        #expect(try await beat(afterSeconds: 20) == 0)
        #expect(try await beat(afterSeconds: 31) == 1)
        #expect(try await beat() == 1)
        comparisons.set(fit: false)
        #expect(try await beat(afterSeconds: 31) == 2)
        #expect(try await beat() == 3)
        comparisons.set(fit: true)
        #expect(try await beat() == 4)
        #expect(try await beat() == 4)
        try await world.connection.runScript("DELETE FROM gateways")
        #expect(try await beat() == 5)
        // Whoever announces it first, as a reload does, the next heartbeat compares.
        try await world.connection.age(by: 31)
        try await heartbeat.announce()
        #expect(try await beat() == 6)
    }

    @Test(.database(.migrated)) func aGatewayIsKnownWhileItRuns() async throws {
        let world = try AdminWorld()
        let gateway = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")])
        let position = try await gateway.position()
        let started = Date(timeIntervalSince1970: 1_900_000_000)
        func heartbeat(_ id: UUID, ahead: TimeInterval, marks: [String] = []) -> Heartbeat {
            Heartbeat(
                connection: gateway,
                identity: .init(
                    id: id, version: "1.2.3", startedAt: started, masterKeys: { marks + ["k2:02", "k1:01"] }),
                logger: .silent, now: { Date().addingTimeInterval(ahead) }, position: { position },
                keysFit: { true })
        }
        let first = UUID.version7(at: started, randomBytes: [UInt8](repeating: 1, count: 10))
        let second = UUID.version7(at: started.addingTimeInterval(1), randomBytes: [UInt8](repeating: 0, count: 10))
        await heartbeat(first, ahead: 7).beat()
        // The second one is about to seal with another key.
        await heartbeat(second, ahead: -7, marks: [""]).beat()
        try await world.connection.age(by: 31)
        await heartbeat(first, ahead: 7).beat()
        let page = try await world.stores.gateways.gateways(ListQuery())
        #expect(page.items.map(\.id) == [second, first] && page.items.map(\.isLive) == [false, true])
        let row = try #require(page.items.last)
        #expect(row.version == "1.2.3" && row.startedAt == started)
        #expect(page.items.map(\.masterKeyIDs) == [["k2", "k1"], ["k2", "k1"]])
        #expect(row.position == position)
        #expect(abs(row.clockDifference - 7) < 5 && abs(page.items[0].clockDifference + 7) < 5)
        let short = try await world.stores.gateways.gateways(ListQuery(pageSize: 1))
        #expect(short.items.map(\.id) == [second])
        let rest = try await world.stores.gateways.gateways(ListQuery(pageSize: 1, pageToken: short.nextPageToken))
        #expect(rest.items.map(\.id) == [first] && rest.nextPageToken == nil)
        await heartbeat(first, ahead: 0).end()
        #expect(try await world.stores.gateways.gateways(ListQuery()).items.map(\.id) == [second])
    }
}

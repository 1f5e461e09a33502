import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

/// A store that answers with a closure.
struct StubVerifier: UploadVerifier {
    let answer: @Sendable (ObjectKey) throws -> StoreLook?

    func look(at key: ObjectKey, in bucket: BucketName) async throws(StoreFailure) -> StoreLook? {
        do {
            return try answer(key)
        } catch {
            throw (error as? StoreFailure) ?? .unclear("the test wants it so")
        }
    }
}

extension StoreLook {
    /// A look that finds no object.
    static var nothing: StoreLook { StoreLook(object: nil, clockDifference: 0) }

    /// An object that was written `age` seconds ago.
    static func object(_ size: Int64, age: TimeInterval = 0, etag: String = "e") -> StoreLook {
        StoreLook(
            object: StoredObject(size: size, etag: etag, modifiedAt: Date().addingTimeInterval(-age)),
            clockDifference: 0)
    }
}

/// The settling of reservations, and counters that are recomputed.
@Suite struct SettlingTests {
    private struct NoAnswer: Error {}

    /// Records uploads of 100 bytes each with URLs that expired a minute ago; returns their quota.
    func reserve(_ count: Int, over connection: PostgresConnection) async throws -> Quota {
        try await connection.runScript(RevokeRaceTests.makeBucket)
        let quota = Quota.sample(limit: 1_000_000, metric: .bytes)
        try await connection.insert(quota)
        try await reserve(count, of: quota, over: connection)
        return quota
    }

    private func reserve(_ count: Int, of quota: Quota, over connection: PostgresConnection) async throws {
        let position = try await connection.position()
        let proposals = try (0..<count).map { _ in
            try IssuanceProposal.sample(
                at: position, action: .putObject, charges: [quota.charge(100)], lifetime: -60
            ).with(id: UUID.new(at: Date()))
        }
        _ = try await connection.record(proposals)
    }

    /// Reserves uploads of which none arrived, after as many that arrived and stay counted: if any of the former is
    /// given back twice, the counter shows it.
    func reserveBesideUse(_ count: Int, over connection: PostgresConnection) async throws {
        let quota = try await reserve(count, over: connection)
        await sweep(over: connection) { _ in .object(100) }
        try await reserve(count, of: quota, over: connection)
    }

    private func sweep(
        over connection: PostgresConnection, grace: Duration = .zero, interval: Duration = .seconds(60),
        patience: Duration = .seconds(3600), clock: LedgerClock = .right,
        _ answer: @escaping @Sendable (ObjectKey) throws -> StoreLook?
    ) async {
        await ReservationSweeper(
            connection: connection, verifier: StubVerifier(answer: answer), clock: clock,
            schedule: .init(grace: grace, interval: interval, patience: patience, batch: 3), logger: .silent
        ).runRound()
    }

    /// Returns what is used, what was given back, and how many reservations are left.
    func state(_ connection: PostgresConnection) async throws -> [Int64] {
        [
            try await connection.number("SELECT sum(used) FROM quota_usage"),
            try await connection.number("SELECT sum(released) FROM quota_usage"),
            try await connection.number("SELECT count(*) FROM reservations"),
        ]
    }

    @Test(.database(.migrated)) func givesBackWhatDidNotArrive() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await reserve(10, over: connection)
        await sweep(over: connection) { _ in .nothing }
        #expect(try await state(connection) == [0, 1000, 0])
        #expect(try await QuotaAuditor(connection: connection).audit() == [])
    }

    @Test(.database(.migrated), arguments: [Int64(0), 30, 100, 5000])
    func keepsCountedWhateverLiesThereSince(_ size: Int64) async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await reserve(2, over: connection)
        await sweep(over: connection) { _ in .object(size) }
        #expect(try await state(connection) == [200, 0, 0])
    }

    /// Once its reservation is gone, nobody looks at an upload again.
    @Test(.database(.migrated)) func whatWasFoundIsKeptBeforeTheReservationEnds() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await reserve(2, over: connection)
        try await connection.runScript("ALTER TABLE landings RENAME TO gone")
        await sweep(over: connection) { _ in .object(100) }
        #expect(try await state(connection) == [200, 0, 2])
        try await connection.runScript(
            "ALTER TABLE gone RENAME TO landings; UPDATE reservations SET check_at = dead_at")
        await sweep(over: connection) { _ in .object(100) }
        #expect(try await state(connection) == [200, 0, 0])
        #expect(try await connection.number("SELECT count(*) FROM landings WHERE source = 'settlement'") == 2)
    }

    @Test(.database(.migrated)) func keepsCountedWhatCannotBeTold() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await reserve(2, over: connection)
        await sweep(over: connection) { _ in nil }
        #expect(try await state(connection) == [200, 0, 0])
    }

    /// A form that lets its user choose the name may have written under any name.
    @Test(.database(.migrated)) func keepsCountedWhatFormsWithoutAKeyReserved() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await reserve(2, over: connection)
        try await connection.runScript("UPDATE reservations SET object_key = 'team/${filename}'")
        await sweep(over: connection) { _ in .nothing }
        #expect(try await state(connection) == [200, 0, 0])
    }

    @Test(.database(.migrated)) func leavesURLsThatMayStillBeUsed() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await reserve(2, over: connection)
        await sweep(over: connection, grace: .seconds(3600)) { _ in .nothing }
        #expect(try await state(connection) == [200, 0, 2])
    }

    @Test(.database(.migrated)) func asksAgainLaterAndGivesUpInTheEnd() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await reserve(2, over: connection)
        await sweep(over: connection) { _ in throw NoAnswer() }
        #expect(try await state(connection) == [200, 0, 2])
        // Not due again before the interval has passed.
        await sweep(over: connection) { _ in .nothing }
        #expect(try await state(connection) == [200, 0, 2])
        try await connection.runScript("UPDATE reservations SET check_at = dead_at")
        await sweep(over: connection, patience: .seconds(1)) { _ in throw NoAnswer() }
        #expect(try await state(connection) == [200, 0, 2])
        // Nobody waits for longer than 24 days.
        try await connection.runScript(
            "UPDATE reservations SET dead_at = dead_at - interval '25 days', check_at = dead_at - interval '25 days'")
        await sweep(over: connection) { _ in .nothing }
        #expect(try await state(connection) == [200, 0, 0])
    }

    /// Between the two steps of an update, gateways settle by different functions.
    @Test(.database(.migrated)) func `sweepers of two versions at once give back once`() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        let own = try #require(SchemaFunction.all.first { $0.name == "settle_reservations" })
        let text = String(decoding: own.sql, as: UTF8.self)
            .replacing("FUNCTION settle_reservations(", with: "FUNCTION settle_reservations_v2(")
        let next = Migrator(
            connection: connection, migrations: Migration.all,
            functions: SchemaFunction.all.filter { $0.name != own.name }
                + [SchemaFunction(name: "settle_reservations_v2", sql: Array(text.utf8))])
        #expect(try await next.migrate().leftovers.functions == [own.name])
        try await reserveBesideUse(90, over: connection)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                let old = try PostgresConnection(testing: database.connectionString)
                group.addTask { await sweep(over: old) { _ in .nothing } }
                let new = try PostgresConnection(testing: database.connectionString)
                group.addTask {
                    while try await new.number("SELECT count(*) FROM reservations") > 0 {
                        try await new.runScript(
                            """
                            SELECT settle_reservations_v2(array_agg(r.issuance_id), array_agg(r.quota_id),
                                array_agg('absent'::text), array_agg(true), 60)
                            FROM (SELECT * FROM reservations ORDER BY check_at LIMIT 3) r
                            """)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await state(connection) == [9000, 9000, 0])
        #expect(try await QuotaAuditor(connection: connection).audit() == [])
        #expect(try await next.finish().functions == [own.name])
    }

    /// A store that answers in waves: it answers nobody in a wave before `size` callers have asked.
    private actor Crowd: UploadVerifier {
        private let size: Int
        private var arrived = 0
        private var present = 0
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private(set) var largest = 0

        init(of size: Int) {
            self.size = size
        }

        func look(at key: ObjectKey, in bucket: BucketName) async throws(StoreFailure) -> StoreLook? {
            arrived += 1
            present += 1
            largest = max(largest, present)
            if !arrived.isMultiple(of: size) {
                await withCheckedContinuation { waiting.append($0) }
            } else {
                waiting.forEach { $0.resume() }
                waiting = []
            }
            present -= 1
            return .nothing
        }
    }

    @Test(.database(.migrated), .timeLimit(.minutes(1))) func asksAFewAtOnceAndNoMore() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await reserve(24, over: connection)
        let crowd = Crowd(of: 8)
        await ReservationSweeper(
            connection: connection, verifier: crowd, clock: .right, schedule: .init(grace: .zero, maxQuestions: 8),
            logger: .silent
        ).runRound()
        #expect(await crowd.largest == 8)
        #expect(try await state(connection) == [0, 2400, 0])
    }

    @Test(.database(.migrated)) func auditFindsAndRepairsCounters() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let quota = try await reserve(5, over: connection)
        let looks = Mutex(0)
        await sweep(over: connection) { _ in
            looks.withLock { looks in
                looks += 1
                return looks == 1 ? .nothing : .object(90)
            }
        }
        let auditor = QuotaAuditor(connection: connection)
        #expect(try await auditor.audit() == [])
        try await connection.runScript("UPDATE quota_usage SET used = 7")
        let found = try await auditor.audit()
        #expect(found.map(\.quotaID) == [quota.id])
        #expect(found.map(\.holder) == ["user:alice"])
        #expect(found.map(\.used) == [7])
        #expect(found.map(\.charged) == [400])
        #expect(try await auditor.repair(#require(found.first)) == 400)
        #expect(try await auditor.audit() == [])
        try await connection.runScript("DELETE FROM quota_usage")
        // The amount given back is gone with the row, so the whole reservation counts again.
        let missing = try await auditor.audit()
        #expect(missing.map(\.charged) == [500])
        #expect(try await auditor.repair(#require(missing.first)) == 500)
        #expect(try await auditor.audit() == [])
    }

    /// While links older than an hour are added up, nobody waits for the counter.
    @Test(.database(.migrated), .timeLimit(.minutes(1))) func repairLocksTheCounterForTheLastHourAlone() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let quota = Quota.sample(limit: 1 << 40, metric: .bytes, period: .total)
        try await connection.insert(quota)
        let position = try await connection.position()
        for _ in 0..<3 {
            let proposal = try IssuanceProposal.sample(
                at: position, action: .putObject, charges: [quota.charge(100)])
            #expect(try await connection.record([proposal]).map(\.isRecorded) == [true])
        }
        let other = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript(
            """
            SELECT create_issuances_partition(current_date - 1);
            WITH numbered AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM issuances)
            UPDATE issuances i SET issued_at = now() - interval '59 minutes' * m.n
            FROM numbered m WHERE m.id = i.id;
            UPDATE quota_usage SET used = 7;
            DO $$ BEGIN
                EXECUTE replace(pg_get_functiondef('quota_charges'::regproc), 'BEGIN',
                    'BEGIN PERFORM pg_advisory_xact_lock_shared(42);');
            END $$;
            """)
        try await other.runScript("SELECT pg_advisory_lock(42)")
        let auditor = QuotaAuditor(connection: connection)
        let found = try #require(await auditor.audit().first)
        let repair = Task { try await auditor.repair(found) }
        try await other.waitForBlocked(on: "advisory")
        try await other.runScript("SELECT FROM quota_usage FOR UPDATE NOWAIT")
        try await other.runScript("SELECT pg_advisory_unlock(42)")
        #expect(try await repair.value == 300)
        #expect(try await auditor.audit() == [])
    }

    @Test(.database(.migrated)) func usageTellsWhatIsLeft() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let quota = try await reserve(5, over: connection)
        let total = Quota.sample(limit: 9, period: .total)
        let usage = PostgresQuotaUsage(
            pool: PostgresPool(try TestDatabase.current.configuration(), size: 1, logger: .silent))
        let left = try await usage.usage(of: [
            QuotaHolding(quota: total, holder: try Principal("user:bob")),
            QuotaHolding(quota: quota, holder: try Principal("user:alice")),
        ])
        #expect(left.map(\.remaining) == [9, 999_500])
        #expect(left.map(\.quotaID) == [total.id, quota.id])
        #expect(left[0].resetsIn == nil)
        #expect((1...86_400).contains(left[1].resetsIn ?? 0))
        #expect(try await usage.usage(of: []) == [])
        var lowered = quota
        lowered.limit = 100
        let over = try await usage.usage(of: [QuotaHolding(quota: lowered, holder: Principal("user:alice"))])
        #expect(over.map(\.remaining) == [-400])
    }
}

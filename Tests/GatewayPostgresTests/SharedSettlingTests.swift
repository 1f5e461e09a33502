import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

/// Several gateways that settle at the same time, and stores that give no answer.
@Suite struct SharedSettlingTests {
    private let basics = SettlingTests()

    @Test(.database(.migrated)) func `sweepers at once ask once and give back once`() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        try await basics.reserveBesideUse(60, over: connection)
        let stores = PartlySilentStores()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                let sweeper = ReservationSweeper(
                    connection: try PostgresConnection(testing: database.connectionString), verifier: stores,
                    clock: .right, schedule: .init(grace: .zero, batch: 3), logger: .silent)
                group.addTask { await sweeper.runRound() }
            }
            try await group.waitForAll()
        }
        #expect(try await basics.state(connection) == [6000, 6000, 0])
        // They shared the work.
        #expect(stores.asked == ["demo": 60])
    }

    @Test(.database(.migrated)) func `what a gateway took and did not settle is taken by another after the lease`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await basics.reserve(2, over: connection)
        // This gateway dies before it settles them.
        let taken = try await connection.execute(
            ReservationSweeper.takeDue, (grace: 0, most: 10, clock: .right, lease: 300))
        #expect(taken.count == 2)
        let stores = PartlySilentStores()
        let sweeper = ReservationSweeper(
            connection: connection, verifier: stores, clock: .right, schedule: .init(grace: .zero), logger: .silent)
        await sweeper.runRound()
        #expect(stores.asked.isEmpty)
        #expect(try await basics.state(connection) == [200, 0, 2])
        try await connection.runScript("UPDATE reservations SET check_at = check_at - interval '301 seconds'")
        await sweeper.runRound()
        #expect(try await basics.state(connection) == [0, 200, 0])
    }

    /// What was found at the store is not lost because another session holds the row for a moment.
    @Test(.database(.migrated), .timeLimit(.minutes(1))) func `settling waits for whoever holds a reservation`()
        async throws
    {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        _ = try await basics.reserve(3, over: connection)
        let holder = try PostgresConnection(testing: database.connectionString)
        let store = PatientStore()
        let sweeper = ReservationSweeper(
            connection: try PostgresConnection(testing: database.connectionString), verifier: store, clock: .right,
            schedule: .init(grace: .zero), logger: .silent)
        async let round: Void = sweeper.runRound()
        await store.waitUntilAsked()
        try await holder.runScript("BEGIN; SELECT FROM reservations FOR UPDATE")
        store.answer()
        let waiting = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%settle_reservations%'
            """
        while try await connection.number(waiting) == 0 { await Task.yield() }
        try await holder.runScript("COMMIT")
        await round
        #expect(try await basics.state(connection) == [0, 300, 0])
    }

    /// A store that finds nothing, once the test lets it answer.
    private final class PatientStore: UploadVerifier {
        private let question = Atomic(false)
        private let permission = Atomic(false)

        func waitUntilAsked() async {
            while !question.load(ordering: .acquiring) { await Task.yield() }
        }

        func answer() {
            permission.store(true, ordering: .releasing)
        }

        func look(at key: ObjectKey, in bucket: BucketName) async throws -> StoreLook? {
            question.store(true, ordering: .releasing)
            while !permission.load(ordering: .acquiring) { await Task.yield() }
            return .nothing
        }
    }

    /// Stores of which that of the bucket `silent` gives no answer.
    private final class PartlySilentStores: UploadVerifier {
        private let questions = Mutex<[String: Int]>([:])

        var asked: [String: Int] { questions.withLock { $0 } }

        func look(at key: ObjectKey, in bucket: BucketName) async throws -> StoreLook? {
            questions.withLock { $0[bucket.rawValue, default: 0] += 1 }
            guard bucket.rawValue == "silent" else { return .nothing }
            throw StoreSilence()
        }
    }

    /// Seconds of patience, and how many of ten reservations of a silent store are left after a round. The links have
    /// been dead for about 55 seconds more than uploads may take.
    @Test(.database(.migrated), arguments: [(3600, Int64(10)), (40, 9), (10, 0)])
    func `a store that gives no answer is asked once in a round, and the others meanwhile`(
        patience: Int, left: Int64
    ) async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await basics.reserve(20, over: connection)
        try await connection.runScript(
            """
            UPDATE reservations SET bucket = 'silent'
            WHERE issuance_id IN (SELECT r.issuance_id FROM reservations r ORDER BY r.issuance_id LIMIT 10)
            """)
        let stores = PartlySilentStores()
        await ReservationSweeper(
            connection: connection, verifier: stores, clock: .right,
            schedule: .init(grace: .zero, patience: .seconds(patience), batch: 3, maxQuestions: 1), logger: .silent
        ).runRound()
        #expect(stores.asked == ["silent": 1, "demo": 10])
        #expect(try await basics.state(connection) == [1000, 1000, left])
        #expect(try await connection.number("SELECT count(*) FROM reservations WHERE check_at > now()") == left)
    }
}

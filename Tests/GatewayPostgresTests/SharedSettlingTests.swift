import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

/// Several gateways that settle at the same time, and stores that give no answer.
@Suite(.timeLimit(.minutes(5))) struct SharedSettlingTests {
    private let basics = SettlingTests()

    @Test(.database(.migrated)) func `sweepers at once ask once and give back once`() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        try await basics.reserveBesideUse(60, over: connection)
        let stores = PartlyFailingStores()
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
            ReservationSweeper.takeDue, (grace: 0, most: 10, clock: .right, lease: 300, buckets: []))
        #expect(taken.count == 2)
        let stores = PartlyFailingStores()
        let sweeper = ReservationSweeper(
            connection: connection, verifier: stores, clock: .right, schedule: .init(grace: .zero), logger: .silent)
        await sweeper.runRound()
        #expect(stores.asked.isEmpty)
        #expect(try await basics.state(connection) == [200, 0, 2])
        try await connection.runScript("UPDATE reservations SET check_at = check_at - interval '301 seconds'")
        await sweeper.runRound()
        #expect(try await basics.state(connection) == [0, 200, 0])
    }

    /// A reset may hold it for half a minute. What was found at the store about the others is not lost.
    @Test(.database(.migrated), .timeLimit(.minutes(1))) func `settling passes over a reservation that others hold`()
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
        try await holder.runScript("BEGIN; SELECT FROM reservations ORDER BY issuance_id LIMIT 1 FOR UPDATE")
        store.answer()
        await round
        #expect(try await basics.state(connection) == [100, 200, 1])
        try await holder.runScript("COMMIT")
        // It stays taken until the end of the lease.
        await sweeper.runRound()
        #expect(try await basics.state(connection) == [100, 200, 1])
        try await connection.runScript("UPDATE reservations SET check_at = check_at - interval '301 seconds'")
        await sweeper.runRound()
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

        func look(at key: ObjectKey, in bucket: BucketName) async throws(StoreFailure) -> StoreLook? {
            question.store(true, ordering: .releasing)
            while !permission.load(ordering: .acquiring) { await Task.yield() }
            return .nothing
        }
    }

    /// Stores that find nothing, apart from what fails.
    private final class PartlyFailingStores: UploadVerifier {
        private let questions = Mutex<[String: Int]>([:])
        private let failure: @Sendable (_ bucket: String, _ question: Int) -> StoreFailure?

        /// - Parameter failure: Returns what becomes of a question about a bucket, counted from 1.
        init(failure: @escaping @Sendable (_ bucket: String, _ question: Int) -> StoreFailure? = { _, _ in nil }) {
            self.failure = failure
        }

        var asked: [String: Int] { questions.withLock { $0 } }

        func look(at key: ObjectKey, in bucket: BucketName) async throws(StoreFailure) -> StoreLook? {
            let number = questions.withLock { questions in
                questions[bucket.rawValue, default: 0] += 1
                return questions[bucket.rawValue, default: 0]
            }
            if let failure = failure(bucket.rawValue, number) { throw failure }
            return .nothing
        }
    }

    private static func sweeper(
        _ connection: PostgresConnection, _ stores: PartlyFailingStores, patience: Int = 3600, batch: Int = 3,
        maxQuestions: Int = 1
    ) -> ReservationSweeper {
        ReservationSweeper(
            connection: connection, verifier: stores, clock: .right,
            schedule: .init(grace: .zero, patience: .seconds(patience), batch: batch, maxQuestions: maxQuestions),
            logger: .silent)
    }

    /// Reserves 10 uploads to each of two buckets.
    private func reserve(in other: String, _ connection: PostgresConnection) async throws {
        _ = try await basics.reserve(20, over: connection)
        try await connection.runScript(
            """
            UPDATE reservations SET bucket = '\(other)'
            WHERE issuance_id IN (SELECT r.issuance_id FROM reservations r ORDER BY r.issuance_id LIMIT 10)
            """)
    }

    /// Seconds of patience; the links have been dead for about 55 seconds more than uploads may take.
    @Test(.database(.migrated), arguments: [3600, 10])
    func `a store that gives no answer is soon left alone in a round, and nothing is given up`(
        patience: Int
    ) async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await reserve(in: "silent", connection)
        let stores = PartlyFailingStores { bucket, _ in bucket == "silent" ? .silent("hangs") : nil }
        await Self.sweeper(connection, stores, patience: patience).runRound()
        #expect(stores.asked == ["silent": 3, "demo": 10])
        #expect(try await basics.state(connection) == [1000, 1000, 10])
    }

    /// Of each batch, the answers come first, and those that hang together at the end. After the patience, these are
    /// given up, because the store told something of others.
    @Test(.database(.migrated), arguments: [(3600, Int64(30)), (10, 0)])
    func `objects that hang do not keep their bucket from being settled`(
        _ end: (patience: Int, left: Int64)
    ) async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await basics.reserve(60, over: connection)
        let stores = PartlyFailingStores { _, number in (number - 1) % 20 < 10 ? nil : .silent("hangs") }
        await Self.sweeper(connection, stores, patience: end.patience, batch: 20, maxQuestions: 20).runRound()
        #expect(stores.asked == ["demo": 60])
        #expect(try await basics.state(connection) == [3000, 3000, end.left])
    }

    /// What can become of a question about an upload, the others of its bucket, and the time that has passed.
    struct Case: Sendable, CustomTestStringConvertible {
        let failure: StoreFailure?
        let othersFail: Bool
        let isOverdue: Bool

        var testDescription: String { "\(String(describing: failure)), others \(othersFail), overdue \(isOverdue)" }

        static let all = [nil, .silent("x"), .unclear("x"), .unasked("x")].flatMap { failure in
            [false, true].flatMap { othersFail in
                [false, true].map { Case(failure: failure, othersFail: othersFail, isOverdue: $0) }
            }
        }

        /// Whether bytes come back, and whether the reservation waits, as `docs/deciding-and-binding.md` has it.
        var fate: (returns: Bool, waits: Bool) {
            switch failure {
            case nil: (true, false)
            case .unasked: (false, true)
            case .silent, .unclear: (false, othersFail || !isOverdue)
            }
        }
    }

    /// The gateway has asked ten questions at once, one of them about the upload in question.
    @Test(.database(.migrated), arguments: Case.all)
    func `an upload is given back, given up or waits, by what is told of it and of others`(_ example: Case) async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await basics.reserve(10, over: connection)
        try await connection.runScript(
            """
            UPDATE reservations SET object_key = 'subject'
            WHERE issuance_id = (SELECT r.issuance_id FROM reservations r ORDER BY r.issuance_id LIMIT 1)
            """)
        let verifier = StubVerifier { key in
            if key.rawValue == "subject" {
                if let failure = example.failure { throw failure }
            } else if example.othersFail {
                throw StoreFailure.unclear("x")
            }
            return .nothing
        }
        await ReservationSweeper(
            connection: connection, verifier: verifier, clock: .right,
            schedule: .init(grace: .zero, patience: .seconds(example.isOverdue ? 10 : 3600)), logger: .silent
        ).runRound()
        let waiting = "SELECT count(*) FROM reservations WHERE object_key = 'subject'"
        #expect(try await connection.number(waiting) == (example.fate.waits ? 1 : 0))
        // The others wait if the store told nothing about any of the ten.
        let othersReturn: Int64 = example.othersFail ? 0 : 900
        let othersWait: Int64 =
            example.othersFail && !(example.failure == nil && example.isOverdue) ? 9 : 0
        #expect(
            try await basics.state(connection) == [
                1000 - othersReturn - (example.fate.returns ? 100 : 0),
                othersReturn + (example.fate.returns ? 100 : 0), othersWait + (example.fate.waits ? 1 : 0),
            ])
    }

    @Test(.database(.migrated)) func `answers that tell nothing give up nothing`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await basics.reserve(20, over: connection)
        let stores = PartlyFailingStores { _, _ in .unclear("503") }
        await Self.sweeper(connection, stores, patience: 10).runRound()
        #expect(stores.asked == ["demo": 20])
        #expect(try await basics.state(connection) == [2000, 0, 20])
    }

    /// The links are dead for longer than its patience.
    @Test(.database(.migrated)) func `a gateway that cannot ask gives up nothing, and leaves it to others`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await reserve(in: "barred", connection)
        let stores = PartlyFailingStores { bucket, _ in bucket == "barred" ? .unasked("no way out") : nil }
        await Self.sweeper(connection, stores, patience: 1).runRound()
        #expect(stores.asked == ["barred": 3, "demo": 10])
        #expect(try await basics.state(connection) == [1000, 1000, 10])
        try await connection.runScript(
            "UPDATE reservations SET bucket = 'demo', check_at = least(check_at, check_at - interval '301 seconds')")
        await Self.sweeper(connection, PartlyFailingStores()).runRound()
        #expect(try await basics.state(connection) == [0, 2000, 0])
    }

    @Test(.database(.migrated)) func `the longer an upload is in doubt, the more seldom a store is asked`() async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await basics.reserve(1, over: connection)
        try await connection.runScript(
            "UPDATE reservations SET dead_at = now() - interval '16 hours', check_at = dead_at")
        let stores = PartlyFailingStores { _, _ in .unclear("403") }
        await Self.sweeper(connection, stores).runRound()
        let hours = "SELECT round(extract(epoch FROM check_at - now()) / 3600) FROM reservations"
        #expect(try await connection.number(hours) == 1)
    }

    @Test func `a bucket with slow answers lets others go first`() {
        var round = SettlingRound(logger: .silent)
        func note(_ bucket: String, _ seconds: Int) {
            round.note(SettlingAnswer(bucket: bucket, duration: .seconds(seconds)))
        }
        for _ in 0..<40 { note("slow", 4) }
        for number in 0..<40 { note("fast", number % 8 == 0 ? 5 : 0) }
        _ = round.endBatch()
        #expect(round.passedOver == ["slow"])
        #expect(round.returnToSlow() && round.passedOver.isEmpty && !round.returnToSlow())
        // Each batch is judged alone.
        note("slow", 1)
        _ = round.endBatch()
        #expect(round.passedOver.isEmpty)
    }
}

import Foundation
import LibPQ
import PostgresTesting
import Synchronization
import TestSupport
import Testing

@testable import GatewayCore
@testable import GatewayPostgres

/// Recording under clocks that differ: compares the database's own clock with what the gateway assumes it to be.
@Suite struct ClockTests {
    /// A clock whose error can be set.
    private final class Watch: Sendable {
        private let error = Mutex(TimeInterval(0))

        var now: Date { Date().addingTimeInterval(error.withLock(\.self)) }

        func set(ahead seconds: TimeInterval) {
            error.withLock { $0 = seconds }
        }
    }

    private static func connect() throws -> PostgresConnection {
        try PostgresConnection(testing: TestDatabase.current.connectionString)
    }

    private static let traces = """
        SELECT (SELECT count(*) FROM issuances) + (SELECT count(*) FROM quota_usage) + (SELECT count(*) FROM reservations)
        """

    @Test(.database(.migrated), arguments: RecordingFunction.allCases, [-6, 6, 100_000.0])
    func `A clock that is off by more than is allowed records nothing`(
        _ function: RecordingFunction, _ ahead: TimeInterval
    ) async throws {
        let connection = try Self.connect()
        let quota = Quota.sample(limit: 1000, metric: .bytes)
        let proposal = try IssuanceProposal.sample(
            at: await connection.position(), action: .putObject, charges: [quota.charge(100)])
        let statement = function == .one ? RecordBatch.recordOne : RecordBatch.record
        let batch = RecordBatch([proposal])
        let answer = try #require(try await connection.execute(statement, (batch, .ahead(ahead))).first)
        guard case .clockDiffers(let found) = try batch.outcome(by: answer) else {
            Issue.record("recorded: \(answer)")
            return
        }
        #expect(abs(found + ahead) < 1)
        #expect(try await connection.number(Self.traces) == 0)
    }

    @Test(.database(.migrated), arguments: RecordingFunction.allCases, [-4, 4.0])
    func `What is reserved is dead by the later of both clocks`(
        _ function: RecordingFunction, _ ahead: TimeInterval
    ) async throws {
        let connection = try Self.connect()
        let quota = Quota.sample(limit: 1000, metric: .bytes)
        let proposal = try IssuanceProposal.sample(
            at: await connection.position(), action: .putObject, charges: [quota.charge(100)], lifetime: ahead + 900)
        let statement = function == .one ? RecordBatch.recordOne : RecordBatch.record
        let batch = RecordBatch([proposal])
        _ = try await connection.execute(statement, (batch, .ahead(ahead)))
        let lives = try await connection.execute(
            Statement<Void, [Double]>(
                """
                SELECT ARRAY[date_part('epoch', r.dead_at - i.expires_at), date_part('epoch', r.dead_at - i.issued_at)]
                FROM reservations r JOIN issuances i ON i.id = r.issuance_id WHERE r.check_at = r.dead_at
                """
            ) { row throws(PostgresError) in try row.decode(0) })
        let life = try #require(lives.first)
        #expect(life[0] >= 0)
        #expect(abs(life[0] - max(0, -ahead)) < 1)
        #expect(life[1] >= 900 - 1)
    }

    @Test(.database(.migrated)) func `Waiting for a change of policy is no difference of clocks`() async throws {
        let (connection, changer) = (try Self.connect(), try Self.connect())
        let proposal = try IssuanceProposal.sample(at: await connection.position())
        let batch = RecordBatch([proposal])
        let allowed: TimeInterval = 1
        let clock = LedgerClock(maxDifference: allowed, logger: .silent) { Date() }
        let locks = """
            pg_locks l JOIN pg_database d ON d.oid = l.database
            WHERE l.locktype = 'advisory' AND d.datname = current_database() AND
            """
        async let change: Void = changer.runScript(
            """
            DO $$ BEGIN
                PERFORM pg_advisory_xact_lock(advisory_lock('policy'));
                WHILE NOT EXISTS (SELECT FROM \(locks) NOT l.granted) LOOP
                    PERFORM pg_sleep(0.01);
                END LOOP;
                -- Longer than the clocks may differ.
                PERFORM pg_sleep(\(1.2 * allowed));
            END $$
            """)
        let observer = try Self.connect()
        try await eventually { try await observer.number("SELECT count(*) FROM \(locks) l.granted") > 0 }
        let answer = try #require(try await connection.execute(RecordBatch.recordOne, (batch, clock)).first)
        try await change
        guard case .verdicts(let verdicts) = try batch.outcome(by: answer) else {
            Issue.record("not recorded: \(answer)")
            return
        }
        #expect(verdicts.map(\.isRecorded) == [true])
    }

    @Test(.database(.migrated), arguments: [-60, 60.0])
    func `Callers are told, the log once when it begins and once when it ends`(_ ahead: TimeInterval) async throws {
        let watch = Watch()
        let lines = LogLines()
        let clock = LedgerClock(maxDifference: 5, logger: lines.logger) { watch.now }
        let outcomes = try await withLedger(TestDatabase.current.connectionString, clock: clock) { ledger, connection in
            let position = try await connection.position()
            var outcomes: [[Bool]] = []
            for error in [0, ahead, 0] {
                watch.set(ahead: error)
                let proposals = try (0..<20).map { try IssuanceProposal.sample(at: position, principal: "user:\($0)") }
                outcomes.append(
                    await ledger.record(proposals, deadline: .soon).map { result in
                        if case .failure(.clockDiffers) = result {
                            false
                        } else {
                            (try? result.get().isRecorded) ?? false
                        }
                    })
                let expected: Int64 = error == 0 ? 20 : 0
                let recorded = try await connection.number("SELECT count(*) FROM issuances")
                #expect(recorded == (outcomes.count > 2 ? 40 : outcomes.count == 2 ? 20 : expected))
            }
            return outcomes
        }
        #expect(outcomes.map { Set($0) } == [[true], [false], [true]])
        #expect(lines.all.count == 2, "\(lines.all)")
        #expect(lines.all.first?.contains("differ") == true && lines.all.last?.contains("agree") == true)
    }

    @Test func `Only what the time on the way can explain is no difference of clocks`() {
        let lines = LogLines()
        let clock = LedgerClock(maxDifference: 5, logger: lines.logger) { Date() }
        let late = GatewayError.slowDown(retryAfter: 1)
        let differs = GatewayError.clockDiffers(retryAfter: 5)
        #expect(clock.refusal(ahead: 13, within: .seconds(8)) == late)
        #expect(clock.refusal(ahead: 8, within: .seconds(8)) == late)
        #expect(lines.all.isEmpty)
        #expect(clock.refusal(ahead: 13.01, within: .seconds(8)) == differs)
        #expect(clock.refusal(ahead: -5.01, within: .seconds(8)) == differs)
        #expect(lines.all.count == 1)
        // It says nothing of the clocks, so what was told of them holds.
        #expect(clock.refusal(ahead: 13, within: .seconds(8)) == late)
        #expect(lines.all.count == 1)
        clock.agrees()
        #expect(lines.all.count == 2)
    }

    /// The server's process is stopped until it hangs for longer than the clocks may differ: after a second, the ledger
    /// no longer takes the connection for well.
    @Test(.database(.migrated), .timeLimit(.minutes(1)))
    func `A statement that reaches PostgreSQL late is no difference of clocks`() async throws {
        let lines = LogLines()
        let clock = LedgerClock(maxDifference: 0.5, logger: lines.logger) { Date() }
        let database = try TestDatabase.current.connectionString
        try await withLedger(database, clock: clock, limits: .init(connections: 1)) { ledger, connection in
            let position = try await connection.position()
            func record() async throws -> [Result<RecordVerdict, GatewayError>] {
                let proposal = try IssuanceProposal.sample(at: position)
                return await ledger.record([proposal], deadline: .soon)
            }
            // On a busy machine, any statement may be late.
            try await eventually { try await record() == [.success(.recorded(remaining: []))] }
            let process = try await connection.ledgerProcess()
            try #require(kill(process, SIGSTOP) == 0)
            defer { kill(process, SIGCONT) }
            async let late = record()
            try await eventually { !ledger.lanes[0].health.isWell }
            kill(process, SIGCONT)
            #expect(try await late == [.failure(.slowDown(retryAfter: 1))])
            try await eventually { try await record() == [.success(.recorded(remaining: []))] }
            #expect(try await connection.number("SELECT count(*) FROM issuances") == 2)
        }
        #expect(lines.all.isEmpty, "\(lines.all)")
    }

    @Test(.database(.migrated), .timeLimit(.minutes(1)), arguments: [false, true])
    func `A request with an idempotency key goes through the same check`(_ isLate: Bool) async throws {
        let world = try AdminWorld()
        let settings = PostgresIdempotency.sessionSettings + [("role", "sluice_gateway")]
        let pool = PostgresPool(
            try TestDatabase.current.configuration(sessionSettings: settings), size: 1, logger: .silent)
        let asked = Mutex<ContinuousClock.Instant?>(nil)
        let clock =
            isLate
            ? LedgerClock(maxDifference: 0.5, logger: .silent) {
                asked.withLock { $0 = $0 ?? .now }
                return Date()
            } : LedgerClock.ahead(60)
        let store = PostgresIdempotency(
            pool: pool, keys: world.keys, clock: clock, logger: .silent, now: { Date() }, recordingFailed: { _ in })
        let request = IdempotentRequest(
            caller: try Principal("user:alice"), route: "POST /a", keyDigest: [UInt8](repeating: 1, count: 32),
            bodyDigest: [UInt8](repeating: 1, count: 32))
        guard case .fresh(let claim) = try await store.begin(request) else {
            Issue.record("not fresh")
            return
        }
        let proposal = try IssuanceProposal.sample(at: await world.connection.position())
        let process = try #require(
            try await pool.execute(
                Statement<Void, Int32>("SELECT pg_backend_pid()") { row throws(PostgresError) in try row.decode(0) }
            ).first)
        if isLate { try #require(kill(process, SIGSTOP) == 0) }
        defer { kill(process, SIGCONT) }
        async let results = store.ledger(for: claim).record([proposal], deadline: .soon)
        // Half a second longer than the clocks may differ.
        if isLate {
            try await eventually { asked.withLock { $0.map { ContinuousClock.now - $0 > .seconds(1) } ?? false } }
        }
        kill(process, SIGCONT)
        let refusal = isLate ? GatewayError.slowDown(retryAfter: 1) : .clockDiffers(retryAfter: 5)
        #expect(await results == [.failure(refusal)])
        #expect(try await world.connection.number(Self.traces) == 0)
    }
}

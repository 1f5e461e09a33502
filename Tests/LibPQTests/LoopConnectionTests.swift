import EventLoops
import Glibc
import LibPQ
import PostgresTesting
import TestSupport
import Testing

@Suite(.database, .timeLimit(.minutes(2)))
struct LoopConnectionTests {
    private static let one = query("SELECT 1::bigint", as: Int64.self)
    private static let process = query("SELECT pg_backend_pid()", as: Int32.self)
    private static let sleep = query("SELECT pg_sleep(60)::text", as: String.self)
    private static let terminate = Statement<Int32, Void>("SELECT pg_terminate_backend($1, 5000)") { [$0] }
    private static let soon = Duration.seconds(60)

    @Test func whileAStatementWaitsItsLoopExecutesOthers() async throws {
        let holder = try connect()
        try await holder.runScript("SELECT pg_advisory_lock(1)")
        try await withLoop { loop, configuration in
            async let blocked = Self.execute(
                query("SELECT 2::bigint FROM pg_advisory_lock(1)", as: Int64.self), configuration, loop)
            let connection = LoopConnection(configuration, loop: loop, logger: quiet)
            for round in Int64(1)...3 {
                #expect(
                    try await connection.execute(echo(Int64.self, as: "bigint"), round, deadline: .now + Self.soon) == [
                        round
                    ])
            }
            try await holder.runScript("SELECT pg_advisory_unlock(1)")
            #expect(try await blocked == [2])
        }
    }

    @Test func aStatementIsCancelledAtItsDeadlineAndItsSessionClosed() async throws {
        try await withLoop { loop, configuration in
            let connection = LoopConnection(configuration, loop: loop, logger: quiet)
            let process = try await connection.execute(Self.process, (), deadline: .now + Self.soon)
            #expect(await Self.error(of: connection, Self.sleep, within: .milliseconds(30)) == .deadlineExceeded)
            #expect(try await connection.execute(Self.process, (), deadline: .now + Self.soon) != process)
            #expect(await Self.error(of: connection, Self.one, within: .zero) == .deadlineExceeded)
        }
    }

    @Test func largeParametersAndAnswersPass() async throws {
        try await withLoop { loop, configuration in
            let connection = LoopConnection(configuration, loop: loop, logger: quiet)
            let large = String(repeating: "0123456789", count: 1_000_000)
            let back = try await connection.execute(echo(String.self, as: "text"), large, deadline: .now + Self.soon)
            #expect(back == [large])
        }
    }

    @Test func aSessionThatDiedAtRestIsReplacedUnnoticed() async throws {
        let other = try connect()
        try await withLoop { loop, configuration in
            let connection = LoopConnection(configuration, loop: loop, logger: quiet)
            for _ in 0..<3 {
                let process = try await connection.execute(Self.process, (), deadline: .now + Self.soon)
                try await other.perform(Self.terminate, process[0])
                // The connection is checked only after a pause.
                try await Task.sleep(for: .milliseconds(15))
                #expect(try await connection.execute(Self.process, (), deadline: .now + Self.soon) != process)
            }
        }
    }

    @Test func aServerThatStandsStillIsGivenUp() async throws {
        try await withLoop { loop, configuration in
            let connection = LoopConnection(configuration, loop: loop, logger: quiet)
            let process = try await connection.execute(Self.process, (), deadline: .now + Self.soon)[0]
            kill(process, SIGSTOP)
            defer { kill(process, SIGCONT) }
            let error = await Self.error(of: connection, Self.one, within: .seconds(1))
            guard case .connectionLost = error else { return #expect(Bool(false), "\(String(describing: error))") }
            #expect(try await connection.execute(Self.one, (), deadline: .now + Self.soon) == [1])
        }
    }

    @Test func aCrashOfTheServerIsSurvived() async throws {
        let cluster = try await TestCluster(ClusterOptions())
        let configuration = try PostgresConfiguration(
            connectionString: cluster.connectionString(database: "postgres"), applicationName: "tests",
            sessionSettings: [("lock_timeout", "1234ms")])
        try await withLoop(configuration) { loop, configuration in
            let connection = LoopConnection(configuration, loop: loop, logger: quiet)
            for _ in 1...2 {
                let setting = query("SELECT current_setting('lock_timeout')", as: String.self)
                #expect(try await connection.execute(setting, (), deadline: .now + Self.soon) == ["1234ms"])
                try await cluster.kill()
                try await Task.sleep(for: .milliseconds(15))
                for _ in 0..<3 {
                    let error = await Self.error(of: connection, Self.one, within: .seconds(5))
                    guard case .unavailable = error else {
                        return #expect(Bool(false), "\(String(describing: error))")
                    }
                }
                try await cluster.start()
                try await eventually { await Self.error(of: connection, Self.one, within: .seconds(5)) == nil }
            }
        }
        try await cluster.stop()
    }

    @Test func itGoesOnWhenItsLoopHasEnded() async throws {
        let configuration = try TestDatabase.current.configuration()
        let loop = try EventLoop()
        async let thread: Void = onThread { loop.run() }
        async let answers = withTaskExecutorPreference(loop) {
            let connection = LoopConnection(configuration, loop: loop, logger: quiet)
            let before = try await connection.execute(Self.one, (), deadline: .now + Self.soon)
            loop.stop()
            while loop.isCurrent { await Task.yield() }
            return before + (try await connection.execute(Self.one, (), deadline: .now + Self.soon))
        }
        #expect(try await answers == [1, 1])
        await thread
    }

    /// Executes a statement over a separate connection, on the loop.
    private static func execute(
        _ statement: Statement<Void, Int64>, _ configuration: PostgresConfiguration, _ loop: EventLoop
    ) async throws -> [Int64] {
        try await withTaskExecutorPreference(loop) {
            try await LoopConnection(configuration, loop: loop, logger: quiet)
                .execute(statement, (), deadline: .now + soon)
        }
    }

    private static func error<Row>(
        of connection: LoopConnection, _ statement: Statement<Void, Row>, within time: Duration
    ) async -> PostgresError? {
        do throws(PostgresError) {
            _ = try await connection.execute(statement, (), deadline: .now + time)
            return nil
        } catch {
            return error
        }
    }
}

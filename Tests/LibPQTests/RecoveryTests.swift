import Figures
import Glibc
import PostgresTesting
import TestSupport
import Testing

@testable import LibPQ

@Suite(.database, .timeLimit(.minutes(2)))
struct RecoveryTests {
    private static let one = query("SELECT 1::bigint", as: Int64.self)
    private static let process = query("SELECT pg_backend_pid()", as: Int32.self)
    private static let terminate = Statement<Int32, Void>("SELECT pg_terminate_backend($1, 5000)") { [$0] }

    @Test func aConnectionThatDiedAtRestIsReplacedUnnoticed() async throws {
        let connection = try connect()
        let other = try connect()
        for _ in 0..<5 {
            let process = try await connection.execute(Self.process)
            try await other.perform(Self.terminate, process[0])
            // A connection that answered a moment ago is reused without a check.
            try await Task.sleep(for: .milliseconds(20))
            #expect(try await connection.execute(Self.process) != process)
        }
    }

    @Test func aStatementWhoseSessionIsKilledFailsAndTheNextOneWorks() async throws {
        let connection = try connect()
        let other = try connect()
        let process = try await connection.execute(Self.process)[0]
        async let failure = postgresError {
            _ = try await connection.execute(query("SELECT pg_sleep(30)::text", as: String.self))
        }
        let busy = Statement<Int32, Int64>(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'"
        ) {
            [$0]
        } decode: { row throws(PostgresError) in
            try row.decode(0)
        }
        try await eventually { try await other.execute(busy, process) == [1] }
        try await other.perform(Self.terminate, process)
        guard case .connectionLost(let reason) = await failure else { return #expect(Bool(false)) }
        #expect(reason.hasPrefix("57P01"))
        #expect(try await connection.execute(Self.one) == [1])
    }

    @Test func aServerThatStandsStillIsGivenUp() async throws {
        let connection = try connect()
        let process = try await connection.execute(Self.process)[0]
        kill(process, SIGSTOP)
        defer { kill(process, SIGCONT) }
        let error = await postgresError {
            _ = try await connection.execute(Self.one, deadline: .now + .seconds(1))
        }
        guard case .connectionLost = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(try await connection.execute(Self.one) == [1])
    }

    @Test func aCrashOfTheServerIsSurvived() async throws {
        let cluster = try await TestCluster(ClusterOptions())
        let configuration = try PostgresConfiguration(
            connectionString: cluster.connectionString(database: "postgres"), applicationName: "tests")
        let connection = PostgresConnection(configuration, logger: quiet)
        let listener = PostgresListener(configuration, channels: ["a\"b"], logger: quiet)
        var events = listener.makeAsyncIterator()
        #expect(await events.next() == .connected)
        for round in 1...2 {
            #expect(try await connection.execute(Self.one) == [1])
            try await cluster.kill()
            for _ in 0..<3 {
                let error = await postgresError { _ = try await connection.execute(Self.one) }
                guard case .unavailable = error else { return #expect(Bool(false), "\(String(describing: error))") }
            }
            try await cluster.start()
            try await eventually { await postgresError { _ = try await connection.execute(Self.one) } == nil }
            #expect(await events.next() == .reconnected)
            try await connection.runScript("NOTIFY \"a\"\"b\", 'round \(round)'")
            #expect(await events.next() == .notification(.init(channel: "a\"b", payload: "round \(round)")))
        }
        try await cluster.stop()
    }

    /// A server that stands still takes connections and answers none, so that callers stop waiting.
    @Test(arguments: [false, true]) func anAttemptThatEndedMeanwhileRefusesNobody(connects: Bool) async throws {
        let cluster = try await TestCluster(ClusterOptions())
        var configuration = try PostgresConfiguration(
            connectionString: cluster.connectionString(database: "postgres"), applicationName: "unheeded")
        configuration.backoff = Backoff(base: .milliseconds(1), limit: .milliseconds(1))
        let connection = PostgresConnection(configuration, logger: quiet)
        #expect(try await connection.execute(Self.one) == [1])
        try await cluster.kill()
        #expect(await postgresError { _ = try await connection.execute(Self.one) } != nil)
        try await cluster.start()
        try await cluster.suspend()
        try await eventually {
            await postgresError { _ = try await connection.execute(Self.one) }
                == .unavailable(reason: "still connecting")
        }
        if connects {
            try await cluster.resume()
            let watcher = PostgresConnection(
                try PostgresConfiguration(
                    connectionString: cluster.connectionString(database: "postgres"), applicationName: "watcher"),
                logger: quiet)
            let sessions = query(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'unheeded'", as: Int64.self)
            try await eventually { try await watcher.execute(sessions) == [1] }
        }
        try await cluster.kill()
        try await cluster.start()
        // The next attempt may take longer than a caller waits for it.
        try await eventually {
            do {
                return try await connection.execute(Self.one) == [1]
            } catch PostgresError.unavailable(reason: "still connecting") {
                return false
            }
        }
        try await cluster.stop()
    }

    /// The session of the first caller waits while its settings are applied, until that caller gives up.
    @Test(.database) func aCallerThatGivesUpWhileItConnectsIsNoFailure() async throws {
        let database = try TestDatabase.current
        let holder = try connect()
        try await holder.runScript(
            """
            CREATE FUNCTION public.set_config(setting text, content text, is_local boolean) RETURNS text LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_advisory_xact_lock_shared(1);
                RETURN pg_catalog.set_config(setting, content, is_local);
            END
            $$;
            ALTER DATABASE "\(database.name)" SET search_path = public, pg_catalog;
            SELECT pg_advisory_lock(1)
            """)
        var configuration = try database.configuration()
        let outage = Outage(logger: quiet)
        configuration.outage = outage
        configuration.connectTimeout = .seconds(60)
        // A busy machine takes its time to start the process that cancels.
        configuration.cancelTimeout = .seconds(20)
        configuration.backoff = Backoff(base: .seconds(3600), limit: .seconds(3600))
        let connection = PostgresConnection(configuration, logger: quiet)
        let caller = Task { try await connection.execute(Self.one, deadline: .now + .seconds(60)) }
        try await holder.waitForBlocked(on: "advisory")
        caller.cancel()
        #expect(await postgresError { _ = try await caller.value } == .cancelled)
        try await holder.runScript("SELECT pg_advisory_unlock(1)")
        #expect(try await connection.execute(Self.one) == [1])
        #expect(outage.failedConnections.value == 0)
    }

    /// The server is not asked to cancel what ends by itself in time.
    @Test(.database) func aSessionOutlivesTheCallerThatGaveUp() async throws {
        var configuration = try TestDatabase.current.configuration()
        configuration.cancelDelay = .seconds(60)
        let connection = PostgresConnection(configuration, logger: quiet)
        let process = try await connection.execute(Self.process)
        let holder = try connect()
        try await holder.runScript("CREATE TABLE kept (n bigint); SELECT pg_advisory_lock(1)")
        let lock = query("SELECT pg_advisory_xact_lock(1)::text", as: String.self)

        let alone = Task { try await connection.execute(lock) }
        try await holder.waitForBlocked(on: "advisory")
        alone.cancel()
        try await holder.runScript("SELECT pg_advisory_unlock(1)")
        #expect(try await alone.value == [""])
        #expect(try await connection.execute(Self.process) == process)

        try await holder.runScript("SELECT pg_advisory_lock(1)")
        let insert = Statement<Int64, Void>("INSERT INTO kept VALUES ($1)") { [$0] }
        let transaction = Task {
            try await connection.withTransaction { transaction in
                try transaction.perform(insert, 1)
                _ = try transaction.execute(lock)
            }
        }
        try await holder.waitForBlocked(on: "advisory")
        transaction.cancel()
        try await holder.runScript("SELECT pg_advisory_unlock(1)")
        #expect(await postgresError { try await transaction.value } == .cancelled)
        #expect(try await connection.execute(query("SELECT count(*) FROM kept", as: Int64.self)) == [0])
        #expect(try await connection.execute(Self.process) == process)
    }

    @Test func theFirstServerThatIsAliveIsTaken() async throws {
        let database = try TestDatabase.current
        let alive = database.cluster.directory
        let port = database.cluster.port
        let configuration = try PostgresConfiguration(
            connectionString: "host=/nonexistent,127.0.0.1,\(alive) port=\(port),1,\(port) user=postgres "
                + "dbname=\(database.name) target_session_attrs=read-write",
            applicationName: "tests")
        #expect(try await PostgresConnection(configuration, logger: quiet).execute(Self.one) == [1])
    }

    @Test func aServerThatOnlyReadsIsLeftForTheNext() async throws {
        let database = try TestDatabase.current
        let connection = try connect()
        let process = try await connection.execute(Self.process)
        try await connection.runScript("SET default_transaction_read_only = on")
        #expect(await postgresError { try await connection.runScript("CREATE TABLE r ()") }?.sqlState == "25006")
        #expect(try await connection.execute(Self.process) != process)
        let malformed = #expect(throws: PostgresError.self) {
            try PostgresConfiguration(connectionString: "host=a,b port=1,2,3", applicationName: database.name)
        }
        #expect(malformed == .invalidConnectionString(reason: "the lists of hosts and ports differ in length"))
    }

    @Test func aPasswordInAMalformedStringIsNotRepeated() {
        let error = #expect(throws: PostgresError.self) {
            try PostgresConfiguration(connectionString: "password=x geheim", applicationName: "tests")
        }
        #expect(!String(describing: error).contains("geheim"))
    }

    /// libpq would quote what it takes for a port or a host.
    @Test(arguments: [
        ("postgresql://u:geheim/Pass@db.example:5432/d", "a port is"), ("host=a,b port=1,geheim", "a port is"),
        ("host=a port=0", "a port is"), ("host=a port=65536", "a port is"),
        ("postgresql://u:Pass@geheim@127.0.0.1/d", "a host has"),
        ("postgresql://u:Pass@@geheim@127.0.0.1/d", "a host has"),
        ("host=a,geheim/b", "a host has"), ("hostaddr='127.0.0.1 geheim'", "a host has"),
    ])
    func aPartOfAPasswordIsNotTakenForAPortOrAHost(text: String, reason: String) {
        let error = #expect(throws: PostgresError.self) {
            try PostgresConfiguration(connectionString: text, applicationName: "tests")
        }
        guard case .invalidConnectionString(let told)? = error else { return #expect(Bool(false), "\(text)") }
        #expect(told.hasPrefix(reason) && told.hasSuffix("%40 %2F %3A %3F %23 %25") && !told.contains("geheim"))
    }

    @Test(arguments: [
        "postgresql:///d", "postgresql://u:p%40%2F@a,b,10.0.0.3:5432/d", "postgresql://[fe80::1%25eth0]:5432/d",
        "postgresql:///d?host=/run/postgresql", "host=/a@b/c", "host=@abstract", "host=a_b-c.example.,b port=5432,",
        "hostaddr=::1 port=65535",
    ])
    func hostsAndPortsOfEachFormAreTaken(text: String) throws {
        _ = try PostgresConfiguration(connectionString: text, applicationName: "tests")
    }

    @Test func waitsGrowToTheirLimit() {
        let backoff = Backoff(base: .milliseconds(100), limit: .seconds(5))
        #expect(backoff.delay(afterFailures: 1, fraction: 1) == .milliseconds(100))
        #expect(backoff.delay(afterFailures: 3, fraction: 0.5) == .milliseconds(200))
        #expect(backoff.delay(afterFailures: 7, fraction: 1) == .seconds(5))
        #expect(backoff.delay(afterFailures: .max, fraction: 1) == .seconds(5))
        #expect(backoff.delay(afterFailures: 9, fraction: 0) == .zero)
    }
}

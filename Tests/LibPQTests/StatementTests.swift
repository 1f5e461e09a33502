import PostgresTesting
import TestSupport
import Testing

@testable import LibPQ

@Suite(.database, .timeLimit(.minutes(1)))
struct StatementTests {
    private static let sleep = query("SELECT pg_sleep(30)::text", as: String.self)
    private static let one = query("SELECT 1::bigint", as: Int64.self)

    @Test func settingsHoldInTheSession() async throws {
        let connection = try connect([("statement_timeout", "5s"), ("synchronous_commit", "on")])
        #expect(try await connection.execute(query("SHOW statement_timeout")) == ["5s"])
        #expect(try await connection.execute(query("SHOW timezone")) == ["UTC"])
        #expect(try await connection.execute(query("SHOW client_encoding")) == ["UTF8"])
        #expect(try await connection.execute(query("SHOW application_name")) == ["tests"])
    }

    @Test func statementsArePreparedOnce() async throws {
        let connection = try connect()
        for value in Int64(0)..<20 {
            #expect(try await connection.execute(echo(Int64.self, as: "bigint"), value) == [value])
        }
        let prepared = query(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT $1::bigint'", as: Int64.self)
        #expect(try await connection.execute(prepared) == [1])
    }

    @Test func aStatementMayNotChangeItsTypes() async throws {
        let connection = try connect()
        let text = "SELECT $1::text"
        try await connection.perform(Statement<Int64, Void>(text) { [$0] }, 1)
        let error = await postgresError {
            try await connection.perform(Statement<Double, Void>(text) { [$0] }, 1)
        }
        guard case .encoding = error else { return #expect(Bool(false), "\(String(describing: error))") }
    }

    @Test func serverErrorsCarryTheirFieldsButNoValues() async throws {
        let connection = try connect()
        try await connection.runScript(
            "CREATE TABLE t (v text CONSTRAINT t_once UNIQUE, n integer CHECK (n > 0)); INSERT INTO t VALUES ('geheim')"
        )
        let insert = Statement<String, Void>("INSERT INTO t (v) VALUES ($1)") { [$0] }
        let error = await postgresError { try await connection.perform(insert, "geheim") }
        guard case .server(let duplicate) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(duplicate.sqlState == "23505")
        #expect(duplicate.severity == "ERROR")
        #expect(duplicate.constraint == "t_once")
        #expect(!String(reflecting: error).contains("geheim"))
        let parse = Statement<String, Void>("SELECT $1::uuid") { [$0] }
        for value in ["geheim", "a\"geheim\"b"] {
            let error = await postgresError { try await connection.perform(parse, value) }
            #expect(error?.sqlState == "22P02")
            #expect(!String(reflecting: error).contains("geheim"))
        }
        #expect(await postgresError { try await connection.runScript("SELEC") }?.sqlState == "42601")
        #expect(try await connection.execute(Self.one) == [1])
    }

    @Test func theServersTimeoutsAreErrorsOfTheServer() async throws {
        let connection = try connect([("statement_timeout", "50ms")])
        #expect(await postgresError { _ = try await connection.execute(Self.sleep) }?.sqlState == "57014")
        let holder = try connect()
        try await holder.runScript("SELECT pg_advisory_lock(1)")
        let waiter = try connect([("lock_timeout", "50ms")])
        let lock = await postgresError { try await waiter.runScript("SELECT pg_advisory_lock(1)") }
        #expect(lock?.sqlState == "55P03")
        #expect(try await waiter.execute(Self.one) == [1])
    }

    @Test func aDeadlineCancelsTheStatementAndClosesTheSession() async throws {
        let connection = try connect()
        let processID = query("SELECT pg_backend_pid()", as: Int32.self)
        var time = Duration.milliseconds(20)
        for _ in 0..<20 {
            let process = try await connection.execute(processID)
            while true {
                let error = await postgresError {
                    _ = try await connection.execute(Self.sleep, deadline: .now + time)
                }
                #expect(error == .deadlineExceeded)
                // A late request to cancel finds no statement.
                if try await connection.execute(processID) != process { break }
                // The deadline may have passed before the statement was sent.
                time *= 4
                try #require(time < .seconds(5), "the session is still there")
            }
        }
        let past = await postgresError { _ = try await connection.execute(Self.one, deadline: .now - .seconds(1)) }
        #expect(past == .deadlineExceeded)
    }

    @Test func aRequestToCancelThatIsLostIsRepeated() async throws {
        let connection = try connect()
        let stubborn = Statement<Void, Void>(
            """
            DO $$ BEGIN
                BEGIN
                    PERFORM pg_sleep(31);
                EXCEPTION WHEN query_canceled THEN
                END;
                PERFORM pg_sleep(31);
            END $$
            """)
        let error = await postgresError {
            try await connection.perform(stubborn, (), deadline: .now + .milliseconds(20))
        }
        #expect(error == .deadlineExceeded)
    }

    @Test func cancellingTheTaskCancelsTheStatement() async throws {
        let connection = try connect()
        let observer = try connect()
        let sleeping = query(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(31)::text' AND "
                + "state = 'active' AND datname = current_database()", as: Int64.self)
        let error = await withTaskGroup(of: PostgresError?.self) { group in
            group.addTask {
                await postgresError {
                    _ = try await connection.execute(query("SELECT pg_sleep(31)::text", as: String.self))
                }
            }
            try? await eventually { try await observer.execute(sleeping) == [1] }
            group.cancelAll()
            return await group.next() ?? nil
        }
        #expect(error == .cancelled)
        #expect(try await observer.execute(sleeping) == [0])
        #expect(try await connection.execute(Self.one) == [1])
    }

    @Test func transactionsCommitOrRollBackAsAWhole() async throws {
        struct Refusal: Error {}
        let connection = try connect()
        try await connection.runScript("CREATE TABLE u (n bigint PRIMARY KEY)")
        let insert = Statement<Int64, Void>("INSERT INTO u VALUES ($1)") { [$0] }
        let count = query("SELECT count(*) FROM u", as: Int64.self)
        #expect(try await connection.withTransaction { try $0.perform(insert, 1) } == 1)
        await #expect(throws: Refusal.self) {
            try await connection.withTransaction { transaction in
                try transaction.perform(insert, 2)
                throw Refusal()
            }
        }
        // An error that the closure ignores does not become a commit of nothing.
        let swallowed = await postgresError {
            try await connection.withTransaction { transaction in
                try transaction.perform(insert, 3)
                _ = try? transaction.perform(insert, 3)
            }
        }
        #expect(swallowed?.sqlState == "25P02")
        #expect(try await connection.execute(count) == [1])
        let isolation = query("SHOW transaction_isolation", as: String.self)
        #expect(try await connection.withTransaction { try $0.execute(isolation) } == ["read committed"])
    }

    @Test func aCancelledTransactionLeavesNothing() async throws {
        let connection = try connect()
        try await connection.runScript("CREATE TABLE w (n bigint)")
        let error = await postgresError {
            try await connection.withTransaction(deadline: .now + .milliseconds(50)) { transaction in
                try transaction.runScript("INSERT INTO w VALUES (1)")
                _ = try transaction.execute(Self.sleep)
            }
        }
        #expect(error == .deadlineExceeded)
        #expect(try await connection.execute(query("SELECT count(*) FROM w")) == [Int64(0)])
    }

    @Test(.database) func aSessionBeginsWithItsOwnSettingsWhateverTheServerSays() async throws {
        let database = try TestDatabase.current
        let owner = try connect()
        let others = [("default_transaction_isolation", "serializable"), ("TimeZone", "Asia/Tokyo"), ("jit", "on")]
        for (name, value) in others {
            try await owner.runScript("ALTER DATABASE \(database.name) SET \(name) = '\(value)'")
        }
        let session = try connect()
        for (name, value) in [("transaction_isolation", "read committed"), ("TimeZone", "UTC"), ("jit", "off")] {
            #expect(try await session.execute(query("SHOW \(name)", as: String.self)) == [value])
        }
    }
}

import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Databases that do not keep what the promises need, made on purpose.
@Suite(.database, .timeLimit(.minutes(1))) struct DatabaseTrialTests {
    private func connection(_ searchPath: String = "public", login: String = "postgres") throws -> PostgresConnection {
        try PostgresConnection(
            testing: TestDatabase.current.connectionString.replacing("user=postgres", with: "user=\(login)"),
            settings: [("search_path", searchPath)])
    }

    private func flaws(_ searchPath: String = "public") async throws -> [DatabaseTrial.Flaw] {
        let (one, other) = (try connection(searchPath), try connection(searchPath))
        let flaws = try await DatabaseTrial(one, other).flaws(number: .random(in: 0...Int32.max))
        await one.close()
        await other.close()
        return flaws
    }

    @Test func `PostgreSQL has no flaw`() async throws {
        #expect(try await flaws() == [])
    }

    @Test(arguments: ["pg_advisory_xact_lock", "pg_advisory_xact_lock_shared"])
    func `a lock that excludes nobody is found`(function: String) async throws {
        let owner = try connection()
        try await owner.runScript(
            """
            CREATE SCHEMA hides_\(function);
            CREATE FUNCTION hides_\(function).\(function)(bigint) RETURNS void LANGUAGE sql AS '';
            """)
        #expect(try await flaws("hides_\(function), pg_catalog") == [.locksDoNotExclude])
    }

    @Test func `statements that do not see later commits are found`() async throws {
        // As under REPEATABLE READ, where a transaction keeps its first snapshot.
        try await connection().runScript(
            """
            CREATE SCHEMA frozen;
            CREATE FUNCTION frozen.pg_current_snapshot() RETURNS pg_snapshot LANGUAGE plpgsql AS $$
            BEGIN
                IF coalesce(current_setting('frozen.at', true), '') = '' THEN
                    PERFORM set_config('frozen.at', pg_catalog.pg_current_snapshot()::text, true);
                END IF;
                RETURN current_setting('frozen.at')::pg_snapshot;
            END $$;
            """)
        #expect(try await flaws("frozen, pg_catalog") == [.commitsAreNotSeen])
    }

    @Test func `two clients of one session are found`() async throws {
        let one = try connection()
        #expect(
            try await DatabaseTrial(one, one).flaws(number: 1) == [.sessionsAreShared])
    }

    /// A pooler that changes sessions between statements may have another client's statement of the same name answer.
    @Test func `the answer to another statement is found`() {
        #expect(DatabaseTrial.Flaw(.decoding(column: 0, reason: "type 23 is not String")) == .sessionsAreShared)
        #expect(DatabaseTrial.Flaw(.deadlineExceeded) == nil)
    }

    @Test func `a server that is too old, and a database of another encoding, are found`() async throws {
        let database = try TestDatabase.current
        let name = "\(database.name)_plain"
        let owner = try connection()
        try await owner.runScript("CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
        let plain = try PostgresConnection(testing: database.cluster.connectionString(database: name))
        var facts = try await DatabaseDiagnosis(connection: plain).server()
        await plain.close()
        try await owner.runScript("DROP DATABASE \(name) WITH (FORCE)")
        let encoding = DatabaseTrial.Flaw.encodingIsNotUTF8(name: "SQL_ASCII")
        #expect(facts.basicFlaws == [encoding])
        facts.version = "14.9"
        facts.versionNumber = 140_009
        #expect(facts.basicFlaws == [.isNotPostgreSQL(reason: "its version is 14.9"), encoding])
        #expect(try await DatabaseDiagnosis(connection: owner).server().basicFlaws == [])
    }

    @Test func `a login, a database or a server whose commits do not wait is refused`() async throws {
        let database = try TestDatabase.current
        let login = "\(database.name)_hasty"
        let owner = try connection()
        try await owner.runScript("CREATE ROLE \(login) LOGIN; ALTER ROLE \(login) SET synchronous_commit = off")
        func facts(_ login: String) async throws -> ServerFacts {
            let session = try connection(login: login)
            try await session.runScript("SET synchronous_commit = on")
            return try await DatabaseDiagnosis(connection: session).server()
        }
        let lossy = DatabaseTrial.Flaw.commitsMayBeLost(settings: ["fsync", "full_page_writes"])
        // The cluster of the tests has no fsync, and says so.
        #expect(try await facts("postgres").durabilityFlaws == [lossy])
        #expect(try await facts("postgres").acceptsLoss)
        #expect(try await facts(login).durabilityFlaws == [lossy, .commitsDoNotWait])
        try await owner.runScript(
            "ALTER ROLE \(login) RESET ALL; ALTER DATABASE \(database.name) SET synchronous_commit = off")
        #expect(try await facts(login).durabilityFlaws == [lossy, .commitsDoNotWait])
    }
}

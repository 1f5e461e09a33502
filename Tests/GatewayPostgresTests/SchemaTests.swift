import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// The schema: its statements, its dump, and the limits of the gateway's role.
@Suite(.timeLimit(.minutes(5))) struct SchemaTests {
    @Test(.database(.migrated)) func everyStatementPrepares() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        for statement in try StatementLists.gateway() + StatementLists.migrator() {
            try await connection.runScript("PREPARE \"\(statement.name)\" AS \(statement.text)")
        }
        try await connection.runScript(BulkTables.make)
        for statement in try StatementLists.bulk() {
            try await connection.runScript("PREPARE \"\(statement.name)\" AS \(statement.text)")
        }
    }

    @Test func dumpIsThatOfMigrationsAndFunctions() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
            .standardizedFileURL
        let process = Process()
        process.executableURL = root.appending(path: "script/schema")
        process.arguments = ["--check"]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "run script/schema and review what changed")
    }

    @Test(
        .database(.migrated),
        arguments: [
            "UPDATE issuances SET request_id = 'x'", "DELETE FROM issuances", "TRUNCATE issuances",
            "TRUNCATE admin_audit", "UPDATE issuances_20200101 SET request_id = 'x'", "DELETE FROM issuances_20200101",
            "TRUNCATE issuances_20200101",
            "UPDATE policy_log SET actor = 'x'", "DELETE FROM policy_log", "UPDATE admin_audit SET actor = 'x'",
            "DELETE FROM admin_audit", "DELETE FROM grants", "UPDATE grants SET principal = '*'",
            "UPDATE quotas SET metric = 'urls'", "DELETE FROM quota_usage", "DELETE FROM denials",
            "DELETE FROM multipart_uploads", "DELETE FROM group_member_history",
            "INSERT INTO group_member_history SELECT 'user:a', 'group:b', gen_random_uuid(), NULL",
            "UPDATE multipart_uploads SET principal = '*'",
            "ALTER TABLE issuances ADD COLUMN extra text", "DROP TABLE grants", "CREATE TABLE mine (a integer)",
            "ALTER TABLE issuances DETACH PARTITION issuances_20200101",
            "SELECT create_issuances_partition('2020-01-02')", "SELECT grant_to_gateway('postgres')",
            "DELETE FROM issuance_sums", "UPDATE issuance_sums SET urls = 0", "UPDATE summed_days SET pages = 0",
            "INSERT INTO summed_days VALUES (now(), now() + interval '1 hour', 1)", "SELECT forget_sums(now())",
            "SELECT forget_sums_since(now())",
            "DELETE FROM caller_sums", "INSERT INTO summed_hours VALUES (now())", "DELETE FROM caller_landings",
            "DELETE FROM caller_days", "INSERT INTO summed_caller_days VALUES (now())", "DELETE FROM grant_uses",
            "DELETE FROM caller_landing_days",
            "DELETE FROM landing_sums", "UPDATE landing_sums SET bytes = 0", "DELETE FROM landed_uploads",
            "UPDATE landed_uploads SET bytes = 0", "DELETE FROM landing_changes",
            "DELETE FROM gateways", "UPDATE gateways SET policy_seq = 1",
            "INSERT INTO past_changes VALUES (gen_random_uuid(), 1, now())",
            "DELETE FROM policy_changes",
        ])
    func gatewayMayNot(_ sql: String) async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript("SELECT create_issuances_partition('2020-01-01')")
        try await connection.runScript("SET ROLE sluice_gateway")
        let error = await #expect(throws: PostgresError.self) { try await connection.runScript(sql) }
        #expect(error?.sqlState == "42501")
    }

    @Test(
        .database(.migrated),
        arguments: [
            ("DELETE ON issuances", "DELETE FROM issuances"),
            ("UPDATE (principal) ON grants", "UPDATE grants SET principal = '*'"),
            ("EXECUTE ON FUNCTION create_issuances_partition(date)", "SELECT create_issuances_partition('2020-01-02')"),
            ("CREATE ON SCHEMA public", "CREATE TABLE mine (a integer)"),
        ])
    func migrationTakesOtherRightsBack(right: String, use: String) async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript("GRANT \(right) TO sluice_gateway")
        try await connection.runScript("BEGIN; SET LOCAL ROLE sluice_gateway; \(use); ROLLBACK")
        _ = try await Migrator(connection: connection).migrate()
        try await connection.runScript("SET ROLE sluice_gateway")
        let error = await #expect(throws: PostgresError.self) { try await connection.runScript(use) }
        #expect(error?.sqlState == "42501")
    }

    /// Performs everything that the services do, as the gateway's role.
    @Test(.database(.migrated)) func gatewayMayDoItsWork() async throws {
        let database = try TestDatabase.current
        let owner = try PostgresConnection(testing: database.connectionString)
        let gateway = try PostgresConnection(
            testing: database.connectionString, settings: [("role", "sluice_gateway")])
        let quota = Quota.sample(limit: 1000, metric: .bytes)
        try await gateway.insert(quota)
        try await owner.runScript(RevokeRaceTests.makeBucket)
        let proposal = try IssuanceProposal.sample(
            at: await gateway.position(), action: .putObject, charges: [quota.charge(10)], lifetime: -60)
        #expect(try await gateway.record([proposal]).allSatisfy(\.isRecorded))
        #expect(try await gateway.record([.sample(at: proposal.position)], by: .one).allSatisfy(\.isRecorded))
        let counter = DenialCounter(connection: gateway, logger: .silent, now: { Date() })
        counter.count(Denial(principal: .anyone, bucket: nil, code: "AccessDenied"))
        await counter.flush()
        #expect(try await owner.number("SELECT count(*) FROM denials") == 1)
        await ReservationSweeper(
            connection: gateway, verifier: StubVerifier { _ in .nothing }, clock: .right,
            schedule: .init(grace: .zero), logger: .silent
        ).runRound()
        #expect(try await owner.number("SELECT used FROM quota_usage") == 0)
        #expect(try await QuotaAuditor(connection: gateway).audit() == [])
        try await gateway.append(scopes: ["user:alice"])
        try await owner.runScript("SELECT create_issuances_partition('2020-01-01')")
        await PartitionUpkeep(
            connection: gateway, sums: gateway, schedule: .init(daysAhead: 9, keepDays: 32), clock: .right,
            logger: .silent
        ).runRound()
        #expect(
            try await owner.number("SELECT count(*) FROM pg_inherits WHERE inhparent = 'issuances'::regclass") == 10)
        for statement in [AdminStatements.writeNothing, RecordingProbe.lock, RecordingProbe.write] {
            _ = try await gateway.execute(statement)
        }
        #expect(try await gateway.execute(RecordingProbe.read).first?.database == SchemaState.carried)
    }

    @Test(.database(.migrated)) func aGrantWithoutALineInTheLogDoesNotCommit() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript(RevokeRaceTests.makeBucket)
        let insert = """
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by)
            VALUES ('00000000-0000-0000-0000-000000000002', '*', 'demo', '', false, '{GetObject}', 'allow', 'test');
            """
        let error = await #expect(throws: PostgresError.self) { try await connection.runScript(insert) }
        #expect(error?.sqlState == "23000")
        try await connection.runScript(insert + "SELECT append_policy_log('{*}', 'test', '')")
        let removal =
            "UPDATE grants SET removed_at = now(), removed_by = 'test', removed_change = current_policy_change();"
        await #expect(throws: PostgresError.self) { try await connection.runScript(removal) }
        try await connection.runScript(removal + "SELECT append_policy_log('{*}', 'test', '')")
        #expect(try await connection.number("SELECT removed_seq - created_seq FROM grant_history") == 1)
    }
}

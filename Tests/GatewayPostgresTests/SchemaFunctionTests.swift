import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Functions of the schema, which are applied by their checksums.
@Suite struct SchemaFunctionTests {
    /// All functions, with one of them changed.
    private static func functions(changing name: String, _ change: (String) -> String) throws -> [SchemaFunction] {
        var functions = SchemaFunction.all
        let index = try #require(functions.firstIndex { $0.name == name })
        let sql = change(String(decoding: functions[index].sql, as: UTF8.self))
        functions[index] = SchemaFunction(name: name, sql: Array(sql.utf8))
        return functions
    }

    private static func migrator(
        _ connection: PostgresConnection, _ functions: [SchemaFunction]
    ) -> Migrator {
        Migrator(connection: connection, migrations: Migration.all, functions: functions)
    }

    @Test(.database(.migrated)) func `a function is applied again when its checksum differs, and left alone when not`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let lines = "SELECT count(*) FROM policy_log WHERE actor = 'sluice migrate'"
        let applied = "SELECT max(extract(epoch FROM applied_at) * 1000000) FROM schema_functions"
        let before = (try await connection.number(lines), try await connection.number(applied))
        #expect(try await Migrator(connection: connection).migrate().functions == [])
        #expect(try await connection.number(lines) == before.0)
        #expect(try await connection.number(applied) == before.1)

        let migrator = Self.migrator(connection, try Self.functions(changing: "uuid_v7") { $0 + "\n" })
        #expect(try await migrator.migrate().functions == ["uuid_v7"])
        #expect(try await connection.number(lines) == before.0 + 1)
        try await Migrator(connection: connection).check()
        #expect(try await connection.number("SELECT count(*) FROM schema_functions") == Int64(SchemaFunction.all.count))
        try await migrator.check()
        #expect(try await migrator.migrate().functions == [])
        #expect(try await connection.number(lines) == before.0 + 1)
    }

    @Test(.database(.migrated)) func `a function that somebody dropped comes back, with its rights and its trigger`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript("DROP FUNCTION uuid_v7; DROP FUNCTION keep_membership CASCADE")
        let migrator = Migrator(connection: connection)
        #expect(try await migrator.migrate().functions == ["keep_membership", "uuid_v7"])
        let right = "SELECT has_function_privilege('sluice_gateway', p.oid, 'EXECUTE')::int FROM pg_proc p"
        #expect(try await connection.number("\(right) WHERE p.proname = 'uuid_v7'") == 1)
        let triggers = "SELECT count(*) FROM pg_trigger WHERE tgname = 'memberships_are_kept'"
        #expect(try await connection.number(triggers) == 1)
        #expect(try await migrator.migrate().functions == [])
    }

    @Test(.database(.migrated)) func `a function with another contract under the same name is refused`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let changed = try Self.functions(changing: "is_live_gateway") {
            $0.replacing("p_last_seen_at timestamptz)", with: "p_last_seen_at timestamptz, p_seconds integer)")
        }
        let failure = Migrator.Failure.contractsDiffer(names: ["is_live_gateway"])
        await #expect(throws: failure) { try await Self.migrator(connection, changed).migrate() }
        let spaced = try Self.functions(changing: "is_live_gateway") { $0.replacing(") RETURNS", with: ")\nRETURNS") }
        #expect(try await Self.migrator(connection, spaced).migrate().functions == ["is_live_gateway"])
        #expect(
            try await connection.texts(
                "SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'is_live_gateway'")
                == ["is_live_gateway(timestamp with time zone)"])
        #expect(
            try await connection.number(
                "SELECT has_function_privilege('sluice_gateway', 'is_live_gateway(timestamptz)', 'EXECUTE')::int") == 1)
    }

    @Test(.database(.migrated)) func `a function of a trigger is replaced under it`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let changed = try Self.functions(changing: "write_policy_log") {
            $0.replacing("v_line ->> 'actor'", with: "'by ' || (v_line ->> 'actor')")
        }
        #expect(try await Self.migrator(connection, changed).migrate().functions == ["write_policy_log"])
        try await connection.append(scopes: ["*"])
        let actors = try await connection.texts("SELECT actor FROM policy_log ORDER BY seq DESC LIMIT 1")
        #expect(actors == ["by test"])
    }

    @Test(.database(.migrated))
    func `a function without a file is dropped at the end of an update, unless something depends on it`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        func count(_ name: String) async throws -> Int64 {
            try await connection.number("SELECT count(*) FROM pg_proc WHERE proname = '\(name)'")
        }
        let fewer = SchemaFunction.all.filter { $0.name != "uuid_v7" }
        let migrator = Self.migrator(connection, fewer)
        #expect(try await migrator.finish().isEmpty)
        #expect(try await migrator.migrate().leftovers.functions == ["uuid_v7"])
        #expect(try await count("uuid_v7") == 1)
        #expect(try await migrator.finish().functions == ["uuid_v7"])
        #expect(try await count("uuid_v7") == 0)
        try await migrator.check()

        let without = Self.migrator(connection, fewer.filter { $0.name != "keep_membership" })
        _ = try await without.migrate()
        let error = await #expect(throws: PostgresError.self) { try await without.finish() }
        // dependent_objects_still_exist
        #expect(error?.sqlState == "2BP01")
        #expect(try await count("keep_membership") == 1)
        try await migrator.check()
    }

    @Test(.database(.migrated)) func `a function that cannot be applied leaves all as they were`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let broken = try Self.functions(changing: "uuid_v7") { $0 + "\nSELECT 1 / 0;" }
        await #expect(throws: PostgresError.self) { try await Self.migrator(connection, broken).migrate() }
        #expect(try await connection.number("SELECT count(*) FROM pg_proc WHERE proname = 'uuid_v7'") == 1)
        try await Migrator(connection: connection).check()
    }

    @Test(.database(.migrated)) func `a gateway starts on other bodies, and names functions that are missing`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await Self.migrator(connection, try Self.functions(changing: "uuid_v7") { $0 + "\n" }).check()
        try await connection.runScript("DELETE FROM schema_functions WHERE name = 'uuid_v7'")
        await #expect(throws: Migrator.Failure.functionsMissing(names: ["uuid_v7"])) {
            try await Migrator(connection: connection).check()
        }
    }

    /// As where a version mends bodies alone, and only its gateways were started.
    @Test(.database(.migrated)) func `an update of bodies that was forgotten is named, and cannot be finished`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let own = Migrator(connection: connection)
        #expect(try await own.functionsThatDiffer() == [])
        let next = Migrator(
            connection: connection, functions: try Self.functions(changing: "uuid_v7") { $0 + "\n" },
            program: "1.0.1")
        try await next.check()
        #expect(try await next.functionsThatDiffer() == ["uuid_v7"])
        await #expect(throws: Migrator.Failure.functionsDiffer(names: ["uuid_v7"])) { try await next.finish() }
        #expect(try await next.migrate().functions == ["uuid_v7"])
        #expect(try await next.functionsThatDiffer() == [])
        #expect(try await next.finish().isEmpty)
        // A gateway of before may serve with the bodies of a newer version.
        #expect(try await own.functionsThatDiffer() == [])
    }

    /// Limits that the program has too.
    @Test(arguments: [
        ("settle_reservations", "r.dead_at + make_interval(secs => r.amount / \(UploadOverrun.leastRate))"),
        (
            "can_give_back",
            "> statement_timestamp() - interval '\(Int(ReservationSweeper.utmostPatience / .seconds(86_400))) days'"
        ),
        ("sum_landings", "i.issued_at > v_first - \(LedgerLife.longest)"),
        ("offboarding_rows", "t.expires_at > statement_timestamp() - \(ClockDifference.longestInterval)"),
        ("claim_idempotency_key", "v_row.created_at >= clock_timestamp() - \(IdempotencyKeyTable.life)"),
        ("claim_idempotency_key", "v_row.created_at < clock_timestamp() - \(IdempotencyKeyTable.life)"),
        (
            "prove_issuances",
            "i.issued_at > statement_timestamp() - interval '\(IdempotencyKeyTable.hours + 2) hours'"
        ),
    ])
    func `a function has the program's limits`(_ name: String, _ limit: String) throws {
        let function = try #require(SchemaFunction.all.first { $0.name == name })
        #expect(String(decoding: function.sql, as: UTF8.self).contains(limit), "\(name) lacks: \(limit)")
    }

    @Test func `every function declares what callers rely on`() throws {
        for function in SchemaFunction.all {
            #expect(function.declaration.hasPrefix("\(function.name)("), "\(function.name)")
        }
        let function = try #require(SchemaFunction.all.first { $0.name == "is_live_gateway" })
        #expect(function.declaration == "is_live_gateway(p_last_seen_at timestamptz) RETURNS boolean")
    }
}

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
        Migrator(connection: connection, migrations: Migration.all, functions: functions, logger: .silent)
    }

    @Test(.database(.migrated)) func `a function is applied again when its checksum differs, and left alone when not`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let lines = "SELECT count(*) FROM policy_log WHERE actor = 'sluice migrate'"
        let applied = "SELECT max(extract(epoch FROM applied_at) * 1000000) FROM schema_functions"
        let before = (try await connection.number(lines), try await connection.number(applied))
        #expect(try await Migrator(connection: connection, logger: .silent).migrate().functions == [])
        #expect(try await connection.number(lines) == before.0)
        #expect(try await connection.number(applied) == before.1)

        let migrator = Self.migrator(connection, try Self.functions(changing: "uuid_v7") { $0 + "\n" })
        #expect(try await migrator.migrate().functions == ["uuid_v7"])
        #expect(try await connection.number(lines) == before.0 + 1)
        #expect(try await connection.number("SELECT count(*) FROM schema_functions") == Int64(SchemaFunction.all.count))
        try await migrator.check()
        #expect(try await migrator.migrate().functions == [])
        #expect(try await connection.number(lines) == before.0 + 1)
    }

    @Test(.database(.migrated)) func `a function may change its arguments and its result, and keeps its rights`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let changed = try Self.functions(changing: "is_live_gateway") { _ in
            """
            -- Changed.
            CREATE OR REPLACE FUNCTION is_live_gateway(p_seconds integer) RETURNS text
            LANGUAGE sql STABLE
            AS $$
                SELECT p_seconds::text
            $$;
            """
        }
        #expect(try await Self.migrator(connection, changed).migrate().functions == ["is_live_gateway"])
        #expect(
            try await connection.texts(
                "SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'is_live_gateway'")
                == ["is_live_gateway(integer)"])
        #expect(
            try await connection.number(
                "SELECT has_function_privilege('sluice_gateway', 'is_live_gateway(integer)', 'EXECUTE')::int") == 1)
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

    @Test(.database(.migrated)) func `a function without a file is dropped, unless something depends on it`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        func count(_ name: String) async throws -> Int64 {
            try await connection.number("SELECT count(*) FROM pg_proc WHERE proname = '\(name)'")
        }
        let fewer = SchemaFunction.all.filter { $0.name != "uuid_v7" }
        #expect(try await Self.migrator(connection, fewer).migrate().functions == ["uuid_v7"])
        #expect(try await count("uuid_v7") == 0)
        try await Self.migrator(connection, fewer).check()

        let without = Self.migrator(connection, fewer.filter { $0.name != "keep_membership" })
        let error = await #expect(throws: PostgresError.self) { try await without.migrate() }
        // dependent_objects_still_exist
        #expect(error?.sqlState == "2BP01")
        #expect(try await count("keep_membership") == 1)
        try await Self.migrator(connection, fewer).check()
    }

    @Test(.database(.migrated)) func `a function that cannot be applied leaves all as they were`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let broken = try Self.functions(changing: "uuid_v7") { _ in "SELECT 1 / 0;" }
        await #expect(throws: PostgresError.self) { try await Self.migrator(connection, broken).migrate() }
        #expect(try await connection.number("SELECT count(*) FROM pg_proc WHERE proname = 'uuid_v7'") == 1)
        try await Migrator(connection: connection, logger: .silent).check()
    }

    @Test(.database(.migrated)) func `a gateway refuses to start on other functions, and names them`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let older = Self.migrator(connection, try Self.functions(changing: "uuid_v7") { $0 + "\n" })
        let failure = Migrator.Failure.functionsDiffer(names: ["uuid_v7"])
        await #expect(throws: failure) { try await older.check() }
        try await connection.runScript("DELETE FROM schema_functions WHERE name = 'uuid_v7'")
        await #expect(throws: failure) { try await Migrator(connection: connection, logger: .silent).check() }
    }
}

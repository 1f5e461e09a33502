import Foundation
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Migrations against a real server.
@Suite struct MigratorTests {
    @Test(.database) func appliesEverythingOnce() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let migrator = Migrator(connection: connection)
        let first = try await migrator.migrate(daysAhead: 3)
        #expect(first.applied == Migration.all.map { Int($0.version) })
        #expect(first.functions == SchemaFunction.all.map(\.name))
        #expect(first.partitions == 4)
        #expect(first.gatewayRoleIsReady)
        let second = try await migrator.migrate(daysAhead: 3)
        #expect(
            second
                == Migrator.Outcome(
                    applied: [], functions: [], leftovers: .init(migrations: [], functions: []),
                    gatewayRoleIsReady: true, partitions: 0))
        try await migrator.check()
    }

    @Test(.database) func runsAtOnceApplyEachMigrationOnce() async throws {
        let database = try TestDatabase.current
        let outcomes = try await withThrowingTaskGroup(of: Migrator.Outcome.self) { group in
            for _ in 0..<4 {
                let connection = try PostgresConnection(testing: database.connectionString)
                group.addTask { try await Migrator(connection: connection).migrate() }
            }
            return try await group.reduce(into: [Migrator.Outcome]()) { $0.append($1) }
        }
        #expect(outcomes.flatMap(\.applied).sorted() == Migration.all.map { Int($0.version) })
        #expect(outcomes.flatMap(\.functions) == SchemaFunction.all.map(\.name))
    }

    @Test(.database) func refusesASchemaNewerThanItself() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let known = Migration.all.map(\.version).max() ?? 0
        let next = Migration(
            version: known + 1, name: "add_later", sql: Array("-- Kind: expand\nCREATE TABLE later ()".utf8))
        _ = try await Migrator(connection: connection, migrations: Migration.all + [next]).migrate()
        let older = Migrator(connection: connection)
        let failure = Migrator.Failure.schemaIsNewer(version: Int(known) + 1, known: Int(known))
        await #expect(throws: failure) { try await older.finish() }
        // Gateways of before can go on, so a start that begins with 'sluice migrate' must not fail.
        try await older.check()
        let outcome = try await older.migrate()
        #expect(
            outcome.newer == "a program with schema version \(known + 1)" && outcome.applied.isEmpty
                && outcome.functions.isEmpty)
        let last = Migration(
            version: known + 2, name: "end_before",
            sql: Array("-- Kind: contract, serves from \(known + 1)\nSELECT 1".utf8))
        let newer = Migrator(connection: connection, migrations: Migration.all + [next, last])
        #expect(try await newer.finish().migrations == [Int(known) + 2])
        await #expect(throws: Migrator.Failure.schemaIsNewer(version: Int(known) + 2, known: Int(known))) {
            try await older.migrate()
        }
    }

    /// A connection to the test's database, as a role that is made for it.
    private func connect(as role: String, _ attributes: String) async throws -> (PostgresConnection, role: String) {
        let database = try TestDatabase.current
        let superuser = try PostgresConnection(testing: database.connectionString)
        let name = try await superuser.texts("SELECT current_database() || '_\(role)'")[0]
        try await superuser.runScript("CREATE ROLE \(name) \(attributes)")
        return (
            PostgresConnection(try database.configuration(sessionSettings: [("role", name)]), logger: .silent), name
        )
    }

    @Test(.database) func refusesALoginThatDoesNotOwnTheSchema() async throws {
        let superuser = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let (connection, owner) = try await connect(as: "owner", "CREATEROLE")
        let name = try await superuser.texts("SELECT current_database()")[0]
        try await superuser.runScript("ALTER DATABASE \(name) OWNER TO \(owner)")
        let login = try await superuser.texts("SELECT current_user")[0]
        await #expect(throws: Migrator.Failure.foreignDatabase(login: login, owner: owner)) {
            try await Migrator(connection: superuser).migrate()
        }
        _ = try await Migrator(connection: connection).migrate()
        let early = Migrator.Failure.foreignLogin(login: login, owner: owner)
        await #expect(throws: early) { try await Migrator(connection: superuser).migrate() }
        await #expect(throws: early) { try await Migrator(connection: superuser).finish() }
        let option = "options=-crole%3D\(owner)"
        #expect("\(early)".contains(option))
        let query = try TestDatabase.current.connectionString.replacing(" ", with: "&")
        let asOwner = try PostgresConnection(testing: "postgresql:///?\(query)&\(option)")
        _ = try await Migrator(connection: asOwner).migrate()
        let (other, role) = try await connect(as: "other", "SUPERUSER")
        await #expect(throws: Migrator.Failure.foreignLogin(login: role, owner: owner)) {
            try await Migrator(connection: other).migrate()
        }
    }

    /// Administrators put extensions into the schema `public`, and they belong to a superuser.
    @Test(.database, arguments: ["pg_stat_statements", "pg_buffercache", "pgstattuple"])
    func leavesTheRightsOfExtensionsAlone(name: String) async throws {
        let superuser = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let (connection, owner) = try await connect(as: "owner", "CREATEROLE")
        let database = try await superuser.texts("SELECT current_database()")[0]
        try await superuser.runScript("ALTER DATABASE \(database) OWNER TO \(owner); CREATE EXTENSION \(name)")
        let rights = """
            SELECT p.proname || coalesce(p.proacl::text, '') FROM pg_proc p
            JOIN pg_depend d ON d.objid = p.oid AND d.deptype = 'e'
            JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = '\(name)' ORDER BY 1
            """
        let before = try await superuser.texts(rights)
        let migrator = Migrator(connection: connection)
        _ = try await migrator.migrate()
        #expect(try await migrator.migrate().gatewayRoleIsReady)
        #expect(try await superuser.texts(rights) == before && !before.isEmpty)
        #expect(
            try await superuser.texts(
                """
                SELECT p.proname FROM pg_proc p
                WHERE p.proowner = '\(owner)'::regrole AND has_function_privilege('public', p.oid, 'EXECUTE')
                """) == [])
    }

    @Test(.database) func refusesAMigrationThatWasEdited() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await Migrator(connection: connection).migrate()
        var edited = Migration.all
        edited[0] = Migration(version: 1, name: edited[0].name, sql: edited[0].sql + [0x0a])
        let migrator = Migrator(connection: connection, migrations: edited)
        await #expect(throws: Migrator.Failure.checksumDiffers(version: 1)) { try await migrator.migrate() }
    }

    @Test(.database) func leavesNothingOfAMigrationThatFails() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await Migrator(connection: connection).migrate()
        let broken = Migration(
            version: (Migration.all.last?.version ?? 0) + 1, name: "break",
            sql: Array("-- Kind: expand\nCREATE TABLE half (a integer); SELECT 1 / 0;".utf8))
        let migrator = Migrator(connection: connection, migrations: Migration.all + [broken])
        await #expect(throws: PostgresError.self) { try await migrator.migrate() }
        let tables = try await connection.execute(
            Statement<Void, String?>("SELECT to_regclass('half')::text") { row throws(PostgresError) in
                try row.decode(0)
            })
        #expect(tables == [nil])
        try await Migrator(connection: connection).check()
    }

    @Test(.database) func saysThatAnEmptyDatabaseNeedsMigrating() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let migrator = Migrator(connection: connection)
        let failure = Migrator.Failure.schemaIsOlder(version: 0, needed: Int(SchemaState.carried.neededVersion))
        await #expect(throws: failure) { try await migrator.check() }
    }

    @Test func carriesEveryFileOfTheDirectory() throws {
        let (directory, files) = try Self.files(in: "migrations")
        let carried = Migration.all.map { migration in
            "\(String(repeating: "0", count: 4 - "\(migration.version)".count))\(migration.version)_\(migration.name).sql"
        }
        #expect(carried == files)
        for (migration, file) in zip(Migration.all, files) {
            #expect(try [UInt8](Data(contentsOf: directory.appending(path: file))) == migration.sql)
        }
    }

    @Test func `carries every function, each of which has a file of its name`() throws {
        let (directory, files) = try Self.files(in: "functions")
        #expect(SchemaFunction.all.map { $0.name + ".sql" } == files)
        for (function, file) in zip(SchemaFunction.all, files) {
            #expect(try [UInt8](Data(contentsOf: directory.appending(path: file))) == function.sql)
            let text = String(decoding: function.sql, as: UTF8.self)
            #expect(text.hasPrefix("-- "), "\(file) has no contract in its head")
            #expect(text.ranges(of: "CREATE OR REPLACE FUNCTION").count == 1)
            #expect(text.contains("CREATE OR REPLACE FUNCTION \(function.name)("))
            // Otherwise other functions or tables would depend on it, and it could not be replaced.
            #expect(!text.contains("BEGIN ATOMIC") && !text.contains("\nRETURN "), "\(file) has a body that is no text")
        }
    }

    /// The files of a directory of `sql`, in order.
    private static func files(in name: String) throws -> (directory: URL, names: [String]) {
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../sql/\(name)").standardizedFileURL
        return (directory, try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted())
    }
}

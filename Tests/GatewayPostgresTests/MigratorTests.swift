import Foundation
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Migrations against a real server.
@Suite struct MigratorTests {
    @Test(.database) func appliesEverythingOnce() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let migrator = Migrator(connection: connection, logger: .silent)
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
                group.addTask { try await Migrator(connection: connection, logger: .silent).migrate() }
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
        _ = try await Migrator(connection: connection, migrations: Migration.all + [next], logger: .silent).migrate()
        let older = Migrator(connection: connection, logger: .silent)
        let failure = Migrator.Failure.schemaIsNewer(version: Int(known) + 1, known: Int(known))
        await #expect(throws: failure) { try await older.migrate() }
        await #expect(throws: failure) { try await older.finish() }
        try await older.check()
    }

    @Test(.database) func refusesAMigrationThatWasEdited() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await Migrator(connection: connection, logger: .silent).migrate()
        var edited = Migration.all
        edited[0] = Migration(version: 1, name: edited[0].name, sql: edited[0].sql + [0x0a])
        let migrator = Migrator(connection: connection, migrations: edited, logger: .silent)
        await #expect(throws: Migrator.Failure.checksumDiffers(version: 1)) { try await migrator.migrate() }
    }

    @Test(.database) func leavesNothingOfAMigrationThatFails() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await Migrator(connection: connection, logger: .silent).migrate()
        let broken = Migration(
            version: (Migration.all.last?.version ?? 0) + 1, name: "break",
            sql: Array("-- Kind: expand\nCREATE TABLE half (a integer); SELECT 1 / 0;".utf8))
        let migrator = Migrator(connection: connection, migrations: Migration.all + [broken], logger: .silent)
        await #expect(throws: PostgresError.self) { try await migrator.migrate() }
        let tables = try await connection.execute(
            Statement<Void, String?>("SELECT to_regclass('half')::text") { row throws(PostgresError) in
                try row.decode(0)
            })
        #expect(tables == [nil])
        try await Migrator(connection: connection, logger: .silent).check()
    }

    @Test(.database) func saysThatAnEmptyDatabaseNeedsMigrating() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let migrator = Migrator(connection: connection, logger: .silent)
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

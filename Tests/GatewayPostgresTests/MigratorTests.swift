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
        #expect(first.partitions == 4)
        #expect(first.gatewayRoleIsReady)
        let second = try await migrator.migrate(daysAhead: 3)
        #expect(second == Migrator.Outcome(applied: [], gatewayRoleIsReady: true, partitions: 0))
        try await migrator.check()
    }

    @Test(.database) func runsAtOnceApplyEachMigrationOnce() async throws {
        let database = try TestDatabase.current
        let applied = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<4 {
                let connection = try PostgresConnection(testing: database.connectionString)
                group.addTask { try await Migrator(connection: connection, logger: .silent).migrate().applied }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(applied.sorted() == Migration.all.map { Int($0.version) })
    }

    @Test(.database) func refusesASchemaNewerThanItself() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await Migrator(connection: connection, logger: .silent).migrate()
        let versions = Migration.all.map { Int($0.version) }
        let older = Migrator(
            connection: connection, migrations: Array(Migration.all.dropLast()), logger: .silent)
        let failure = Migrator.Failure.schemaIsNewer(
            version: versions[versions.count - 1], known: versions[versions.count - 2])
        await #expect(throws: failure) { try await older.migrate() }
        await #expect(throws: failure) { try await older.check() }
    }

    @Test(.database) func refusesAMigrationThatWasEdited() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        _ = try await Migrator(connection: connection, logger: .silent).migrate()
        var edited = Migration.all
        edited[1] = Migration(version: 2, name: edited[1].name, sql: edited[1].sql + [0x0a])
        let migrator = Migrator(connection: connection, migrations: edited, logger: .silent)
        await #expect(throws: Migrator.Failure.checksumDiffers(version: 2)) { try await migrator.migrate() }
    }

    @Test(.database) func leavesNothingOfAMigrationThatFails() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let broken = Migration(
            version: (Migration.all.last?.version ?? 0) + 1, name: "break",
            sql: Array("CREATE TABLE half (a integer); SELECT 1 / 0;".utf8))
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
        let failure = Migrator.Failure.schemaIsOlder(version: 0, needed: Migration.all.count)
        await #expect(throws: failure) { try await migrator.check() }
    }

    @Test func carriesEveryFileOfTheDirectory() throws {
        let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../sql/migrations").standardizedFileURL
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        let carried = Migration.all.map { migration in
            "\(String(repeating: "0", count: 4 - "\(migration.version)".count))\(migration.version)_\(migration.name).sql"
        }
        #expect(carried == files)
        for (migration, file) in zip(Migration.all, files) {
            #expect(try [UInt8](Data(contentsOf: directory.appending(path: file))) == migration.sql)
        }
    }
}

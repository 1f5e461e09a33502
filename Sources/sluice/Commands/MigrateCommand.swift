import ArgumentParser
import GatewayPostgres
import LibPQ
import LineLogging
import Logging

/// `sluice migrate`: brings the database's schema up to date.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the database's schema up to this program's.",
        discussion: """
            Connects with SLUICE_DATABASE_URL as the owner of the schema. Each migration
            is one transaction; afterwards one more replaces the functions that differ
            from this program's. Concurrent runs wait for each other; a database with
            migrations that this program does not know, or in another form, is refused,
            and so is one that does not keep what the promises need.
            The group role sluice_gateway gets the privileges of the gateway: make the
            gateway's login a member of it. The next partitions of the ledger are created.
            """
    )

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        var reader = try await options.reader()
        let logger = LogSetup(reading: &reader).install()
        do {
            try await migrate(&reader, logger)
        } catch {
            throw ExitCode(logging: error, to: logger, "The migration failed", as: .owner)
        }
    }

    private func migrate(_ reader: inout SettingReader, _ logger: Logger) async throws {
        let configuration = try PostgresConfiguration(maintaining: &reader)
        let connection = PostgresConnection(configuration, logger: logger)
        let other = PostgresConnection(configuration, logger: logger)
        try await DatabaseTrial(connection, other).check(number: .random(in: 0...Int32.max))
        await other.close()
        let outcome = try await Migrator(connection: connection, logger: logger).migrate()
        await connection.close()
        let applied = outcome.applied.map(String.init).joined(separator: ", ")
        let functions =
            outcome.functions.count > 8 ? "\(outcome.functions.count)" : outcome.functions.joined(separator: ", ")
        if applied.isEmpty, functions.isEmpty { print("The schema is current.") }
        if !applied.isEmpty { print("Applied migrations \(applied).") }
        if !functions.isEmpty { print("Applied functions: \(functions).") }
        if !outcome.gatewayRoleIsReady {
            print(
                """
                The role sluice_gateway does not exist, and this login may not create roles. Ask a superuser to run \
                'CREATE ROLE sluice_gateway NOLOGIN', and then run 'sluice migrate' again.
                """)
        }
    }
}

import ArgumentParser
import GatewayPostgres
import LibPQ
import LineLogging
import LocalFiles
import Logging

/// `sluice migrate`: brings the database's schema up to date.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the database's schema up to this program's.",
        discussion: """
            Connects with SLUICE_DATABASE_URL as the owner of the schema. Gateways of the
            version before may serve meanwhile and go on afterwards: what they need stays.
            Replace them, and then run 'sluice migrate --finish', which removes it. That
            is refused while a gateway that needs it has been seen within a minute.

            Each migration is one transaction; one more replaces the functions whose
            bodies differ. A lock that is not free within half a second is asked for
            again later, so that recordings wait no longer. Concurrent runs wait for each
            other. What a newer program has migrated, an older one leaves as it is; it
            succeeds if gateways of its version can still serve. A database with
            migrations in another form is refused, and so is one that does not keep what
            the promises need, and a login other than the owner of the schema.

            The group role sluice_gateway gets the privileges of the gateway: make the
            gateway's login a member of it. The next partitions of the ledger are created.
            """
    )

    @Flag(help: "End an update: remove what only gateways of the version before need.")
    var finish = false

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        var reader = try await options.reader()
        let logger = LogSetup(reading: &reader).install()
        do {
            let configuration = try PostgresConfiguration(maintaining: &reader)
            let connection = PostgresConnection(configuration, logger: logger)
            let other = PostgresConnection(configuration, logger: logger)
            try await DatabaseTrial(connection, other).check(number: .random(in: 0...Int32.max))
            await other.close()
            let migrator = Migrator(connection: connection, program: ProgramVersion.current, logger: logger)
            if finish {
                try tell(finished: await migrator.finish())
            } else {
                let outcome = try await migrator.migrate()
                try tell(outcome)
                if !outcome.gatewayRoleIsReady { throw ExitCode.failure }
            }
            await connection.close()
        } catch {
            throw ExitCode(logging: error, to: logger, "The migration failed", as: .owner)
        }
    }

    private func tell(finished: Migrator.Leftovers) throws {
        if finished.isEmpty { try writeLine("Nothing was left to finish.") }
        if !finished.migrations.isEmpty { try writeLine("Applied migrations \(Self.list(finished.migrations)).") }
        if !finished.functions.isEmpty {
            try writeLine("Dropped functions: \(finished.functions.joined(separator: ", ")).")
        }
    }

    private func tell(_ outcome: Migrator.Outcome) throws {
        let functions =
            outcome.functions.count > 8 ? "\(outcome.functions.count)" : outcome.functions.joined(separator: ", ")
        if let newer = outcome.newer {
            try writeLine(
                """
                The database was migrated by \(newer). Gateways of this program can serve from it, so its tables and \
                functions stay as they are.
                """)
        }
        if outcome.applied.isEmpty, functions.isEmpty, outcome.newer == nil { try writeLine("The schema is current.") }
        if !outcome.applied.isEmpty { try writeLine("Applied migrations \(Self.list(outcome.applied)).") }
        if !functions.isEmpty { try writeLine("Applied functions: \(functions).") }
        if !outcome.leftovers.isEmpty {
            try writeLine(
                """
                Gateways of the version before can go on. Once they are replaced, run 'sluice migrate --finish': \
                \(outcome.leftovers) wait for it.
                """)
        }
        if !outcome.gatewayRoleIsReady {
            writeToStandardError(
                """
                error: The role sluice_gateway does not exist, and this login may not create roles. Ask a superuser to run \
                'CREATE ROLE sluice_gateway NOLOGIN', and then run 'sluice migrate' again.

                """)
        }
    }

    private static func list(_ versions: [Int]) -> String { versions.map(String.init).joined(separator: ", ") }
}

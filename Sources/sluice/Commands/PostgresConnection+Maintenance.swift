import GatewayPostgres
import LibPQ
import Logging

extension PostgresConnection {
    /// Connects to a database from which a gateway of this program could serve.
    ///
    /// - Throws: `Migrator.Failure` if the schema is not that of this program, `PostgresError` if PostgreSQL cannot be
    ///   reached.
    static func toMigrated(_ configuration: PostgresConfiguration, logger: Logger) async throws -> PostgresConnection {
        let connection = PostgresConnection(configuration, logger: logger)
        try await Migrator(connection: connection, program: ProgramVersion.current, logger: logger).check()
        return connection
    }
}

extension PostgresConfiguration {
    /// Creates a configuration for a command that may run for up to an hour, whatever the timeouts of the server, the
    /// database or the login are.
    ///
    /// - Throws: ``SettingMistakes`` if the settings are wrong.
    init(maintaining reader: inout SettingReader) throws {
        let database = Settings.Database(reading: &reader)
        guard reader.mistakes.isEmpty, let database else { throw SettingMistakes(mistakes: reader.mistakes) }
        self = try database.configuration(
            "sluice-maintenance",
            sessionSettings: [
                ("synchronous_commit", "on"), ("idle_in_transaction_session_timeout", "1s"),
                ("statement_timeout", "0"), ("lock_timeout", "0"), PostgresConfiguration.endingWithClient,
            ],
            responseTimeout: .seconds(3600))
    }
}

import GatewayCore
import LibPQ
import Logging

extension PostgresConnection {
    /// Creates a connection for a command that may run for up to an hour.
    ///
    /// - Throws: ``SettingMistakes`` if the settings are wrong.
    init(maintaining reader: inout SettingReader, logger: Logger) throws {
        self.init(try PostgresConfiguration(maintaining: &reader), logger: logger)
    }
}

extension PostgresConfiguration {
    /// Creates a configuration for a command that may run for up to an hour.
    ///
    /// - Throws: ``SettingMistakes`` if the settings are wrong.
    init(maintaining reader: inout SettingReader) throws {
        let database = Settings.Database(reading: &reader)
        guard reader.mistakes.isEmpty, let database else { throw SettingMistakes(mistakes: reader.mistakes) }
        self = try database.configuration(
            "sluice-maintenance",
            sessionSettings: [("synchronous_commit", "on"), ("idle_in_transaction_session_timeout", "1s")],
            responseTimeout: .seconds(3600))
    }
}

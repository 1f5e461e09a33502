import GatewayPostgres
import LibPQ
import Logging
import PostgresTesting

extension DatabaseTemplate {
    /// A database with the whole schema.
    static let migrated = DatabaseTemplate("gateway_template") { connectionString in
        let connection = try PostgresConnection(testing: connectionString)
        _ = try await Migrator(connection: connection).migrate()
        await connection.close()
    }
}

extension Logger {
    /// A logger that writes nothing.
    static let silent = Logger(label: "tests", factory: { _ in SwiftLogNoOpLogHandler() })
}

extension PostgresConnection {
    /// A connection for a test.
    init(testing connectionString: String, settings: [(name: String, value: String)] = []) throws {
        self.init(
            try PostgresConfiguration(
                connectionString: connectionString, applicationName: "tests", sessionSettings: settings),
            logger: .silent)
    }
}

import GatewayAPI
import GatewayCore
import GatewayPostgres
import Logging
import MicroHTTPD
import PrometheusMetrics
import ServiceLifecycle

/// A running gateway, built from its settings. All its parts are built in this folder only, in this order:
/// ``DatabaseConnections``, ``SharedParts``, ``UseCases``, the API, its listeners, the services.
struct Gateway {
    /// The services, in starting order. A group stops them in reverse, so the listeners stop first.
    let services: [any Service]
    /// The listener of the API.
    let server: HTTPServer
    /// The stores of rows, for a command that creates rows of its own.
    let stores: AdminStores
    /// The secrets of stores that report events, for the same command.
    let eventSecrets: EventSecrets

    /// Checks the schema, builds the parts and binds the listeners.
    ///
    /// - Throws: `DatabaseTrial.Failure` if the database does not keep what the promises need, `Migrator.Failure` if
    ///   it is not migrated, ``SettingMistakes`` if secrets in it are sealed with another master key, `PostgresError`
    ///   if it cannot be reached, `HTTPServerError` if an address is taken.
    init(
        _ settings: Settings, metrics: PrometheusFactory, logger: Logger, requestLog: any RequestLog
    ) async throws {
        let connections = try DatabaseConnections(
            settings, metrics: DatabaseMetrics(factory: metrics), logger: logger)
        try await connections.check(masterKeys: settings.masterKeys, logger: logger)
        let parts = try SharedParts(settings, connections: connections, logger: logger)
        let useCases = UseCases(settings, parts)
        let api = APIParts(parts, useCases, metrics: metrics, requestLog: requestLog)
        let servers = try Self.servers(settings, api, loops: parts.loops, logger: logger)
        server = servers[0]
        stores = useCases.stores
        eventSecrets = useCases.eventSecrets
        services = try Self.backgroundServices(settings, parts, useCases) + servers
    }
}

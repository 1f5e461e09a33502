import FoundationEssentials
import GatewayAPI
import GatewayCore
import GatewayPostgres
import HTTPServing
import Logging
import MicroHTTPD
import PrometheusMetrics
import ServiceLifecycle

/// A running gateway, built from its settings. Its parts are built in this folder, in this order:
/// ``DatabaseConnections``, ``SharedParts``, `APIParts` with the use cases, the listeners, the services. The API itself
/// builds the use cases that need only its parts and settings.
struct Gateway {
    /// The services, in starting order. A group stops them in reverse: ``DrainDelay`` hears of it first, then the
    /// listeners.
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
    ///   it is not migrated, ``SettingMistakes`` if secrets in it are sealed with another master key or a running
    ///   gateway has another one with the same identifier, `PostgresError` if it cannot be reached, `HTTPServerError`
    ///   if an address is taken, certificate and key are not usable, or too few files may be open, `EventLoopError` if
    ///   too many are.
    ///
    /// - Parameters:
    ///   - supervision: Ties to whoever supervises the process; `nil` for a gateway that is part of a command.
    ///   - front: Puts a responder before the API, for a command that serves more.
    init(
        _ settings: Settings, logger: Logger, requestLog: any RequestLog, supervision: Supervision? = nil,
        behind front: (APIResponder) -> any HTTPResponder = { $0 }
    ) async throws {
        let connections = try DatabaseConnections(settings.database, logger: logger)
        // Before PostgreSQL is asked, which would seem not to answer.
        try HTTPServer.checkDescriptors(
            reserving: Self.reservedDescriptors(settings.http, connections: connections.count))
        let parts = try SharedParts(settings, connections: connections, logger: logger)
        try await connections.check(masterKeys: parts.masterKeys, announcedBy: parts.heartbeat, logger: logger)
        let metrics = MetricsPage()
        let draining = Draining()
        let api = APIParts(settings, parts, draining, metrics: metrics, requestLog: requestLog)
        let bodyMemory = BodyMemory(limit: settings.http.maxBodyMemory << 20)
        let servers: [HTTPServer]
        do {
            servers = try Self.servers(
                settings, api, bodyMemory, connections: connections.count, loops: parts.loops, logger: logger,
                behind: front)
        } catch {
            // It was announced, and does not run.
            await parts.heartbeat.end()
            throw error
        }
        if let chain = servers[0].certificate, let flaw = CertificateDates.flaw(ofPEM: chain, at: .now) {
            CertificateDates.warn(of: flaw, logger: logger)
        }
        metrics.addListeners(servers, bodyMemory)
        metrics.add(parts)
        metrics.addProcess()
        server = servers[0]
        stores = api.stores
        eventSecrets = api.eventSecrets
        services = Self.ordered(
            Self.backgroundServices(settings, parts, api.multipartUploads),
            DrainDelay(
                draining, of: servers, delay: .seconds(settings.http.drainDelay),
                deadline: .seconds(settings.http.drainDeadline), notifier: supervision?.notifier, logger: logger),
            supervision: supervision, parts)
    }
}

import EventLoops
import GatewayAPI
import GatewayCloud
import HTTPServing
import Logging
import MicroHTTPD

extension Gateway {
    /// Descriptors that no client gets. `connections` is the maximum number of connections to PostgreSQL.
    static func reservedDescriptors(_ http: Settings.HTTP, connections: Int) -> Int {
        let usual = HTTPServerConfiguration()
        // A connection to PostgreSQL uses three: its socket, one that wakes its waiter, and one to cancel with. A
        // thread more than usual has up to four, for each of two listeners.
        return usual.reservedDescriptors + 3 * connections + OutboundClient.maxDescriptors
            + 8 * max(0, http.threads - usual.threads)
    }

    /// Creates the listeners, that of the API first. The given loops serve it. `connections` is the maximum number of
    /// connections to PostgreSQL.
    static func servers(
        _ settings: Settings, _ parts: APIParts, _ bodyMemory: BodyMemory, connections: Int, loops: [EventLoop],
        logger: Logger, behind front: (APIResponder) -> any HTTPResponder
    ) throws -> [HTTPServer] {
        let api = APISettings(
            allowedOrigins: settings.allowedOrigins, trustedProxies: settings.trustedProxies,
            requestsPerSecond: settings.requestsPerSecond > 0 ? settings.requestsPerSecond : nil,
            ticketMaxAge: settings.ticketsMaxAge, publicURL: settings.publicURL, version: ProgramVersion.current)
        let drain = DrainPeriod(.seconds(settings.http.drainDeadline))
        func server(
            _ address: ListenAddress, _ socket: Int32?, _ listener: APIListener, _ name: String,
            loops: [EventLoop] = []
        ) throws -> HTTPServer {
            var logger = logger
            logger[metadataKey: "listener"] = "\(name)"
            var configuration = settings.http.configuration(for: address, tls: settings.tls)
            configuration.bodyMemory = bodyMemory
            configuration.drain = drain
            configuration.reservedDescriptors = reservedDescriptors(settings.http, connections: connections)
            return try HTTPServer(
                configuration: configuration, socket: socket,
                responder: front(APIResponder(parts, api, on: listener)), logger: logger, loops: loops)
        }
        let passed = settings.passedListeners
        guard settings.adminListen != nil || passed.admin != nil else {
            return [try server(settings.listen, passed.api, .everything, "api", loops: loops)]
        }
        return [
            try server(settings.listen, passed.api, .app, "api", loops: loops),
            try server(settings.adminListen ?? settings.listen, passed.admin, .inner, "admin"),
        ]
    }
}

extension Settings.HTTP {
    /// Returns the configuration of a listener.
    func configuration(for address: ListenAddress, tls: HTTPServerConfiguration.TLS?) -> HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration(address: address.host, port: address.port, tls: tls)
        configuration.threads = threads
        configuration.maxConnections = maxConnections
        configuration.maxConnectionsPerAddress = maxConnectionsPerAddress
        configuration.maxRequestsInFlight = maxRequestsInFlight
        configuration.maxHeadBytes = maxHead << 10
        configuration.idleTimeout = .seconds(idleTimeout)
        configuration.requestTimeout = .seconds(requestTimeout)
        configuration.answerDeadline = .seconds(answerDeadline)
        return configuration
    }
}

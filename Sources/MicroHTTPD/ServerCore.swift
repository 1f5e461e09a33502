import Figures
import Glibc
import HTTPServing
import Logging
import Synchronization

/// The state that all threads of a server share.
final class ServerCore: Sendable {
    let configuration: HTTPServerConfiguration
    let responder: any HTTPResponder
    let logger: Logger
    /// Whether the clients use TLS, so that nothing can be written directly to their sockets.
    let isSecure: Bool
    /// Requests between their first line and their completion.
    let openExchanges = Atomic<Int>(0)
    /// Tasks that make answers, including those whose client has disconnected.
    let runningTasks = Atomic<Int>(0)
    /// Each answer is the last of its connection. New connections are still accepted.
    let isLeaving = Atomic<Bool>(false)
    /// The server waits for running answers and accepts no connections.
    let isDraining = Atomic<Bool>(false)
    /// Nothing may be suspended any more.
    let isStopping = Atomic<Bool>(false)

    /// The certificate chain that new clients see, in PEM.
    let certificate = Mutex<String?>(nil)

    /// Clients that were refused because there were too many.
    let refusedClients = Counter()

    private struct Clients {
        var admitted = 0
        var perAddress: [SocketAddress.Key: Int] = [:]
        var connections: [ObjectIdentifier: ClientConnection] = [:]
    }
    private let clients = Mutex(Clients())
    /// How many files the process may have open.
    let descriptorLimit = DescriptorLimit.raise()

    init(configuration: HTTPServerConfiguration, responder: any HTTPResponder, logger: Logger) {
        self.configuration = configuration
        self.responder = responder
        self.logger = logger
        isSecure = configuration.tls != nil
    }

    /// Counts a new client, unless there are too many.
    ///
    /// - Parameters:
    ///   - key: Its address.
    ///   - socket: Its descriptor: the lowest free number, and so a measure of how many are taken.
    func admit(_ key: SocketAddress.Key, socket: Int32) -> Bool {
        clients.withLock { clients in
            guard Int(socket) < descriptorLimit - configuration.reservedDescriptors,
                clients.admitted < configuration.maxConnections,
                clients.perAddress[key, default: 0] < configuration.maxConnectionsPerAddress
            else { return false }
            clients.admitted += 1
            clients.perAddress[key, default: 0] += 1
            return true
        }
    }

    /// Stops counting a client.
    func dismiss(_ key: SocketAddress.Key) {
        clients.withLock { clients in
            clients.admitted -= 1
            let left = clients.perAddress[key, default: 1] - 1
            clients.perAddress[key] = left > 0 ? left : nil
        }
    }

    func register(_ connection: ClientConnection) {
        clients.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
    }

    func unregister(_ connection: ClientConnection) {
        clients.withLock { $0.connections[ObjectIdentifier(connection)] = nil }
        dismiss(connection.address.key)
    }

    /// Number of clients.
    var clientCount: Int { clients.withLock { $0.admitted } }

    /// Maximum number of clients: that of the configuration, or fewer if the process may open fewer files.
    var clientLimit: Int {
        max(0, min(configuration.maxConnections, descriptorLimit - configuration.reservedDescriptors))
    }

    /// The current connections.
    var connections: [ClientConnection] {
        clients.withLock { Array($0.connections.values) }
    }

    /// Whether clients were let in whose first requests are probably on their way.
    var hasNewcomers: Bool {
        clients.withLock { $0.admitted > $0.connections.count } || connections.contains(where: \.isNewcomer)
    }

    /// Checks every connection for timeouts.
    func sweep() {
        let now = Moment.now
        for connection in connections { connection.sweep(now: now) }
    }

    /// The bytes of a refusal that libmicrohttpd cannot send.
    func rawAnswer(to failure: ServerFailure) -> [UInt8] {
        rawBytes(of: responder.response(to: failure), isHead: false) ?? []
    }
}

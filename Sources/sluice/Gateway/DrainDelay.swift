import Logging
import MicroHTTPD
import ServiceLifecycle
import Systemd

/// The beginning of a gateway's end: `/readyz` and each answer tell of it at once. The listeners close after a delay,
/// in which load balancers can turn to other gateways, and clients to other connections.
struct DrainDelay: Service {
    let draining: Draining
    let servers: [HTTPServer]
    private let delay: Duration
    /// The longest that a gateway takes to stop.
    private let longest: Duration
    private let notifier: ServiceNotifier?
    private let logger: Logger

    /// Creates the service, which must be the first to be told of a shutdown.
    ///
    /// - Parameter deadline: How long requests under way may take after the delay.
    init(
        _ draining: Draining, of servers: [HTTPServer], delay: Duration, deadline: Duration,
        notifier: ServiceNotifier?, logger: Logger
    ) {
        self.draining = draining
        self.servers = servers
        self.delay = delay
        // Beside what is waited for, each of two listeners takes up to a second. What goes on in the background takes
        // up to six while PostgreSQL hangs: two for a statement to be cancelled, and as many each for a last one and
        // its cancellation. The connections take the rest. A deadline that cuts requests off does not cut off what
        // they record, which a request for a session does up to 14 seconds after it came.
        longest = delay + max(deadline, .seconds(8)) + .seconds(10)
        self.notifier = notifier
        self.logger = logger
    }

    func run() async {
        guard (try? await gracefulShutdown()) != nil else { return }
        draining.begin()
        for server in servers { server.beginToLeave() }
        notifier?.send(.stopping, .stopsWithin(longest), .status("Draining."))
        logger.info("draining", metadata: ["delay.s": "\(delay.components.seconds)"])
        try? await Task.sleep(for: delay)
    }
}

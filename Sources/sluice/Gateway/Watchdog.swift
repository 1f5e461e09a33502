import Logging
import MicroHTTPD
import ServiceLifecycle
import Systemd

/// Tells systemd that the gateway serves, and from then on that it does not hang: each message follows a round through
/// all event loops.
struct Watchdog: Service {
    let notifier: ServiceNotifier
    let servers: [HTTPServer]
    let logger: Logger

    func run() async {
        // A server that cannot start ends its loops, and the gateway with it.
        guard await turn() else {
            try? await gracefulShutdown()
            return
        }
        let places = servers.map { "\($0.address) port \($0.port)" }
        if !notifier.send(.ready, .status("Serving on \(places.joined(separator: " and ")).")) {
            logger.warning("systemd cannot be told that the gateway serves")
        }
        guard let timeout = notifier.watchdogTimeout else {
            try? await gracefulShutdown()
            return
        }
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: timeout / 2)
                if await turn() { notifier.send(.watchdog) }
            }
        }
    }

    /// Whether all event loops run.
    private func turn() async -> Bool {
        var allRun = true
        for server in servers where await !server.turn() { allRun = false }
        return allRun
    }
}

import Logging
import ServiceLifecycle
import UnixSignals

extension ServiceGroup {
    /// Creates a group that SIGTERM and SIGINT stop gracefully.
    init(running services: [any Service], logger: Logger) {
        self.init(
            configuration: ServiceGroupConfiguration(
                services: services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) },
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    }
}

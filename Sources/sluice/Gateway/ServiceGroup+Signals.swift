import Logging
import ServiceLifecycle
import UnixSignals

extension ServiceGroup {
    /// Creates a group that some signals stop gracefully.
    init(running services: [any Service], stoppedBy signals: [UnixSignal] = [.sigterm, .sigint], logger: Logger) {
        // At debug level, the library writes the services out with everything that they hold.
        var logger = logger
        logger.logLevel = max(logger.logLevel, .info)
        self.init(
            configuration: ServiceGroupConfiguration(
                services: services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) },
                gracefulShutdownSignals: signals, logger: logger))
    }
}

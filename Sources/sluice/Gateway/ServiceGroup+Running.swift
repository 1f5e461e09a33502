import Logging
import ServiceLifecycle

extension ServiceGroup {
    /// Creates a group that no signal stops by itself.
    init(running services: [any Service], logger: Logger) {
        // At debug level, the library writes the services out with everything that they hold.
        var logger = logger
        logger.logLevel = max(logger.logLevel, .info)
        self.init(
            configuration: ServiceGroupConfiguration(
                services: services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }, logger: logger))
    }
}

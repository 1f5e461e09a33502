import ArgumentParser
import LineLogging
import Logging
import Metrics
import PrometheusMetrics
import ServiceLifecycle
import UnixSignals

/// `sluice serve`: the gateway.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the gateway on a database that 'sluice migrate' prepared.",
        discussion: """
            Settings come from --set, then from the environment, then from a JSON file
            whose members are the keys below without SLUICE_, in lower case:
            {"database": {"url": "…"}, "listen": "127.0.0.1:8080"}.
            --set takes no secrets; each may lie in a file, whose last line break does not
            count. All mistakes are named together. SIGTERM and SIGINT stop it: it accepts no
            more connections and ends once the requests under way are answered.

            Settings:
            \(SettingName.table)

            Example:
            export SLUICE_DATABASE_URL=postgresql://sluice@127.0.0.1/sluice
            export SLUICE_MASTER_KEY=$(openssl rand -base64 32)
            export SLUICE_BOOTSTRAP_ADMIN_KEY=$(openssl rand -hex 32)
            sluice migrate && sluice serve
            """
    )

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        var reader = try await options.reader()
        let logs = LogSetup(reading: &reader)
        let settings = try Settings(&reader)
        let logger = logs.install()
        let metrics = PrometheusFactory()
        MetricsSystem.bootstrap(metrics)
        let gateway = try await Gateway(settings, metrics: metrics, logger: logger, requestLog: logs.requests)
        try await ServiceGroup(running: gateway.services, logger: logger).run()
    }
}

extension ServiceGroup {
    /// A group that SIGTERM and SIGINT stop in order.
    init(running services: [any Service], logger: Logger) {
        self.init(
            configuration: ServiceGroupConfiguration(
                services: services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) },
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
    }
}

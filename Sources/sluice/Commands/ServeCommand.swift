import ArgumentParser
import GatewayAPI
import LineLogging
import Logging
import ServiceLifecycle

/// `sluice serve`: runs the gateway.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the gateway on a database that 'sluice migrate' prepared.",
        discussion: """
            A setting comes from --set, else from the environment, else from a JSON file.
            The file's members are the keys below without SLUICE_, in lower case:
            {"database": {"url": "…"}, "listen": "127.0.0.1:8080"}.
            --set does not accept secrets; each can be read from a file instead, without one
            line break at its end. All mistakes are reported together. On SIGTERM and SIGINT
            the gateway accepts no more connections, and ends when the running requests are
            answered.

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
        let logger = logs.install()
        do {
            let settings = try Settings(&reader)
            logger.info("settings read", metadata: reader.metadata)
            try await serve(settings, logger, logs.requests)
        } catch {
            throw ExitCode(logging: error, to: logger, "The gateway failed", as: .gateway)
        }
    }

    private func serve(_ settings: Settings, _ logger: Logger, _ requestLog: any RequestLog) async throws {
        let gateway = try await Gateway(settings, logger: logger, requestLog: requestLog)
        try await ServiceGroup(running: gateway.services, logger: logger).run()
    }
}

import ArgumentParser
import FoundationEssentials
import Glibc
import LineLogging
import Logging
import Systemd
import UnixSignals

/// `sluice serve`: runs the gateway.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the gateway on a database that 'sluice migrate' prepared.",
        discussion: """
            A setting comes from --set, else from the environment, else from a JSON file.
            --set takes the keys beside the variables below. The file nests at their dots:
            http.max-connections is {"http": {"max-connections": 20000}}. Lists are arrays:
            {"trusted-proxies": ["10.0.0.0/8"]}.
            --set does not accept secrets; each can be read from a file instead, without
            one line break at its end. All mistakes are reported together. On SIGTERM and
            SIGINT the gateway answers 503 at /readyz. After the drain delay, none by
            default, it accepts no more connections, and ends when the running requests
            are answered, or at the drain deadline. On SIGHUP it reads certificate and
            keys of TLS, the master key file and policy again, and forgets the sessions
            that it keeps in memory.
            Started by systemd, it reports its state, answers its watchdog, and takes the
            sockets named api and admin in place of the addresses.

            Settings:
            \(SettingName.table)

            Example, after 'sluice migrate' as the owner of the schema:
            export SLUICE_DATABASE_URL=postgresql://sluice@127.0.0.1/sluice
            (umask 077; test -s master.key || openssl rand -base64 32 >master.key)
            export SLUICE_MASTER_KEY_FILE=$PWD/master.key
            (umask 077; test -s admin.key || openssl rand -hex 32 >admin.key)
            export SLUICE_BOOTSTRAP_ADMIN_KEY_FILE=$PWD/admin.key
            sluice serve

            Keep a copy of master.key: without it the stored secrets are lost. All gateways
            of a database need the same one.
            """
    )

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        var reader = try await options.reader()
        let logs = LogSetup(reading: &reader)
        let logger = logs.install()
        do {
            // Whoever reads the log may end. The gateway serves on, and counts the lines that it cannot write.
            signal(SIGPIPE, SIG_IGN)
            let stops = await StopSignals([.sigterm, .sigint], early: .exit, logger: logger)
            // Before the signal is awaited, it would end the process.
            let hangUps = await UnixSignalsSequence(trapping: .sighup)
            let environment = ProcessInfo.processInfo.environment
            let settings = try Settings(&reader, passed: PassedListeners(PassedSocket.all(in: environment)))
            logger.info("settings read", metadata: reader.metadata)
            let supervision = Supervision(
                notifier: ServiceNotifier(environment: environment), hangUps: hangUps, reader: reader)
            try await stops.run {
                let gateway = try await Gateway(
                    settings, logger: logger, requestLog: logs.requests, supervision: supervision)
                return gateway.services
            }
        } catch {
            throw ExitCode(logging: error, to: logger, "The gateway failed", as: .gateway)
        }
    }
}

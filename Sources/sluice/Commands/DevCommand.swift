import ArgumentParser
import DevStack
import FoundationEssentials
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import Glibc
import LibPQ
import LineLogging
import LocalFiles
import Logging
import MicroHTTPD
import ServiceLifecycle
import Synchronization
import UnixSignals

/// `sluice dev`: runs a trial gateway with its own database and object store.
struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Try the gateway with its own PostgreSQL and object store; needs no configuration.",
        discussion: """
            Creates a PostgreSQL cluster, an object store, a bucket each for S3 and for
            Alibaba OSS, a user, grants and quotas in a directory of its own, and prints
            three commands to paste into another terminal, the address of a page that
            uploads files, and that of the console. The store also opens temporary
            sessions and tells the gateway what arrives. It is for development only: keep
            nothing in it that matters.

            The first start also fills the ledger with a week of made-up people, who were
            issued some twenty thousand links, so that lists and charts show something.
            The store has none of their objects. '--empty' leaves the week out.

            The next start of the same build continues with the same data. Until the first
            release, a build with other tables refuses the data of an earlier one: delete
            the directory that the start names, or choose another with '--data-dir'.
            Ctrl-C stops everything; a second one does not wait for it. Nothing is
            reachable from other machines.
            """
    )

    @Option(help: ArgumentHelp("Port of the gateway, 1 to 65535.", valueName: "port"))
    var port: UInt16 = 8080

    @Option(
        name: .customLong("store-port"),
        help: ArgumentHelp("Port of the object store, 1 to 65535.", valueName: "port"))
    var storePort: UInt16 = 9000

    @Flag(
        name: .customLong("oss-sample"),
        help: ArgumentHelp(
            """
            Serve http://127.0.0.1:7080/distribute-token.json, where the sample of the OSS SDK for iOS gets its \
            credentials. It asks for no password: every program on this machine gets the demo user's credentials.
            """))
    var servesOSSSample = false

    @Flag(help: ArgumentHelp("Leave out the week of made-up people that the first start makes."))
    var empty = false

    @Option(
        name: .customLong("data-dir"),
        help: ArgumentHelp("Directory for all data. Default: one for each working directory.", valueName: "dir"))
    var dataDirectory: String?

    @Option(
        name: .customLong("log-level"),
        help: ArgumentHelp("As for 'serve'; logs go to standard error.", valueName: "level"))
    var logLevel = "warning"

    func validate() throws {
        guard Logger.Level(rawValue: logLevel) == nil else { return }
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("'\(logLevel)' is not a log level. The levels are \(levels).")
    }

    func run() async throws {
        // Whoever reads the output may end, by the same Ctrl-C for example. PostgreSQL has to be stopped all the same.
        signal(SIGPIPE, SIG_IGN)
        // They are for the user's own servers.
        PostgresConfiguration.forgetEnvironment()
        var logs = LogSetup()
        logs.level = Logger.Level(rawValue: logLevel) ?? logs.level
        let logger = logs.install()
        do {
            try await start(logger, logs.requests)
        } catch {
            throw ExitCode(logging: error, to: logger, "The demo failed", as: nil)
        }
    }

    private func start(_ logger: Logger, _ requestLog: any RequestLog) async throws {
        let environment = ProcessInfo.processInfo.environment
        let here = FileManager.default.currentDirectoryPath
        let directory =
            dataDirectory.map { DataDirectory($0, workingDirectory: here) }
            ?? DataDirectory.standard(environment: environment, workingDirectory: here, isRoot: geteuid() == 0)
        let stops = await StopSignals([.sigterm, .sigint] + Self.hangUp, early: .cancel, logger: logger)
        let started = StartedPostgres()
        let second = SecondSignal {
            // Before that, the first signal ends the programs that make and start the cluster, within seconds. If they
            // were left behind, they could be in the way of the next start.
            guard let postgres = started.server else { return }
            postgres.tellToStop()
            _exit(130)
        }
        defer { second.end() }
        say("Starting PostgreSQL in \(directory.path) …")
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await stops.run {
                    let postgres = try await EmbeddedPostgres.start(
                        in: directory, environment: environment, logger: logger)
                    started.server = postgres
                    return try await services(postgres, directory, logger, requestLog)
                })
        } catch {
            result = .failure(error)
        }
        await started.server?.stop()
        try result.get()
    }

    /// SIGHUP, unless it is ignored, as 'nohup' asks.
    private static var hangUp: [UnixSignal] {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }
        let ignored = line.flatMap { UInt64($0.dropFirst(7).trimmed(), radix: 16) } ?? 0
        return ignored & 1 << (UInt64(SIGHUP) - 1) == 0 ? [.sighup] : []
    }

    private func services(
        _ postgres: EmbeddedPostgres, _ directory: DataDirectory, _ logger: Logger, _ requestLog: any RequestLog
    ) async throws -> [any Service] {
        let keys = try DemoKeys.load(from: directory)
        let owner = try await prepareSchema(postgres, logger)
        let outlet = StoreOutlet(logger: logger)
        let store = try await listen(
            EmbeddedStore.demo(in: directory, keys: keys, outlet: outlet, logger: logger), logger)
        let storeOrigin = "http://127.0.0.1:\(store.port)"
        let settings = try settings(postgres, keys, storeOrigin: storeOrigin)
        let past = PastDatabase(connection: owner, role: Self.role)
        if !empty {
            try await DemoWeek.makeOnce(settings, in: past, keys: keys, storeEndpoint: storeOrigin, logger: logger)
        }
        await owner.close()
        let gateway = try await namingFlag("--port") {
            try await Gateway(settings, logger: logger, requestLog: requestLog) {
                WebExample(before: $0, store: storeOrigin)
            }
        }
        let origin = "http://127.0.0.1:\(gateway.server.port)"
        let rows = try DemoRows(stores: gateway.stores, keys: keys, now: { Date.now })
        try await rows.make(storeEndpoint: storeOrigin)
        outlet.connect(to: origin, targets: try await rows.makeEventTargets(gateway.eventSecrets))
        let sample = try await servesOSSSample ? listenForSample(origin, keys, logger) : nil
        let greeting = Greeting(
            gateway: origin, keys: keys, store: storeOrigin, consoleKey: try await rows.makeConsoleKey(),
            ossSample: sample.map { "http://127.0.0.1:\($0.port)" })
        return [postgres, store] + gateway.services + [outlet] + (sample.map { [$0] } ?? []) + [greeting]
    }

    private func listenForSample(_ gateway: String, _ keys: DemoKeys, _ logger: Logger) async throws -> HTTPServer {
        do {
            let configuration = HTTPServerConfiguration(address: "127.0.0.1", port: DemoWorld.ossSamplePort)
            let sample = OSSSample(gateway: gateway, keys: keys)
            return try HTTPServer(configuration: configuration, responder: sample, logger: logger)
        } catch {
            throw StartFailure(
                "\(error) The sample of the OSS SDK asks at no other port; start without --oss-sample.")
        }
    }

    private func settings(
        _ postgres: EmbeddedPostgres, _ keys: DemoKeys, storeOrigin: String
    ) throws -> Settings {
        var settings = Settings(
            database: .init(connectionString: Secret(postgres.connectionString(role: Self.role))),
            masterKeys: try MasterKeyRing(parsing: Secret(keys.masterKey)),
            outbound: try OutboundPolicy(origins: [storeOrigin]))
        settings.bootstrapAdminKey = Secret(keys.adminKey)
        settings.listen.port = port
        settings.allowedOrigins = ["*"]
        return settings
    }

    /// The gateway's login. With it, the demo runs with the privileges of a real deployment.
    private static let role = "sluice_serve"

    /// Migrates the database, finishes the update unless a gateway needs what that removes, and makes the gateway's
    /// login; returns a connection of the owner.
    private func prepareSchema(_ postgres: EmbeddedPostgres, _ logger: Logger) async throws -> PostgresConnection {
        let connect = { (database: String) in
            PostgresConnection(
                try PostgresConfiguration(
                    connectionString: postgres.connectionString(database: database), applicationName: "sluice-dev"),
                logger: logger)
        }
        try await prepareDatabase(connect)
        let connection = try connect(EmbeddedPostgres.database)
        let migrator = Migrator(connection: connection, program: ProgramVersion.current, logger: logger)
        _ = try await migrator.migrate()
        do {
            _ = try await migrator.finish()
        } catch let refusal as Migrator.Failure {
            // Such as a gateway of an earlier build that was killed within the last minute. A later start finishes.
            logger.info("the update is not finished", metadata: ["reason": "\(refusal)"])
        }
        try await connection.runScript(
            """
            DO $$ BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(Self.role)') THEN
                    CREATE ROLE \(Self.role) LOGIN IN ROLE sluice_gateway;
                END IF;
            END $$
            """)
        return connection
    }

    /// Makes the database anew if a start ended before the week was complete, which leaves it in the past, or without
    /// one.
    private func prepareDatabase(_ connect: (_ database: String) throws -> PostgresConnection) async throws {
        let name = EmbeddedPostgres.database
        let server = try connect("postgres")
        var exists = try await PastDatabase.exists(name, at: server)
        if exists {
            let connection = try connect(name)
            let isInPast = try await PastDatabase(connection: connection, role: Self.role).isEntered()
            await connection.close()
            if isInPast {
                try await server.runScript("DROP DATABASE \(name) WITH (FORCE)")
                exists = false
            }
        }
        if !exists { try await server.runScript("CREATE DATABASE \(name)") }
        await server.close()
    }

    private func listen(_ store: EmbeddedStore, _ logger: Logger) async throws -> HTTPServer {
        try await namingFlag("--store-port") {
            var configuration = HTTPServerConfiguration(address: "127.0.0.1", port: storePort)
            // Links may be longer than the requests for them: they have session tokens.
            configuration.maxHeadBytes = 16 * 1_024
            return try HTTPServer(configuration: configuration, responder: store, logger: logger)
        }
    }

    /// Runs `body`, and adds the flag that changes the port to the error of a port that is taken.
    private func namingFlag<Value>(_ flag: String, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as HTTPServerError {
            guard case .cannotListen = error else { throw error }
            throw StartFailure("\(error) Choose another port with \(flag).")
        }
    }
}

/// The PostgreSQL of this run, once it accepts connections.
private final class StartedPostgres: Sendable {
    private let state = Mutex<EmbeddedPostgres?>(nil)

    var server: EmbeddedPostgres? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// Why the demo does not start, although the command line is right.
private struct StartFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Writes a message that is not part of the output.
private func say(_ text: String) {
    writeToStandardError("\(text)\n")
}

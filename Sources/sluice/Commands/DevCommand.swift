import ArgumentParser
import DevStack
import Foundation
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import LibPQ
import LineLogging
import Logging
import Metrics
import MicroHTTPD
import PrometheusMetrics
import ServiceLifecycle

/// `sluice dev`: runs a trial gateway with its own database and object store.
struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Try the gateway with its own PostgreSQL and object store; needs no configuration.",
        discussion: """
            Creates a PostgreSQL cluster, an object store, a bucket, a user, a grant and a
            quota in a directory of its own, and prints three commands to paste into
            another terminal. The next start of the same build continues with the same
            data. Until the first release, a build with other tables refuses the data of
            an earlier one: delete the directory that the start names, or choose another
            with '--data-dir'. Ctrl-C stops everything. Nothing is reachable from other
            machines.
            """
    )

    @Option(help: ArgumentHelp("Port of the gateway.", valueName: "port"))
    var port: UInt16 = 8080

    @Option(name: .customLong("store-port"), help: ArgumentHelp("Port of the object store.", valueName: "port"))
    var storePort: UInt16 = 9000

    @Option(
        name: .customLong("data-dir"),
        help: ArgumentHelp("Directory for all data. Default: one for each working directory.", valueName: "dir"))
    var dataDirectory: String?

    @Option(
        name: .customLong("log-level"),
        help: ArgumentHelp("As for 'serve'; logs go to standard error.", valueName: "level"))
    var logLevel = "warning"

    func run() async throws {
        guard let level = Logger.Level(rawValue: logLevel) else {
            throw ValidationError("'\(logLevel)' is not a log level.")
        }
        var logs = LogSetup()
        logs.level = level
        let logger = logs.install()
        let environment = ProcessInfo.processInfo.environment
        let here = FileManager.default.currentDirectoryPath
        let directory =
            dataDirectory.map { DataDirectory($0, workingDirectory: here) }
            ?? DataDirectory.standard(environment: environment, workingDirectory: here, isRoot: NSUserName() == "root")
        say("Starting PostgreSQL in \(directory.path) …")
        let postgres = try await EmbeddedPostgres.start(in: directory, environment: environment, logger: logger)
        do {
            try await serve(postgres, directory, logger, logs.requests)
        } catch {
            await postgres.stop()
            throw error
        }
    }

    private func serve(
        _ postgres: EmbeddedPostgres, _ directory: DataDirectory, _ logger: Logger, _ requestLog: any RequestLog
    ) async throws {
        let keys = try DemoKeys.load(from: directory)
        try await prepareSchema(postgres, logger)
        let store = try await listen(EmbeddedStore.demo(in: directory, keys: keys, logger: logger), logger)
        let storeOrigin = "http://127.0.0.1:\(store.port)"
        let metrics = PrometheusFactory()
        MetricsSystem.bootstrap(metrics)
        let settings = try settings(postgres, keys, storeOrigin: storeOrigin)
        let gateway = try await namingFlag("--port") {
            try await Gateway(settings, metrics: metrics, logger: logger, requestLog: requestLog)
        }
        try await DemoRows(stores: gateway.stores, keys: keys).make(storeEndpoint: storeOrigin)
        let greeting = Greeting(gateway: "http://127.0.0.1:\(gateway.server.port)", keys: keys)
        try await ServiceGroup(running: [postgres, store] + gateway.services + [greeting], logger: logger).run()
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

    private func prepareSchema(_ postgres: EmbeddedPostgres, _ logger: Logger) async throws {
        let connection = PostgresConnection(
            try PostgresConfiguration(connectionString: postgres.connectionString(), applicationName: "sluice-dev"),
            logger: logger)
        _ = try await Migrator(connection: connection, logger: logger).migrate()
        try await connection.runScript(
            """
            DO $$ BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(Self.role)') THEN
                    CREATE ROLE \(Self.role) LOGIN IN ROLE sluice_gateway;
                END IF;
            END $$
            """)
        await connection.close()
    }

    private func listen(_ store: EmbeddedStore, _ logger: Logger) async throws -> HTTPServer {
        try await namingFlag("--store-port") {
            let configuration = HTTPServerConfiguration(address: "127.0.0.1", port: storePort)
            return try HTTPServer(configuration: configuration, responder: store, logger: logger)
        }
    }

    /// Runs `body`, and adds the flag that changes the port to the error of a listener.
    private func namingFlag<Value>(_ flag: String, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as HTTPServerError {
            throw ValidationError("\(error) Choose another port with \(flag).")
        }
    }
}

/// Writes a message that is not part of the output.
private func say(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
}

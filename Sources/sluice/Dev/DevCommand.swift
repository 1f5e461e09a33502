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
import Signing

/// `sluice dev`: a gateway to try, with a database and a store of its own.
struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Try the gateway: starts PostgreSQL, an object store and a demo; needs no configuration.",
        discussion: """
            Makes a PostgreSQL cluster, a store, a bucket, a user, a grant and a quota in
            a directory of its own, and prints three lines to paste into another
            terminal. A second start takes up where the first left off. Ctrl-C stops
            everything. Nothing is reachable from other machines.
            """
    )

    @Option(help: ArgumentHelp("Port of the gateway.", valueName: "port"))
    var port: UInt16 = 8080

    @Option(name: .customLong("store-port"), help: ArgumentHelp("Port of the object store.", valueName: "port"))
    var storePort: UInt16 = 9000

    @Option(
        name: .customLong("data-dir"),
        help: ArgumentHelp("Directory that keeps everything. Default: one per working directory.", valueName: "dir"))
    var dataDirectory: String?

    @Option(
        name: .customLong("log-level"), help: ArgumentHelp("As for 'serve'; to standard error.", valueName: "level"))
    var logLevel = "warning"

    func run() async throws {
        guard let level = Logger.Level(rawValue: logLevel) else {
            throw ValidationError("'\(logLevel)' is no log level.")
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
        let (store, storeServer) = try makeStore(keys, directory, logger)
        try store.makeBucket(DemoWorld.bucket)

        let metrics = PrometheusFactory()
        MetricsSystem.bootstrap(metrics)
        var settings = Settings(
            database: .init(connectionString: Secret(postgres.connectionString(role: Self.role))),
            masterKeys: try MasterKeyRing(parsing: Secret(keys.masterKey)),
            outbound: try OutboundPolicy(origins: ["http://127.0.0.1:\(storeServer.port)"]))
        settings.bootstrapAdminKey = Secret(keys.adminKey)
        settings.listen.port = port
        settings.allowedOrigins = ["*"]
        let gateway = try await namingFlag("--port") {
            try await Gateway(settings, metrics: metrics, logger: logger, requestLog: requestLog)
        }
        let demo = try DemoRows(stores: gateway.stores, keys: keys)
        try await demo.make(storeEndpoint: "http://127.0.0.1:\(storeServer.port)")
        let guide = Greeting(
            instructions: DemoWorld.instructions(
                gateway: "http://127.0.0.1:\(gateway.server.port)", token: keys.userToken,
                strangerToken: keys.strangerToken),
            adminKey: keys.adminKey, isFirstStart: keys.areNew)
        try await ServiceGroup(running: [postgres, storeServer] + gateway.services + [guide], logger: logger).run()
    }

    /// The login of the gateway, so that the demo runs with the rights of a real deployment.
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

    private func makeStore(
        _ keys: DemoKeys, _ directory: DataDirectory, _ logger: Logger
    ) throws -> (EmbeddedStore, HTTPServer) {
        let store = try EmbeddedStore(
            EmbeddedStore.Configuration(
                credential: SigningCredential(
                    accessKeyID: keys.storeAccessKeyID, secretAccessKey: keys.storeSecretAccessKey),
                region: DemoWorld.region, directory: directory.objects),
            logger: logger
        ) {
            SigningInstant(clampingEpochSeconds: Int64(Date.now.timeIntervalSince1970))
        }
        do {
            let configuration = HTTPServerConfiguration(address: "127.0.0.1", port: storePort)
            return (store, try HTTPServer(configuration: configuration, responder: store, logger: logger))
        } catch {
            throw ValidationError("\(error) Choose another port with --store-port.")
        }
    }

    private func namingFlag<Value>(_ flag: String, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as HTTPServerError {
            throw ValidationError("\(error) Choose another port with \(flag).")
        }
    }
}

/// Tells the user what to do once everything before it runs.
private struct Greeting: Service {
    let instructions: String
    let adminKey: String
    let isFirstStart: Bool

    func run() async throws {
        var text = instructions
        if isFirstStart {
            text += "\nKey of the admin, for 'sluice admin' and /admin/v1; it is printed this once:\n"
            text += "export SLUICE_ADMIN_KEY=\(adminKey)\n"
        }
        // Not by `print`, which keeps it in a buffer where standard output is no terminal.
        try FileHandle.standardOutput.write(contentsOf: Data("\(text)\nCtrl-C stops it.\n".utf8))
        try await gracefulShutdown()
    }
}

/// Tells the user something that is no result.
private func say(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
}

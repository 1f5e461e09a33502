import Foundation
import HTTPTesting
import LibPQ
import Logging
import PostgresTesting
import Synchronization
import Testing

/// A database that `sluice migrate` prepared, and gateways on it that are configured by their environment alone.
final class Deployment: Sendable {
    let cluster: TestCluster
    let databaseName: String
    let environment: [String: String]
    /// Whether the cluster is a test's own. It is removed with the test, and the database with it.
    private let hasOwnCluster: Bool
    /// Whether the program is the one that was built, whose answers are held to the contract.
    private let keepsContract: Bool
    private let running = Mutex<[GatewayProcess]>([])
    private let logs = Mutex<[String]>([])
    private let secrets: Mutex<Set<String>>
    /// The deployments whose gateways run, by the ports of the gateways.
    private static let byPort = Mutex<[UInt16: Deployment]>([:])
    fileprivate let held = Mutex<[PostgresConnection]>([])

    @TaskLocal fileprivate static var inScope: SharedTrait<Deployment>.Shared?

    /// The deployment of the running suite.
    static var current: Deployment {
        get throws { try #require(inScope?.value, "the suite has no trait .deployment") }
    }

    private init(
        cluster: TestCluster, isOwn: Bool, databaseName: String, program: String, settings: [String: String]
    ) {
        self.cluster = cluster
        self.databaseName = databaseName
        hasOwnCluster = isOwn
        keepsContract = program == Program.path
        let masterKey = Self.randomMasterKey()
        let bootstrapKey = "bootstrap-\(UUID().uuidString.lowercased())"
        secrets = Mutex([masterKey, bootstrapKey])
        environment = [
            "SLUICE_DATABASE_URL": cluster.connectionString(database: databaseName),
            "SLUICE_MASTER_KEY": "k1:\(masterKey)",
            "SLUICE_BOOTSTRAP_ADMIN_KEY": bootstrapKey,
            // Load tests have few users.
            "SLUICE_REQUESTS_PER_SECOND": "0",
        ].merging(settings) { $1 }
    }

    /// Starts a deployment, and stops it once `body` has returned.
    static func with<Value: Sendable>(
        cluster: TestCluster? = nil, program: String = Program.path, gateways: Int = 1,
        settings: [String: String] = [:],
        prepare: (Deployment) async throws -> Void = { _ in },
        _ body: (Deployment) async throws -> Value
    ) async throws -> Value {
        let deployment = try await start(
            cluster: cluster, program: program, gateways: gateways, settings: settings, prepare: prepare)
        let result: Result<Value, any Error>
        do { result = .success(try await body(deployment)) } catch { result = .failure(error) }
        try await deployment.stop()
        return try result.get()
    }

    /// Makes a database, migrates it and starts gateways.
    ///
    /// A given cluster is removed with the test, and the database with it. A given program migrates the database.
    static func start(
        cluster: TestCluster? = nil, program: String = Program.path, gateways: Int = 1,
        settings: [String: String] = [:],
        prepare: (Deployment) async throws -> Void = { _ in }
    ) async throws -> Deployment {
        let home = if let cluster { cluster } else { try await TestCluster.shared() }
        // In a cluster of a test's own, a template would be copied once.
        let template: DatabaseTemplate? = cluster == nil && program == Program.path ? .migrated : nil
        let deployment = Deployment(
            cluster: home, isOwn: cluster != nil, databaseName: try await home.createDatabase(template: template),
            program: program, settings: settings)
        if template == nil { _ = try await Program.run(["migrate"], of: program, environment: deployment.environment) }
        try await prepare(deployment)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<gateways { group.addTask { try await deployment.startGateway(of: program) } }
            try await group.waitForAll()
        }
        return deployment
    }

    /// Ends the gateways and removes the database, once the logs and metrics of the gateways and all tables have been
    /// searched for everything that is secret.
    func stop() async throws {
        let metrics = await metrics()
        for gateway in gateways { await end(gateway) { await gateway.crash() } }
        Self.byPort.withLock { ports in ports = ports.filter { $0.value !== self } }
        // The server of a test's own may be gone by now.
        await expectNoLeak(metrics: metrics, requiresTables: !hasOwnCluster)
        if !hasOwnCluster { try await cluster.dropDatabase(databaseName) }
    }

    /// The gateways that run, in the order in which they began to listen.
    var gateways: [GatewayProcess] { running.withLock { $0 } }

    /// Starts one more gateway.
    @discardableResult func startGateway(
        _ settings: [String: String] = [:], of program: String = Program.path, by command: [String] = []
    ) async throws -> GatewayProcess {
        let gateway = try await GatewayProcess.start(environment.merging(settings) { $1 }, of: program, by: command)
        running.withLock { $0.append(gateway) }
        Self.byPort.withLock { $0[gateway.port] = self }
        return gateway
    }

    /// Ends a gateway in the given way and keeps its log.
    func end(_ gateway: GatewayProcess, by ending: () async -> Void) async {
        await ending()
        running.withLock { $0.removeAll { $0 === gateway } }
        logs.withLock { $0.append(gateway.log) }
        #expect(gateway.process.output.isEmpty, "a gateway writes nothing to standard output")
    }

    /// The logs of all gateways, including those that have ended.
    var log: String { logs.withLock { $0 }.joined() + gateways.map(\.log).joined() }

    /// Registers a text for which logs, metrics and tables are searched at the end. What answers issue is registered by
    /// itself.
    func keepSecret(_ text: String) {
        guard !text.isEmpty else { return }
        secrets.withLock { _ = $0.insert(text) }
    }

    /// Makes a master key, which no log may show either.
    func freshMasterKey() -> String {
        let key = Self.randomMasterKey()
        keepSecret(key)
        return key
    }

    static func randomMasterKey() -> String {
        Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
    }

    /// Registers what an answer of a gateway issues, for the first thousand secrets.
    ///
    /// - Parameter port: The gateway's. Answers of others are passed over.
    static func keepSecrets(of answer: RawResponse, from port: UInt16) {
        guard (200..<400).contains(answer.status), let site = byPort.withLock({ $0[port] }),
            site.secrets.withLock({ $0.count < 1000 })
        else { return }
        let issued = IssuedSecrets(answer.body, location: answer["Location"])
        site.secrets.withLock { $0.formUnion(issued.texts) }
    }

    private func expectNoLeak(metrics: String, requiresTables: Bool) async {
        let log = log
        #expect(log.contains("listening"), "the log that is searched is the gateway's")
        for word in ["X-Amz-Signature", "Signature=", "Bearer "] { #expect(!log.contains(word), "\(word)") }
        do {
            let search = try await LeakSearch(
                secrets: secrets.withLock { $0 }, log: log, metrics: metrics, at: self, requiresTables: requiresTables)
            #expect(search.found.isEmpty, "secrets are in the clear")
        } catch {
            Issue.record(error)
        }
    }

    /// Where secrets of the deployment are found now: in its tables, or in these texts.
    func leaks(log: String, metrics: String) async throws -> [String] {
        try await LeakSearch(secrets: secrets.withLock { $0 }, log: log, metrics: metrics, at: self).found
    }

    /// The metrics of the gateways that run. Each must show them; a test ends those of its gateways that cannot.
    private func metrics() async -> String {
        var text = ""
        for gateway in gateways where gateway.process.isRunning {
            do { text += try await gateway.metrics() } catch { Issue.record(error, "no metrics to search") }
        }
        return text
    }

    /// A caller of the first gateway, or of the given one.
    func client(token: String = "", at gateway: Int = 0) -> APIClient {
        APIClient(port: gateways[gateway].port, token: token, keepsContract: keepsContract)
    }

    /// The admin whose key is in the environment.
    var admin: APIClient { client(token: environment["SLUICE_BOOTSTRAP_ADMIN_KEY"] ?? "") }

    /// Opens a session of the database as its superuser, or of its copy in another cluster.
    func session(
        in other: TestCluster? = nil, settings: [(name: String, value: String)] = []
    ) throws -> PostgresConnection {
        PostgresConnection(
            try PostgresConfiguration(
                connectionString: (other ?? cluster).connectionString(database: databaseName),
                applicationName: "tests", sessionSettings: settings),
            logger: Logger(label: "tests", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    /// Reads one number from the database.
    func number(_ sql: String) async throws -> Int {
        Int(try await session().number(sql))
    }
}

extension Deployment {
    /// Sessions that stay open, with the locks they hold.
    var heldSessions: [PostgresConnection] { held.withLock { $0 } }

    /// Keeps a session open.
    func hold(_ session: PostgresConnection) { held.withLock { $0.append(session) } }

    /// Ends the sessions that were kept open.
    func closeHeldSessions() async {
        for session in held.withLock({ exchange(&$0, with: []) }) { await session.close() }
    }
}

extension DatabaseTemplate {
    /// A database that the built program has migrated.
    fileprivate static let migrated = DatabaseTemplate("program_template") { connectionString in
        _ = try await Program.run(["migrate"], environment: ["SLUICE_DATABASE_URL": connectionString])
    }
}

extension Trait where Self == SharedTrait<Deployment> {
    /// A deployment with one gateway for the suite, as ``Deployment/current``.
    static var deployment: Self { Self.deployment(gateways: 1) }

    /// A deployment for the suite, as ``Deployment/current``.
    static func deployment(gateways: Int) -> Self {
        SharedTrait<Deployment>(place: Deployment.$inScope) {
            try await Deployment.start(gateways: gateways)
        } end: { deployment in
            try await deployment.stop()
        }
    }
}

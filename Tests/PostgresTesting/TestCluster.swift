import Foundation
import LibPQ
import Logging
import Synchronization

/// How a cluster of a test differs from the usual.
public struct ClusterOptions: Sendable {
    /// Whether commits reach the disk; needed only where a test is about durability.
    public var fsync = false
    /// Whether the server keeps the time of each commit.
    public var trackCommitTimestamp = false
    /// Whether the server listens on a free port of 127.0.0.1, besides its socket.
    public var listensOnTCP = false
    /// Whether the server's clock can be set, see ``TestCluster/setClock(ahead:)``; needs Debian's `libfaketime`.
    public var hasClock = false
    /// Further lines of `postgresql.conf`, by name.
    public var settings: [String: String] = [:]

    /// The usual.
    public init() {}
}

/// A PostgreSQL server of its own for tests. It ends, and its files go, when the process that started it ends, however.
public final class TestCluster: Sendable {
    /// Directory of the socket, the data, the server's log and its port.
    public let directory: String
    /// The port, on the socket and over TCP.
    public let port: Int
    private let options: ClusterOptions
    let administrator: PostgresConnection
    private let templates = Mutex<[String: Once<Void>]>([:])
    private static let counter = Atomic(0)
    private static let sharedCluster = Once<TestCluster>()

    /// The cluster of this run, started when it is first asked for.
    public static func shared() async throws -> TestCluster {
        try await sharedCluster.value { try await TestCluster(ClusterOptions()) }
    }

    /// Starts a cluster for one test alone, for example one that stops it.
    public convenience init(_ options: ClusterOptions) async throws {
        try await self.init(options, made: .create)
    }

    /// Starts a copy of another cluster, with its options, that receives each of its changes and only reads.
    public convenience init(standbyOf primary: TestCluster) async throws {
        try await self.init(primary.options, made: .copy, from: primary.connectionString(database: "postgres"))
    }

    private init(_ options: ClusterOptions, made action: ClusterScript, from source: String = "") async throws {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        let directory = "/tmp/sluice-test-\(ProcessInfo.processInfo.processIdentifier)-\(number)"
        let output = try await ClusterScript.run(action, in: directory, options, from: source)
        guard let port = Int(output) else { throw TestClusterError(output: output) }
        self.directory = directory
        self.port = port
        self.options = options
        administrator = PostgresConnection(
            try PostgresConfiguration(
                connectionString: "host=\(directory) port=\(port) user=postgres dbname=postgres",
                applicationName: "tests"),
            logger: Logger(label: "tests", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    /// Connection string of a database of the cluster, as its superuser, over its socket.
    public func connectionString(database: String) -> String {
        "host=\(directory) port=\(port) user=postgres dbname=\(database)"
    }

    /// Makes a new database; gives its name.
    ///
    /// - Parameter template: The template that it is a copy of, made first where this is its first use; else empty.
    public func createDatabase(template: DatabaseTemplate? = nil) async throws -> String {
        if let template {
            let once = templates.withLock { templates in
                let once = templates[template.name] ?? Once()
                templates[template.name] = once
                return once
            }
            try await once.value {
                try await self.create(template.name, from: "template0")
                try await template.migrate(self.connectionString(database: template.name))
            }
        }
        let name = "test_\(Self.counter.add(1, ordering: .relaxed).newValue)"
        try await create(name, from: template?.name ?? "template0")
        return name
    }

    private func create(_ name: String, from template: String) async throws {
        for attempt in 1... {
            do {
                return try await administrator.runScript("CREATE DATABASE \(name) TEMPLATE \(template)")
            } catch {
                // A session that has just been closed counts as a user of the template until its process has ended.
                guard error.sqlState == "55006", attempt < 100 else { throw error }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Removes a database, whoever is connected to it.
    public func dropDatabase(_ name: String) async throws {
        try await administrator.runScript("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
    }

    /// Starts the server again, after ``stop()`` or ``kill()``, on the same port.
    public func start() async throws {
        try await ClusterScript.run(.start, in: directory, options)
    }

    /// Stops the server in good order, ending its sessions.
    public func stop() async throws {
        try await ClusterScript.run(.stop, in: directory, options)
    }

    /// Kills all processes of the server at once (SIGKILL), as a crash of the machine would.
    public func kill() async throws {
        try await ClusterScript.run(.kill, in: directory, options)
    }

    /// Stands all processes of the server still (SIGSTOP), as a machine that hangs would.
    public func suspend() async throws {
        try await ClusterScript.run(.suspend, in: directory, options)
    }

    /// Lets them go on.
    public func resume() async throws {
        try await ClusterScript.run(.resume, in: directory, options)
    }

    /// Makes a standby a server of its own, which takes writes.
    public func promote() async throws {
        try await ClusterScript.run(.promote, in: directory, options)
    }

    /// Sets the server's clock so many seconds ahead of this machine's, or behind.
    public func setClock(ahead seconds: Int) throws {
        try FakeClock.text(ahead: seconds).write(toFile: "\(directory)/clock", atomically: true, encoding: .utf8)
    }

    /// What the server has logged so far.
    public func log() throws -> String {
        try String(contentsOfFile: "\(directory)/log", encoding: .utf8)
    }
}

/// A cluster that cannot be started or stopped.
public struct TestClusterError: Error, CustomStringConvertible {
    /// What its script said.
    public let output: String

    /// What its script said.
    public var description: String { "PostgreSQL cluster: \(output)" }
}

/// A database that others are copied from.
public struct DatabaseTemplate: Sendable {
    /// A name of lower-case letters, digits and underscores.
    public let name: String
    let migrate: @Sendable (_ connectionString: String) async throws -> Void

    /// Describes a template.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - migrate: Fills the empty database, once per cluster; closes its connections before it returns.
    public init(
        _ name: String, migrate: @escaping @Sendable (_ connectionString: String) async throws -> Void
    ) {
        self.name = name
        self.migrate = migrate
    }
}

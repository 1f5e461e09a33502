import Foundation
import LibPQ
import Logging
import Synchronization

/// Options of a test's cluster.
public struct ClusterOptions: Sendable {
    /// Whether commits reach the disk. Only tests of durability need it.
    public var fsync = false
    /// Whether the server keeps the time of each commit.
    public var trackCommitTimestamp = false
    /// Whether the server listens on a free port of 127.0.0.1, besides its socket.
    public var listensOnTCP = false
    /// Whether the server's clock can be set, see ``TestCluster/setClock(ahead:)``. This requires Debian's
    /// `libfaketime`.
    public var hasClock = false
    /// Further settings for `postgresql.conf`, by name.
    public var settings: [String: String] = [:]

    /// Makes the default options.
    public init() {}
}

/// A PostgreSQL server for tests. When the process that started it ends, however that happens, the server ends and its
/// files are removed.
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

    /// Where clusters are: in memory, if there is ample room, of which they take up to 3 GB. Tests make and remove a
    /// million files. ext4 does not use the inode of a removed file again for minutes, and passes over each of them
    /// for every file that is made: a quarter of the processor time of all tests.
    private static let place: String = {
        var room = statvfs()
        guard unsafe statvfs("/dev/shm", &room) == 0, UInt64(room.f_bavail) * UInt64(room.f_frsize) >= 8 << 30 else {
            return "/tmp"
        }
        return "/dev/shm"
    }()

    /// Returns the cluster of this run; the first call starts it.
    public static func shared() async throws -> TestCluster {
        try await sharedCluster.value { try await TestCluster(ClusterOptions()) }
    }

    /// Starts a cluster for one test alone, for example one that stops it.
    public convenience init(_ options: ClusterOptions) async throws {
        try await self.init(options, made: .create)
    }

    /// Starts a read-only copy of another cluster, with its options, that receives each of its changes.
    public convenience init(standbyOf primary: TestCluster) async throws {
        try await self.init(primary.options, made: .copy, from: primary.connectionString(database: "postgres"))
    }

    private init(_ options: ClusterOptions, made action: ClusterScript, from source: String = "") async throws {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        let directory = "\(Self.place)/sluice-test-\(ProcessInfo.processInfo.processIdentifier)-\(number)"
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

    /// Makes a new database; returns its name.
    ///
    /// - Parameter template: The template to copy; `nil` for an empty database.
    public func createDatabase(template: DatabaseTemplate? = nil) async throws -> String {
        var source = "template0"
        if let template { source = try await fill(template) }
        let name = "test_\(Self.counter.add(1, ordering: .relaxed).newValue)"
        try await create(name, from: source)
        return name
    }

    /// Fills a template at its first use on a day in UTC; returns the name of its database.
    ///
    /// Each day has a database of its own, since what it holds depends on the day: the partitions of a ledger, for
    /// example.
    private func fill(_ template: DatabaseTemplate) async throws -> String {
        let name = "\(template.name)_\(Int(Date.now.timeIntervalSince1970) / 86_400)"
        let once = templates.withLock { templates in
            let once = templates[name] ?? Once()
            templates[name] = once
            return once
        }
        try await once.value {
            try await self.create(name, from: "template0")
            try await template.migrate(self.connectionString(database: name))
        }
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

    /// Removes a database, even while somebody is connected to it.
    public func dropDatabase(_ name: String) async throws {
        try await administrator.runScript("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
    }

    /// Starts the server again, after ``stop()`` or ``kill()``, on the same port.
    public func start() async throws {
        try await ClusterScript.run(.start, in: directory, options)
    }

    /// Stops the server in an orderly way and ends its sessions.
    public func stop() async throws {
        try await ClusterScript.run(.stop, in: directory, options)
    }

    /// Kills all processes of the server at once (SIGKILL), as a crash of the machine would.
    public func kill() async throws {
        try await ClusterScript.run(.kill, in: directory, options)
    }

    /// Suspends all processes of the server (SIGSTOP), like a machine that hangs.
    public func suspend() async throws {
        try await ClusterScript.run(.suspend, in: directory, options)
    }

    /// Resumes all processes of the server.
    public func resume() async throws {
        try await ClusterScript.run(.resume, in: directory, options)
    }

    /// Promotes a standby to a server of its own, which accepts writes.
    public func promote() async throws {
        try await ClusterScript.run(.promote, in: directory, options)
    }

    /// Sets the server's clock `seconds` ahead of this machine's, or behind it where negative.
    public func setClock(ahead seconds: Int) throws {
        try FakeClock.text(ahead: seconds).write(toFile: "\(directory)/clock", atomically: true, encoding: .utf8)
    }

    /// Returns the server's log so far.
    public func log() throws -> String {
        try String(contentsOfFile: "\(directory)/log", encoding: .utf8)
    }

    /// Returns the first lines of the server's messages about one database so far.
    public func log(of database: String) throws -> String {
        try log().split(separator: "\n").filter { $0.contains("] \(database) ") }.joined(separator: "\n")
    }
}

/// The error of a cluster that cannot be started or stopped.
public struct TestClusterError: Error, CustomStringConvertible {
    /// Output of the script.
    public let output: String

    /// Text for the report, with the output of the script.
    public var description: String { "PostgreSQL cluster: \(output)" }
}

/// A database from which others are copied.
public struct DatabaseTemplate: Sendable {
    /// Name of lower-case letters, digits and underscores.
    public let name: String
    let migrate: @Sendable (_ connectionString: String) async throws -> Void

    /// Describes a template.
    ///
    /// - Parameters:
    ///   - name: Name of the template.
    ///   - migrate: Fills the empty database, once per cluster and day. It closes its connections before it returns.
    public init(
        _ name: String, migrate: @escaping @Sendable (_ connectionString: String) async throws -> Void
    ) {
        self.name = name
        self.migrate = migrate
    }
}

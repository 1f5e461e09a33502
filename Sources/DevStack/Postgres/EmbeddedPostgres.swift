import Foundation
import Glibc
public import Logging
public import ServiceLifecycle

/// A PostgreSQL cluster of the program's own, reachable through a socket that only its user can open, never over TCP.
///
/// The server outlives a program that is killed; the next start takes it over while it runs. As a service it watches
/// the server, and stops it with the group: put it first, so that it stops last.
public struct EmbeddedPostgres: Service {
    /// Part of the socket's name; nothing listens on TCP.
    static let port = 5432
    /// The database that is created with the cluster.
    public static let database = "sluice"
    /// The superuser of the cluster.
    public static let superuser = "postgres"

    private let paths: ClusterPaths
    /// The system releases it when the program is killed.
    let lock: DirectoryLock
    private let logger: Logger
    /// Process id of the server.
    let processID: Int32

    /// Whether the server was running already, left by an earlier run.
    public let wasAdopted: Bool

    /// Starts the cluster in a data directory, creates it on the first start, and waits until it accepts connections.
    ///
    /// - Parameters:
    ///   - directory: Where the cluster lives; no two processes can use one at a time.
    ///   - environment: Environment variables. `PATH` is searched for PostgreSQL besides Debian's directory;
    ///     `XDG_RUNTIME_DIR` holds the socket if the data directory's path is too long for one.
    /// - Throws: ``EmbeddedPostgresError``.
    public static func start(
        in directory: DataDirectory, environment: [String: String], logger: Logger
    ) async throws -> EmbeddedPostgres {
        let installations = await PostgresInstallation.all(
            debianDirectory: "/usr/lib/postgresql", searchPath: environment["PATH"] ?? "")
        return try await start(
            in: directory, runtimeDirectory: environment["XDG_RUNTIME_DIR"], installations: installations,
            logger: logger)
    }

    static func start(
        in directory: DataDirectory, runtimeDirectory: String?, installations: [PostgresInstallation], logger: Logger
    ) async throws -> EmbeddedPostgres {
        let account = PostgresAccount.current
        let paths = ClusterPaths(
            home: directory.postgres,
            // Root's own is closed to PostgreSQL's user, and in /tmp anyone can make a directory of that name first.
            runtimeDirectory: account.name == nil ? runtimeDirectory : "/run",
            userID: geteuid()
        )
        let version = try paths.clusterVersion()
        let installation = try PostgresInstallation.choose(
            from: installations, clusterVersion: version, directory: paths.cluster)
        try await directory.make()
        let lock = try DirectoryLock(directory: directory.path)
        do {
            let launcher = PostgresLauncher(paths: paths, account: account, installation: installation, logger: logger)
            let (server, adopted) = try await launcher.launch()
            return EmbeddedPostgres(
                paths: paths, lock: lock, logger: logger, processID: server.processID, wasAdopted: adopted)
        } catch {
            lock.release()
            throw error
        }
    }

    /// How libpq connects to the cluster.
    ///
    /// - Parameter role: Any role: the socket's owner needs no password.
    public func connectionString(role: String = superuser, database: String = database) -> String {
        let settings = [
            ("host", paths.sockets), ("port", String(Self.port)), ("dbname", database), ("user", role),
        ]
        return settings.map { name, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
            return "\(name)='\(escaped)'"
        }.joined(separator: " ")
    }

    /// Whether the server runs.
    public var isRunning: Bool {
        PostmasterFile.isServer(processID, ofCluster: paths.cluster)
    }

    /// Watches the server until the group stops, and then stops it.
    ///
    /// - Throws: ``EmbeddedPostgresError/stopped(log:)`` if the server stops before it is told to.
    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                while isRunning {
                    try await Task.sleep(for: .milliseconds(500))
                }
                throw EmbeddedPostgresError.stopped(log: paths.logTail())
            }
        } catch is CancellationError {
            await stop()
        } catch {
            lock.release()
            throw error
        }
    }

    /// Stops the server: connections are closed, what was committed is kept. Does nothing if it has stopped already.
    ///
    /// In a cancelled task the server is told to stop, and not waited for.
    public func stop() async {
        defer { lock.release() }
        guard isRunning else { return }
        logger.debug("Stopping PostgreSQL", metadata: ["postgres.pid": "\(processID)"])
        // Fast shutdown first; then the immediate one, after which the next start recovers from the log.
        for (signal, patience) in [(SIGINT, Duration.seconds(30)), (SIGQUIT, .seconds(10))] {
            guard isRunning else { return }
            kill(processID, signal)
            if await hasEnded(within: patience) || Task.isCancelled { return }
        }
        logger.error("PostgreSQL did not stop", metadata: ["postgres.pid": "\(processID)"])
    }

    private func hasEnded(within patience: Duration) async -> Bool {
        let deadline = ContinuousClock.now + patience
        while isRunning {
            guard ContinuousClock.now < deadline else { return false }
            do {
                try await Task.sleep(for: .milliseconds(20))
            } catch {
                return false
            }
        }
        return true
    }
}

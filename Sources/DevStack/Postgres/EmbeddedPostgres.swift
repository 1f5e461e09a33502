import FoundationEssentials
import Glibc
public import Logging
public import ServiceLifecycle

/// A PostgreSQL cluster run by this program. It is reachable through a socket that only its user can open, never over
/// TCP.
///
/// The server keeps running if the program is killed, and the next start takes it over. As a service, this type
/// monitors the server and stops it with the service group. Put it first in the group, so that it stops last.
public struct EmbeddedPostgres: Service {
    /// Part of the socket's name; the server does not listen on TCP.
    static let port = 5432
    /// The database that is created with the cluster.
    public static let database = "sluice"
    /// The superuser of the cluster.
    public static let superuser = "postgres"

    private let paths: ClusterPaths
    /// The operating system releases the lock if the program is killed.
    let lock: DirectoryLock
    private let logger: Logger
    let processID: Int32

    /// Starts the cluster in a data directory and waits until it accepts connections. The first start creates the
    /// cluster. A task that is cancelled meanwhile ends the programs that it runs. It may leave a server that is
    /// stopping, which the next start waits for.
    ///
    /// - Parameters:
    ///   - directory: The data directory; only one process at a time can use it.
    ///   - environment: Environment variables. PostgreSQL is searched in Debian's directory and in `PATH`.
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
            // Root's runtime directory is closed to PostgreSQL's user, and in /tmp anyone could create a directory of
            // that name first.
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
            let server = try await launcher.launch()
            return EmbeddedPostgres(paths: paths, lock: lock, logger: logger, processID: server.processID)
        } catch {
            lock.release()
            throw error
        }
    }

    /// Returns the libpq connection string for the cluster.
    ///
    /// - Parameters:
    ///   - role: The role to connect as. Any role works, because the socket's owner needs no password.
    ///   - database: The database to connect to.
    public func connectionString(role: String = superuser, database: String = Self.database) -> String {
        let settings = [
            ("host", paths.sockets), ("port", String(Self.port)), ("dbname", database), ("user", role),
        ]
        return settings.map { name, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
            return "\(name)='\(escaped)'"
        }.joined(separator: " ")
    }

    /// Whether the server is running.
    var isRunning: Bool {
        PostmasterFile.isServer(processID, ofCluster: paths.cluster, sockets: paths.sockets)
    }

    /// Monitors the server until the service group stops, and then stops the server.
    ///
    /// - Throws: ``EmbeddedPostgresError/stopped(log:)`` if the server stops on its own.
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

    /// Stops the server. Connections are closed, and committed data is kept. Does nothing if the server has already
    /// stopped.
    ///
    /// In a cancelled task, this signals the server to stop but does not wait for it.
    public func stop() async {
        defer { lock.release() }
        guard isRunning else { return }
        logger.debug("Stopping PostgreSQL", metadata: ["postgres.pid": "\(processID)"])
        // First a fast shutdown, then an immediate one, after which the next start recovers from the log.
        for (signal, patience) in [(SIGINT, Duration.seconds(30)), (SIGQUIT, .seconds(10))] {
            guard isRunning else { return }
            kill(processID, signal)
            if await hasEnded(within: patience) || Task.isCancelled { return }
        }
        logger.error("PostgreSQL did not stop", metadata: ["postgres.pid": "\(processID)"])
    }

    /// Tells the server to stop, and does not wait for that. The next start does.
    public func tellToStop() {
        guard isRunning else { return }
        kill(processID, SIGINT)
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

import Foundation
import Glibc
public import Logging
public import ServiceLifecycle

/// A PostgreSQL cluster of the program's own, reachable through a socket that only its user can open, never over TCP.
///
/// It outlives a program that is killed; the next start takes such a server over as it runs. As a service it watches the
/// server, and ends it when the group stops: put it first, so that it ends last.
public struct EmbeddedPostgres: Service {
    /// Only names the socket, since nothing listens on TCP.
    static let port = 5432
    /// The database that is made with the cluster.
    public static let database = "sluice"
    /// The superuser of the cluster.
    public static let superuser = "postgres"

    private let paths: ClusterPaths
    /// Let go of by the system when the program is killed.
    let lock: DirectoryLock
    private let logger: Logger
    /// Process id of the server.
    let processID: Int32

    /// Whether the server was found running, left over by an earlier run.
    public let wasAdopted: Bool

    /// Starts the cluster in a data directory, made on the first start, and waits until it takes connections.
    ///
    /// - Parameters:
    ///   - directory: Where the cluster lives; no two processes can use one at a time.
    ///   - environment: `PATH` leads to PostgreSQL where Debian's directory does not, `XDG_RUNTIME_DIR` to a place for the
    ///     socket when the data directory's path is too long for one.
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
    /// - Parameter role: The socket admits its owner as any role, without a password.
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

    /// Watches the server until the group stops, and then ends it.
    ///
    /// - Throws: ``EmbeddedPostgresError/stopped(log:)`` when the server ends before it is told to.
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

    /// Ends the server: connections are cut, what was committed is kept. Does nothing when it has ended.
    ///
    /// In a cancelled task the server is told to end, and not waited for.
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
        logger.error("PostgreSQL did not end", metadata: ["postgres.pid": "\(processID)"])
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

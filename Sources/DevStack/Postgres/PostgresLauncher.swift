import FoundationEssentials
import Glibc
import Logging

/// Creates a cluster if there is none, and starts its server if it is not running.
struct PostgresLauncher: Sendable {
    let paths: ClusterPaths
    let account: PostgresAccount
    let installation: PostgresInstallation
    let logger: Logger

    /// Maximum start time of a server in seconds, including recovery.
    private static let startTimeout = 60

    /// Maximum time that leftover sessions of a killed server may prevent the next one from starting.
    private static let orphanTimeout = Duration.seconds(15)

    /// Returns the server, ready for connections. It may have been running already, left by an earlier run.
    ///
    /// - Throws: ``EmbeddedPostgresError``.
    func launch() async throws -> PostmasterFile {
        try await account.makePrivateDirectory(paths.home)
        try await account.makePrivateDirectory(paths.sockets)
        if let survivor = try await survivor() {
            logger.debug("Found PostgreSQL running", metadata: ["postgres.pid": "\(survivor.processID)"])
            return survivor
        }
        if try paths.clusterVersion() == nil {
            try await makeCluster()
        }
        do { try await startServer() } catch {
            if let halfway = runningServer() { kill(halfway.processID, SIGINT) }
            throw error
        }
        guard let server = runningServer() else {
            throw EmbeddedPostgresError.stopped(log: paths.logTail())
        }
        return server
    }

    private func runningServer() -> PostmasterFile? {
        .ofRunningServer(of: paths)
    }

    /// Returns the server that an earlier run left, once it is ready; `nil` if there is none, or if it was stopping.
    private func survivor() async throws -> PostmasterFile? {
        let deadline = ContinuousClock.now + .seconds(Self.startTimeout)
        while let server = runningServer() {
            let isOurs = server.socketDirectory == paths.sockets
            if isOurs, server.status == "ready" { return server }
            // The socket of that server is at an earlier path of the directory, so the server must restart.
            if !isOurs, !server.socketDirectory.isEmpty { kill(server.processID, SIGINT) }
            guard ContinuousClock.now < deadline else {
                throw EmbeddedPostgresError.startFailed(
                    reason: "an earlier server, process \(server.processID), neither becomes ready nor stops.",
                    log: paths.logTail())
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        return nil
    }

    private func makeCluster() async throws {
        logger.info("Creating a PostgreSQL cluster", metadata: ["postgres.directory": "\(paths.cluster)"])
        // An interrupted start may have left this directory.
        try? FileManager.default.removeItem(atPath: paths.unfinished)
        try await create([
            installation.path(of: "initdb"), "--pgdata=\(paths.unfinished)", "--username=\(EmbeddedPostgres.superuser)",
            "--encoding=UTF8", "--locale=C.UTF-8", "--auth-local=trust", "--auth-host=reject",
        ])
        try await create(
            [
                installation.path(of: "postgres"), "--single", "-j", "-D", paths.unfinished,
                "-c", "exit_on_error=on", EmbeddedPostgres.superuser,
            ],
            input: "CREATE DATABASE \(EmbeddedPostgres.database);\n\n")
        try await create(["/bin/mv", "-T", paths.unfinished, paths.cluster])
    }

    private func create(_ words: [String], input: String = "") async throws {
        let outcome = try await account.command(words, workingDirectory: paths.home).run(input: input)
        guard outcome.succeeded else { throw EmbeddedPostgresError.creationFailed(reason: outcome.output) }
    }

    private func startServer() async throws {
        try? FileManager.default.removeItem(atPath: paths.log)
        removeStaleLocks()
        let settings = [
            "listen_addresses=", "port=\(EmbeddedPostgres.port)", "unix_socket_directories=\(paths.sockets)",
            "unix_socket_permissions=0700", "fsync=on", "log_destination=stderr", "logging_collector=off",
            "log_checkpoints=off",
        ]
        // pg_ctl passes its arguments to a shell, so no path chosen by a user is among them. The cluster is passed in
        // the environment and the log by the working directory; the socket directory needs no quotes.
        let command = account.command(
            [
                installation.path(of: "pg_ctl"), "start", "--wait", "--timeout=\(Self.startTimeout)", "--silent",
                "--log=\(ClusterPaths.logName)", "--options=\(settings.map { "-c \($0)" }.joined(separator: " "))",
            ],
            workingDirectory: paths.home,
            variables: ["PGDATA": paths.cluster]
        )
        let deadline = ContinuousClock.now + Self.orphanTimeout
        var outcome = try await command.run()
        // Sessions of a killed server end within moments, but prevent the next server from starting until then.
        while !outcome.succeeded, paths.logTail().contains("pre-existing shared memory block"),
            ContinuousClock.now < deadline
        {
            try await Task.sleep(for: .milliseconds(200))
            try? FileManager.default.removeItem(atPath: paths.log)
            outcome = try await command.run()
        }
        guard !outcome.succeeded else { return }
        throw EmbeddedPostgresError.startFailed(reason: outcome.output, log: paths.logTail())
    }

    /// Removes the lock files of a server that is gone. They identify the server only by process id. By now that id may
    /// belong to another program, or to an ended process that its parent has not waited for.
    private func removeStaleLocks() {
        let socket = "\(paths.sockets)/.s.PGSQL.\(EmbeddedPostgres.port)"
        for path in [PostmasterFile.path(inCluster: paths.cluster), "\(socket).lock", socket] {
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}

import Foundation
import Glibc
import Logging
import ServiceLifecycle
import TestSupport
import Testing

@testable import DevStack

/// Runs `body` with a data directory that PostgreSQL's user can reach. Afterwards, removes it with the server in it.
private func withDataDirectory(
    _ body: (DataDirectory) async throws -> Void
) async throws {
    let directory = DataDirectory("/tmp/sluice-dev-test-\(UUID().uuidString.prefix(8))", workingDirectory: "/")
    var failure: (any Error)?
    do {
        try await body(directory)
    } catch {
        failure = error
    }
    if let left = server(in: directory) { kill(left.processID, SIGQUIT) }
    try await eventually { server(in: directory) == nil }
    // Sessions of a killed server may still write there for a moment.
    try await eventually {
        try? FileManager.default.removeItem(atPath: directory.path)
        return !FileManager.default.fileExists(atPath: directory.path)
    }
    if let failure { throw failure }
}

/// The server that runs in a data directory.
private func server(in directory: DataDirectory) -> PostmasterFile? {
    .ofRunningServer(of: ClusterPaths(home: directory.postgres, runtimeDirectory: nil, userID: geteuid()))
}

private func query(_ sql: String, _ postgres: EmbeddedPostgres) async throws -> String {
    let outcome = try await Command(["/usr/bin/psql", "-XAtq", "-d", postgres.connectionString(), "-c", sql]).run()
    try #require(outcome.succeeded, "\(outcome.output)")
    return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
}

private func start(in directory: DataDirectory) async throws -> EmbeddedPostgres {
    try await EmbeddedPostgres.start(
        in: directory, environment: ProcessInfo.processInfo.environment, logger: Logger(label: "test"))
}

@Suite(.timeLimit(.minutes(5))) struct EmbeddedPostgresTests {
    @Test func `a first start makes a durable UTF-8 cluster that only the socket's owner can reach`() async throws {
        try await withDataDirectory { directory in
            let postgres = try await start(in: directory)
            let settings = """
                SELECT string_agg(current_setting(name), ' ' ORDER BY place) FROM unnest(ARRAY['fsync', 'synchronous_commit',
                'server_encoding', 'lc_collate', 'unix_socket_permissions']) WITH ORDINALITY AS wanted(name, place)
                """
            #expect(try await query(settings, postgres) == "on on UTF8 C.UTF-8 0700")
            #expect(try await query("SHOW listen_addresses", postgres) == "")
            #expect(try await query("SELECT current_database(), current_user", postgres) == "sluice|postgres")

            let sockets = try FileManager.default.attributesOfItem(atPath: "\(directory.postgres)/run")
            #expect(sockets[.posixPermissions] as? Int == 0o700)
            // A separate session: signals from the tests' terminal do not reach it.
            let stat = try String(contentsOfFile: "/proc/\(postgres.processID)/stat", encoding: .utf8)
            let afterName = try #require(stat.split(separator: ") ").last).split(separator: " ")
            #expect(afterName[3] == "\(postgres.processID)")
            await postgres.stop()
        }
    }

    @Test func `stopping leaves no process, and a second start finds what the first wrote`() async throws {
        try await withDataDirectory { directory in
            let first = try await start(in: directory)
            _ = try await query("CREATE TABLE kept AS SELECT 42 AS answer", first)
            await first.stop()
            #expect(!first.isRunning)
            #expect(server(in: directory) == nil)
            // A process that has ended has no working directory, even before its parent has waited for it.
            #expect(throws: (any Error).self) {
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(first.processID)/cwd")
            }

            let second = try await start(in: directory)
            #expect(second.processID != first.processID)
            #expect(try await query("SELECT answer FROM kept", second) == "42")
            await second.stop()
        }
    }

    @Test func `a server that outlived its program is taken over with its connections`() async throws {
        try await withDataDirectory { directory in
            // The remains of a killed program: a running server, and no lock.
            let first = try await start(in: directory)
            first.lock.release()

            let second = try await start(in: directory)
            #expect(second.processID == first.processID)
            #expect(try await query("SELECT 1", second) == "1")
            await second.stop()
            #expect(server(in: directory) == nil)
        }
    }

    @Test func `a server that is on its way out is waited for, and started anew`() async throws {
        try await withDataDirectory { directory in
            let first = try await start(in: directory)
            first.lock.release()
            kill(first.processID, SIGTERM)
            let second = try await start(in: directory)
            #expect(second.isRunning)
            await second.stop()
        }
    }

    @Test func `a cluster whose server was killed recovers, whoever has its process number now`() async throws {
        try await withDataDirectory { directory in
            let first = try await start(in: directory)
            _ = try await query("CREATE TABLE kept AS SELECT 42 AS answer", first)
            first.lock.release()
            kill(first.processID, SIGKILL)
            try await eventually { !first.isRunning }
            let file = PostmasterFile.path(inCluster: "\(directory.postgres)/cluster")
            let stale = try String(contentsOfFile: file, encoding: .utf8)
            let reused = stale.replacing("\(first.processID)\n", with: "\(getpid())\n", maxReplacements: 1)
            try Data(reused.utf8).write(to: URL(fileURLWithPath: file))

            let second = try await start(in: directory)
            #expect(second.processID != first.processID)
            #expect(try await query("SELECT answer FROM kept", second) == "42")
            await second.stop()
        }
    }

    @Test func `a directory that cannot be made is named`() async throws {
        await #expect {
            _ = try await start(in: DataDirectory("/dev/null/data", workingDirectory: "/"))
        } throws: { error in
            "\(error)".contains("/dev/null/data cannot hold the PostgreSQL cluster")
        }
    }

    @Test func `two programs cannot share a data directory`() async throws {
        try await withDataDirectory { directory in
            let first = try await start(in: directory)
            let expected = EmbeddedPostgresError.inUse(directory: directory.path, holder: Int(getpid()))
            await #expect(throws: expected) { try await start(in: directory) }
            #expect(first.isRunning)
            await first.stop()
        }
    }

    @Test func `as a service it ends the server when the group stops`() async throws {
        try await withDataDirectory { directory in
            let postgres = try await start(in: directory)
            let group = ServiceGroup(services: [postgres], logger: Logger(label: "test"))
            async let running: Void = group.run()
            await group.triggerGracefulShutdown()
            try await running
            #expect(server(in: directory) == nil)
            // The lock is free again.
            let second = try await start(in: directory)
            await second.stop()
        }
    }

    @Test func `as a service it fails when the server ends by itself`() async throws {
        try await withDataDirectory { directory in
            let postgres = try await start(in: directory)
            kill(postgres.processID, SIGKILL)
            await #expect {
                try await postgres.run()
            } throws: { error in
                if case EmbeddedPostgresError.stopped(let log) = error {
                    log.contains("ready to accept")
                } else {
                    false
                }
            }
        }
    }

    @Test func `a cancelled service tells the server to end`() async throws {
        try await withDataDirectory { directory in
            let postgres = try await start(in: directory)
            await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await postgres.run() }
                group.cancelAll()
            }
            try await eventually { server(in: directory) == nil }
        }
    }

    @Test func `a broken cluster is reported with the end of its log`() async throws {
        try await withDataDirectory { directory in
            let first = try await start(in: directory)
            await first.stop()
            try FileManager.default.removeItem(atPath: "\(directory.postgres)/cluster/global/pg_control")
            await #expect {
                _ = try await start(in: directory)
            } throws: { error in
                "\(error)".contains("pg_control")
            }
            // Nothing is kept: a second attempt gives the same answer, not that the directory is in use.
            await #expect {
                _ = try await start(in: directory)
            } throws: { error in
                if case EmbeddedPostgresError.startFailed = error { true } else { false }
            }
        }
    }

    @Test func `what an interrupted first start left is made anew, what is no cluster is left alone`() async throws {
        try await withDataDirectory { directory in
            let unfinished = "\(directory.postgres)/cluster.unfinished/base"
            try FileManager.default.createDirectory(atPath: unfinished, withIntermediateDirectories: true)
            let postgres = try await start(in: directory)
            await postgres.stop()
            #expect(!FileManager.default.fileExists(atPath: "\(directory.postgres)/cluster.unfinished"))
        }
        try await withDataDirectory { directory in
            let precious = "\(directory.postgres)/cluster/precious"
            try FileManager.default.createDirectory(atPath: precious, withIntermediateDirectories: true)
            let expected = EmbeddedPostgresError.notACluster(directory: "\(directory.postgres)/cluster")
            await #expect(throws: expected) { try await start(in: directory) }
            #expect(FileManager.default.fileExists(atPath: precious))
        }
    }

    @Test func `a start that is cancelled ends what it runs, and the next one begins anew`() async throws {
        try await withDataDirectory { directory in
            let cluster = "\(directory.postgres)/cluster"
            let hasStarted = try await withThrowingTaskGroup(of: EmbeddedPostgres.self) { group -> Bool in
                group.addTask { try await start(in: directory) }
                try await eventually { FileManager.default.fileExists(atPath: "\(cluster).unfinished") }
                group.cancelAll()
                return (try? await group.next()) != nil
            }
            #expect(!hasStarted && !FileManager.default.fileExists(atPath: cluster))
            let second = try await start(in: directory)
            #expect(try await query("SELECT 1", second) == "1")
            await second.stop()
        }
    }

    @Test func `signals from a terminal do not reach the programs that a start runs`() async throws {
        let outcome = try await Command(["/usr/bin/cut", "-d", " ", "-f", "1,5", "/proc/self/stat"]).run()
        let numbers = outcome.output.split(whereSeparator: \.isWhitespace)
        // It leads a process group of its own.
        #expect(numbers.count == 2 && numbers.first == numbers.last, "\(outcome.output)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root's home is closed to PostgreSQL's user"))
    func `a directory that PostgreSQL's user cannot reach is named`() async throws {
        let closed = "/tmp/sluice-dev-closed-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: closed, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: closed) }
        await #expect {
            _ = try await start(in: DataDirectory("data", workingDirectory: closed))
        } throws: { error in
            "\(error)".contains("\(closed)/data/postgres cannot hold") && "\(error)".contains("cannot reach it")
        }
    }
}

@Suite struct DataDirectoryModeTests {
    @Test(arguments: [0o700, 0o750, 0o777]) func `a directory that exists keeps its mode`(mode: Int) async throws {
        let path = "/tmp/sluice-dev-mode-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        try await DataDirectory(path, workingDirectory: "/").make()
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == mode)
    }
}

@Suite struct ClusterPlaceTests {
    @Test func `a machine without PostgreSQL gets the command that installs it`() async {
        let none = await PostgresInstallation.all(debianDirectory: "/nonexistent", searchPath: "relative:/nonexistent")
        #expect(none.isEmpty)
        let error = #expect(throws: EmbeddedPostgresError.notInstalled) {
            try PostgresInstallation.choose(from: none, clusterVersion: nil, directory: "/d")
        }
        #expect(error?.description.contains("apt-get install postgresql") == true)
    }

    @Test func `a process that works in a cluster's directory is not its server for that`() {
        let here = FileManager.default.currentDirectoryPath
        #expect(!PostmasterFile.isServer(getpid(), ofCluster: here, sockets: here))
    }

    @Test func `the server on the search path is asked for its version`() async throws {
        let packaged = try #require(
            await PostgresInstallation.all(debianDirectory: "/usr/lib/postgresql", searchPath: "").first)
        let onPath = await PostgresInstallation.all(
            debianDirectory: "/nonexistent", searchPath: "/usr/bin:\(packaged.binaryDirectory)")
        #expect(onPath == [packaged])
    }

    @Test func `a cluster gets the release that made it, a new one the newest`() throws {
        let installed = [17, 15].map { PostgresInstallation(binaryDirectory: "/\($0)", version: $0) }
        #expect(try PostgresInstallation.choose(from: installed, clusterVersion: nil, directory: "/d").version == 17)
        #expect(try PostgresInstallation.choose(from: installed, clusterVersion: 15, directory: "/d").version == 15)
        #expect(throws: EmbeddedPostgresError.wrongVersion(cluster: 16, installed: [17, 15], directory: "/d")) {
            try PostgresInstallation.choose(from: installed, clusterVersion: 16, directory: "/d")
        }
    }

    @Test(arguments: [
        ("/var/lib/sluice-dev/0123456789ab/postgres", "/var/lib/sluice-dev/0123456789ab/postgres/run"),
        ("/home/" + String(repeating: "x", count: 100), "/run/user/7/sluice-dev-7-"),
        ("/home/a b", "/run/user/7/sluice-dev-7-"),
        ("/home/$(reboot)", "/run/user/7/sluice-dev-7-"),
        ("/home/a,b", "/run/user/7/sluice-dev-7-"),
    ])
    func `a socket's path is short and needs no quotes`(home: String, expected: String) {
        let paths = ClusterPaths(home: home, runtimeDirectory: "/run/user/7", userID: 7)
        #expect(paths.sockets.hasPrefix(expected))
        #expect("\(paths.sockets)/.s.PGSQL.5432".utf8.count <= 107)
        let withoutRuntime = ClusterPaths(home: home, runtimeDirectory: nil, userID: 7).sockets
        #expect(withoutRuntime == paths.sockets || withoutRuntime.hasPrefix("/tmp/sluice-dev-7-"))
    }

    @Test func `each directory that the command starts in has data of its own`() {
        func path(_ environment: [String: String], _ directory: String, isRoot: Bool = false) -> String {
            DataDirectory.standard(environment: environment, workingDirectory: directory, isRoot: isRoot).path
        }
        let home = ["HOME": "/home/alice"]
        #expect(path(home, "/a").hasPrefix("/home/alice/.local/state/sluice-dev/"))
        #expect(path(home, "/a") != path(home, "/b"))
        #expect(path(["XDG_STATE_HOME": "/state", "HOME": "/h"], "/a").hasPrefix("/state/sluice-dev/"))
        #expect(path(["XDG_STATE_HOME": "relative", "HOME": "/h"], "/a").hasPrefix("/h/.local/state/sluice-dev/"))
        #expect(path([:], "/a") == "/a/.sluice-dev")
        #expect(path(home, "/a", isRoot: true).hasPrefix("/var/lib/sluice-dev/"))
        #expect(DataDirectory("data", workingDirectory: "/a/b").path == "/a/b/data")
        #expect(DataDirectory("/data/", workingDirectory: "/a/b").path == "/data")
    }
}

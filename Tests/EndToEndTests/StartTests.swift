import Foundation
import Glibc
import LibPQ
import Logging
import PostgresTesting
import TestSupport
import Testing

/// Configurations with which a gateway refuses to start.
@Suite(.deployment) struct StartTests {
    private func failure(at site: Deployment, _ key: String) async throws -> ProgramError {
        site.keepSecret(key)
        return try await #require(throws: ProgramError.self) {
            try await site.startGateway(["SLUICE_MASTER_KEY": key])
        }
    }

    @Test func `another master key than that of the database is named, and not shown`() async throws {
        let site = try Deployment.current
        let other = Deployment.randomMasterKey()
        // Nothing is sealed yet.
        let early = try await site.startGateway(["SLUICE_MASTER_KEY": "k2:\(other)"])
        await site.end(early) { await early.crash() }
        let namesake = try await failure(at: site, "k1:\(other)")
        #expect(namesake.status == 1 && namesake.output.contains("running gateways have another master key 'k1': "))
        #expect(namesake.output.contains("Copy the master key of those gateways"), "\(namesake)")
        try await site.makeBucket("sealed")
        let own = try #require(site.environment["SLUICE_MASTER_KEY"])
        for (key, id, advice) in [
            ("k2:\(other)", "'k1' is not among those given", "below the first line"),
            ("k1:\(other)", "'k1' does not open", "in place of the one named 'k1'"),
        ] {
            let error = try await failure(at: site, key)
            #expect(error.status == 1)
            #expect(error.output.contains("SLUICE_MASTER_KEY: the master key \(id)"), "\(error)")
            #expect(error.output.contains(advice), "\(error)")
            #expect(!error.output.contains(other) && !error.output.contains("listening"))
        }
        let both = ["SLUICE_MASTER_KEY": "k2:\(other)\n\(own)"]
        #expect(try await site.startGateway(both).process.isRunning)

        let user = try await site.makeUser("alice")
        try await site.grant(["GetObject"], to: user.principal, in: "sealed")
        // The first gateway has only the old key. Nothing is sealed that it could not open.
        let first = site.gateways[0]
        let id = try #require(first.log.firstMatch(of: #/gateway=([0-9a-f-]{36})/#)).1
        let refused = try await lastLine(["rotate-master-key"], site.environment.merging(both) { $1 })
        #expect(refused["level"] == "critical" && refused["message"] == "The rotation of the master key failed")
        let cause = try #require(refused["cause"].text)
        #expect(cause.contains("do not seal with the master key 'k2:") && cause.contains("\(id), version"), "\(cause)")
        #expect(refused["advice"].text?.contains("put it first on each") == true, "\(refused)")
        #expect(!"\(refused)".contains(other))
        #expect(try await user.ask(.download("k", from: "sealed")).status == 201)
        await site.end(first) { #expect(await first.terminate() == 0) }
        _ = try await Program.run(["rotate-master-key"], environment: site.environment.merging(both) { $1 })
        let audited = "SELECT count(*) FROM admin_audit WHERE actor = 'rotate-master-key' AND operation = 'update'"
        #expect(try await site.number(audited) == 1)
        #expect(try await failure(at: site, own).output.contains("SLUICE_MASTER_KEY: the master key 'k2' is not"))
        let last = try await site.startGateway(["SLUICE_MASTER_KEY": "k2:\(other)"])
        #expect(try await user.client.at(last.port).ask(.download("k", from: "sealed")).status == 201)
    }

    @Test func `a gateway that starts beside one with another key of that name sees it, and leaves nothing behind`()
        async throws
    {
        try await Deployment.with(gateways: 0) { site in
            try await site.makeRival(withKey: "k1")
            let refused = try await failure(at: site, try #require(site.environment["SLUICE_MASTER_KEY"]))
            #expect(refused.status == 1)
            #expect(
                refused.output.contains("running gateways have another master key 'k1': \(Deployment.rival)"),
                "\(refused)")
            let others = "SELECT count(*) FROM gateways WHERE id <> '\(Deployment.rival)'"
            #expect(try await site.number(others) == 0)
            try await site.removeRival()

            let gateway = try await site.startGateway()
            try await waitUntil("the gateway is known") { try await site.number(others) == 1 }
            let taken = try await lastLine(
                ["serve"], site.environment.merging(["SLUICE_LISTEN": "127.0.0.1:\(gateway.port)"]) { $1 })
            #expect(taken["cause"].text?.contains("Address already in use") == true, "\(taken)")
            #expect(try await site.number(others) == 1)
        }
    }

    @Test func `the bootstrap key and the password of the database may come from files`() async throws {
        // A deployment of its own: the previous test gives the secrets in its database another master key.
        try await Deployment.with { site in
            let (login, key) = ("\(site.databaseName)_login", "from-a-file-\(UUID().uuidString.lowercased())")
            let password = "pass word 'of' \\ é-\(UUID().uuidString)"
            for secret in [key, password] { site.keepSecret(secret) }
            try await site.requirePassword(password, of: login)
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(at: folder) }
            var settings = [
                "SLUICE_BOOTSTRAP_ADMIN_KEY": "",
                "SLUICE_DATABASE_URL": site.cluster.connectionString(database: site.databaseName)
                    .replacing("user=postgres", with: "user=\(login)"),
            ]
            for (name, text) in [("SLUICE_BOOTSTRAP_ADMIN_KEY_FILE", key), ("SLUICE_DATABASE_PASSWORD_FILE", password)]
            {
                let file = folder.appending(path: name)
                try Data((text + "\n").utf8).write(to: file)
                settings[name] = file.path
            }
            let gateway = try await site.startGateway(settings)
            let admin = APIClient(port: gateway.port, token: key)
            #expect(try await admin.call("GET", "/admin/v1/buckets").status == 200)
            #expect(try await site.admin.at(gateway.port).call("GET", "/admin/v1/buckets").status == 401)
        }
    }

    /// Runs a command that fails, and returns the one line that it wrote, as the members of its JSON; `prefix` is a
    /// command that runs it.
    private func lastLine(
        _ command: [String], _ environment: [String: String], status: Int32 = 1, through prefix: [String] = []
    ) async throws -> JSON {
        let settings = ["SLUICE_LOG_FORMAT": "json", "SLUICE_LOG_LEVEL": "critical", "SLUICE_LISTEN": "127.0.0.1:0"]
        let process = try RunningProcess(
            prefix + [Program.path] + command, environment: settings.merging(environment) { $1 })
        #expect(await process.exitStatus() == status)
        #expect(process.output == "")
        let lines = process.errors.split(separator: "\n")
        #expect(lines.count == 1, "\(process.errors)")
        return try #require(try? JSON(Array((lines.last ?? "").utf8)), "\(process.errors)")
    }

    @Test func `a command that cannot start ends with one line of the log, with cause and advice`() async throws {
        // A deployment of its own: another test gives the secrets in the shared database another master key.
        try await Deployment.with { site in try await expectLastLines(at: site) }
    }

    @Test func `a gateway that fails on TLS or an address says so with advice, and is announced to nobody`()
        async throws
    {
        try await Supervisor.withFolder { folder in
            func files(_ name: String) async throws -> ReloadTests.Files {
                let own = folder.appending(path: name)
                try FileManager.default.createDirectory(at: own, withIntermediateDirectories: false)
                let made = ReloadTests.Files(in: own)
                _ = try await made.renew("copy")
                return made
            }
            let (good, other) = (try await files("good"), try await files("other"))
            let words = folder.appending(path: "words")
            try "words".write(to: words, atomically: true, encoding: .utf8)
            let missing = folder.appending(path: "missing").path
            try await Deployment.with { site in
                func tls(_ certificate: String, _ key: String) -> [String: String] {
                    ["SLUICE_TLS_CERTIFICATE_FILE": certificate, "SLUICE_TLS_KEY_FILE": key]
                }
                let fitting = tls(good.certificate.path, good.key.path)
                let taken = "127.0.0.1:\(site.gateways[0].port)"
                let cases: [(settings: [String: String], cause: String, advice: String)] = [
                    (tls(missing, good.key.path), "Cannot read \(missing)", "Correct the path"),
                    (tls(good.certificate.path, missing), "Cannot read \(missing)", "Correct the path"),
                    (tls(words.path, good.key.path), "\(words.path) has no certificate", "the certificates in PEM"),
                    (tls(good.certificate.path, words.path), "\(words.path) has no private key", "without a password"),
                    (tls(good.certificate.path, other.key.path), "\(other.key.path) is not the key of", "of that one"),
                    (fitting.merging(["SLUICE_LISTEN": taken]) { $1 }, "Address already in use", "choose another"),
                    (["SLUICE_ADMIN_LISTEN": taken], "Address already in use", "choose another"),
                    (["SLUICE_LISTEN": "192.0.2.1:0"], "Cannot listen on 192.0.2.1", "choose another"),
                ]
                try await waitUntil("the gateway is known") {
                    try await site.number("SELECT count(*) FROM gateways") == 1
                }
                for (settings, cause, advice) in cases {
                    let line = try await lastLine(["serve"], site.environment.merging(settings) { $1 })
                    #expect(line["cause"].text?.contains(cause) == true, "\(line)")
                    #expect(line["advice"].text?.contains(advice) == true, "\(line)")
                    #expect(try await site.number("SELECT count(*) FROM gateways") == 1, "\(cause)")
                }
            }
        }
    }

    @Test func `a gateway that may open too few files for clients does not start, and one more file is enough`()
        async throws
    {
        func limited(to files: Int) -> [String] { ["/bin/sh", "-c", "ulimit -n \(files); exec \"$@\"", "sh"] }
        try await Deployment.with { site in
            var needed = Int.max
            for files in [60, 100, 200, 300] {
                let line = try await lastLine(["serve"], site.environment, through: limited(to: files))
                let sentence = #/may open (\d+) files, and needs (\d+) to serve clients/#
                let told = try #require(line["cause"].text?.firstMatch(of: sentence), "\(line)")
                #expect(told.1 == "\(files)")
                needed = try #require(Int(told.2))
                #expect(line["advice"].text?.contains("'ulimit -n', to \(needed) and") == true, "\(line)")
            }
            _ = try await lastLine(["serve"], site.environment, through: limited(to: needed - 1))
            #expect(try await site.number("SELECT count(*) FROM gateways") <= 1)
            for (files, isWell) in [(needed - 1, false), (needed, true)] {
                let doctor = try RunningProcess(
                    limited(to: files) + [Program.path, "doctor"], environment: site.environment)
                _ = await doctor.exitStatus()
                #expect(doctor.output.contains("and needs \(needed) to serve clients") == !isWell, "\(doctor.output)")
            }
            let gateway = try await site.startGateway(by: limited(to: needed))
            for _ in 1...20 {
                #expect(try await APIClient(port: gateway.port).call("GET", "/healthz").status == 200)
            }
            let warning = "the limit of open files allows fewer connections than the configuration"
            try await waitUntil("it warns") { gateway.log.contains(warning) }
            await site.end(gateway) { #expect(await gateway.terminate() == 0) }
        }
    }

    @Test func `a database of another encoding is refused before anything is made in it`() async throws {
        let site = try Deployment.current
        let name = "\(site.databaseName)_plain"
        try await site.cluster.administrate(
            "CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
        let url = site.cluster.connectionString(database: name)
        let settings = site.environment.merging(["SLUICE_DATABASE_URL": url]) { $1 }
        for command in ["migrate", "serve"] {
            let line = try await lastLine([command], settings)
            #expect(line["cause"].text?.contains("encoding of the database is SQL_ASCII") == true, "\(line)")
            #expect(line["advice"].text?.contains("ENCODING 'UTF8'") == true, "\(line)")
        }
        let psql = ["/usr/bin/psql", "-XAtq", "-d", url, "-c", "SELECT to_regclass('schema_migrations') IS NULL"]
        let tables = try RunningProcess(psql, environment: [:])
        #expect(await tables.exitStatus() == 0)
        #expect(tables.output == "t\n", "\(tables.errors)")
        try await site.cluster.dropDatabase(name)
    }

    @Test func `a command that reads the tables names 'sluice migrate' where there are none`() async throws {
        let site = try Deployment.current
        let empty = try await site.cluster.createDatabase()
        func settings(_ database: String) -> [String: String] {
            site.environment.merging(["SLUICE_DATABASE_URL": site.cluster.connectionString(database: database)]) { $1 }
        }
        for command in [["audit-quotas"], ["rotate-master-key"], ["qualify", "photos"]] {
            let line = try await lastLine(command, settings(empty))
            #expect(line["cause"].text?.contains("run 'sluice migrate'") == true, "\(command): \(line)")
            let nowhere = try await lastLine(command, settings("no_such_database"))
            #expect(nowhere["advice"].text?.contains("Create the database") == true, "\(command): \(nowhere)")
            let mistakes = try await lastLine(command, ["SLUICE_DATABASE_URL": ""])
            #expect(mistakes["advice"].text?.contains("sluice serve --help") == true, "\(command): \(mistakes)")
        }
        try await site.cluster.dropDatabase(empty)
    }

    @Test func `a gateway warns once that 'sluice migrate' of its version did not run`() async throws {
        try await Deployment.with(gateways: 0) { site in
            let session = try site.session()
            try await session.runScript("UPDATE schema_functions SET checksum = '\\x00' WHERE name = 'uuid_v7'")
            let warning = "functions of the database are not those of this version"
            let early = try await site.startGateway()
            let lines = early.log.split(separator: "\n").filter { $0.contains(warning) }
            #expect(lines.count == 1 && lines.allSatisfy { $0.contains("names=uuid_v7") }, "\(early.log)")
            let refusal = await #expect(throws: ProgramError.self) {
                try await Program.run(["migrate", "--finish"], environment: site.environment)
            }
            #expect(refusal?.output.contains("uuid_v7; run 'sluice migrate' of this version first") == true)
            _ = try await Program.run(["migrate"], environment: site.environment)
            let late = try await site.startGateway()
            #expect(!late.log.contains(warning), "\(late.log)")
            await session.close()
        }
    }

    @Test func `a gateway warns once of a login that could change its own records`() async throws {
        try await Deployment.with(gateways: 0) { site in
            let login = "\(site.databaseName)_login"
            let session = try site.session()
            try await session.runScript("CREATE ROLE \(login) LOGIN IN ROLE sluice_gateway")
            let asSuperuser = site.cluster.connectionString(database: site.databaseName)
            let usual = ["SLUICE_DATABASE_URL": asSuperuser.replacing("user=postgres", with: "user=\(login)")]
            func warnings(_ settings: [String: String]) async throws -> [String] {
                let gateway = try await site.startGateway(settings)
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
                return gateway.log.split(separator: "\n").map(String.init)
                    .filter { $0.contains("the gateway's login has other rights than a gateway needs") }
            }
            #expect(try await warnings(usual) == [])
            let superuser = try await warnings([:])
            #expect(superuser.count == 1, "\(superuser)")
            #expect(
                superuser.allSatisfy { line in
                    [" warning ", "the superuser 'postgres'", "docs/operations.md"].allSatisfy(line.contains)
                }, "\(superuser)")
            try await session.runScript("GRANT DELETE ON issuances TO \(login)")
            let excess = try await warnings(usual)
            #expect(excess.count == 1 && excess.allSatisfy { $0.contains("DELETE on issuances") }, "\(excess)")
            await session.close()
        }
    }

    @Test func `a gateway whose transactions are read-only names the setting`() async throws {
        try await Deployment.with(gateways: 0) { site in
            try await site.cluster.administrate(
                "ALTER DATABASE \(site.databaseName) SET default_transaction_read_only = on")
            let line = try await lastLine(["serve"], site.environment)
            #expect(line["cause"].text?.contains("25006") == true, "\(line)")
            #expect(line["advice"].text?.contains("managed services set it when the disk is full") == true, "\(line)")
            try await site.cluster.administrate(
                "ALTER DATABASE \(site.databaseName) RESET default_transaction_read_only")
            // Its log is searched for secrets.
            try await site.startGateway()
        }
    }

    /// Runs a command of the program as the first process of a container.
    private func firstInContainer(_ command: String, _ environment: [String: String]) throws -> RunningProcess {
        try RunningProcess(
            ["/usr/bin/unshare", "--pid", "--fork", "--kill-child", Program.path, command], environment: environment)
    }

    /// The process of the program, which is not the only child of ``firstInContainer(_:_:)``.
    private func program(in process: RunningProcess) throws -> pid_t {
        let children = "/proc/\(process.processID)/task/\(process.processID)/children"
        return try #require(
            String(contentsOfFile: children, encoding: .utf8).split(separator: " ").compactMap { pid_t($0) }.first {
                try String(contentsOfFile: "/proc/\($0)/comm", encoding: .utf8) == "sluice\n"
            })
    }

    /// Nobody listens there.
    private static let nowhere = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"

    /// Whoever starts a machine starts both at once.
    @Test func `a gateway waits for a PostgreSQL that starts after it`() async throws {
        try await Deployment.with(cluster: try await TestCluster(ClusterOptions())) { site in
            try await site.cluster.stop()
            let process = try RunningProcess(
                [Program.path, "serve"],
                environment: site.environment.merging(["SLUICE_LISTEN": "127.0.0.1:0"]) { $1 })
            try await waitUntil("it has begun") { process.errors.contains("settings read") }
            #expect(process.isRunning && !process.errors.contains("listening"), "\(process.errors)")
            // What asks for a reload does not end it, and is done once it serves.
            process.signal(SIGHUP)
            try await site.cluster.start()
            try await waitUntil("it serves") { process.errors.contains("listening") || !process.isRunning }
            try await waitUntil("it reloads") { process.errors.contains("] reloaded") || !process.isRunning }
            process.signal(SIGTERM)
            #expect(await process.exitStatus() == 0, "\(process.errors)")
            #expect(process.errors.contains("listening"), "\(process.errors)")
            #expect(process.errors.split(separator: "\n").count { $0.hasSuffix("] reloaded") } == 1)
        }
    }

    @Test func `a gateway that waited half a minute for PostgreSQL ends with one line`() async throws {
        let began = ContinuousClock.now
        let line = try await lastLine(
            ["serve"], try Deployment.current.environment.merging(["SLUICE_DATABASE_URL": Self.nowhere]) { $1 })
        #expect(ContinuousClock.now - began >= .seconds(30))
        #expect(line["level"] == "critical" && line["message"] == "The gateway failed", "\(line)")
        #expect(line["cause"].text?.contains("PostgreSQL: unavailable: ") == true, "\(line)")
    }

    /// No signal ends the first process of a container that it does not await.
    @Test(arguments: [SIGTERM, SIGINT])
    func `a gateway that is told to stop while it waits for PostgreSQL ends`(signal: Int32) async throws {
        let site = try Deployment.current
        let process = try firstInContainer(
            "serve",
            site.environment.merging([
                "SLUICE_LISTEN": "127.0.0.1:0", "SLUICE_DATABASE_URL": Self.nowhere,
            ]) { $1 })
        try await waitUntil("it has begun") { process.errors.contains("settings read") }
        #expect(try kill(program(in: process), signal) == 0)
        #expect(await process.exitStatus() == 0)
        #expect(process.errors.contains("told to stop before it served"), "\(process.errors)")
    }

    /// Neither does a command have to be killed that works as the first process of a container.
    @Test(arguments: [SIGTERM, SIGINT]) func `a command that is told to stop ends`(signal: Int32) async throws {
        try await Deployment.with { site in
            let holder = try site.session()
            // `sluice migrate` waits for whoever else migrates.
            try await holder.runScript("BEGIN; SELECT pg_advisory_xact_lock(advisory_lock('migration'))")
            let process = try firstInContainer("migrate", site.environment)
            try await holder.waitForBlocked(on: "advisory")
            #expect(try kill(program(in: process), signal) == 0)
            #expect(await process.exitStatus() == 128 + signal)
            try await holder.runScript("ROLLBACK")
        }
    }

    private func expectLastLines(at site: Deployment) async throws {
        let login = "\(site.databaseName)_bare"
        let session = try site.session()
        try await session.runScript(
            "CREATE ROLE \(login) LOGIN; CREATE ROLE \(login)_member IN ROLE sluice_gateway LOGIN")
        await session.close()
        let superuser = try #require(site.environment["SLUICE_DATABASE_URL"])
        func settings(_ from: String, _ to: String) -> [String: String] {
            site.environment.merging(["SLUICE_DATABASE_URL": superuser.replacing(from, with: to)]) { $1 }
        }
        let bare = settings("user=postgres", "user=\(login)")
        let cases: [(command: String, settings: [String: String], cause: String, advice: String)] = [
            ("serve", bare, "PostgreSQL: ERROR 42501: permission denied", "GRANT sluice_gateway TO …"),
            ("migrate", bare, "the schema belongs to postgres", "Let the owner of the schema migrate it"),
            (
                "migrate",
                settings("user=postgres dbname=\(site.databaseName)", "user=\(login) dbname=template1"),
                "PostgreSQL: ERROR 42501: permission denied", "must own the database"
            ),
            ("serve", settings("user=postgres", "user=\(login)_no"), "does not exist", "Check the role"),
            ("migrate", settings("dbname=", "dbname=no_"), "does not exist", "Create the database"),
            (
                "serve", settings("dbname=\(site.databaseName)", "dbname=template1"), "run 'sluice migrate'",
                "as the owner of the schema"
            ),
            (
                "serve", site.environment.merging(["SLUICE_LISTEN": "127.0.0.1:\(site.gateways[0].port)"]) { $1 },
                "Address already in use", "choose another address or port"
            ),
            (
                "migrate", ["SLUICE_DATABASE_URL": "", "SLUICE_LISTEM": "1"],
                "there is no such setting; did you mean SLUICE_LISTEN?; SLUICE_DATABASE_URL: must be set",
                "sluice serve --help"
            ),
        ]
        for (command, settings, cause, advice) in cases {
            let line = try await lastLine([command], settings)
            #expect(line["level"] == "critical")
            #expect(line["message"] == .string(command == "serve" ? "The gateway failed" : "The migration failed"))
            #expect(line["cause"].text?.contains(cause) == true, "\(command): \(line)")
            #expect(line["advice"].text?.contains(advice) == true, "\(line)")
        }
        // Mistakes of the command line are not for the log.
        for arguments in [["serve", "--bogus"], ["serve", "--set"], ["dev", "--log-level", "loud"]] {
            let process = try RunningProcess([Program.path] + arguments, environment: ["SLUICE_LOG_FORMAT": "json"])
            #expect(await process.exitStatus() == 64)
            #expect(process.errors.hasPrefix("Error: "), "\(process.errors)")
        }
    }
}

extension Deployment {
    /// Makes a gateway login for which PostgreSQL asks a password, and waits until it does.
    fileprivate func requirePassword(_ password: String, of login: String) async throws {
        let session = try session()
        let quoted = password.replacing("'", with: "''")
        try await session.runScript(
            """
            SET standard_conforming_strings = on;
            CREATE ROLE \(login) LOGIN IN ROLE sluice_gateway PASSWORD '\(quoted)';
            DO $do$
            DECLARE
                file text := current_setting('hba_file');
                lines text[] := ARRAY(
                    SELECT line FROM string_to_table(pg_read_file(file), chr(10)) AS f (line) WHERE line !~ '^ *(#|$)');
            BEGIN
                EXECUTE format('COPY (SELECT unnest(%L::text[])) TO %L',
                    array_prepend('local \(databaseName) \(login) scram-sha-256', lines), file);
            END $do$;
            SELECT pg_reload_conf();
            """)
        let unknown = cluster.connectionString(database: databaseName).replacing("user=postgres", with: "user=\(login)")
        try await waitUntil("PostgreSQL asks for the password") {
            let connection = PostgresConnection(
                try PostgresConfiguration(connectionString: unknown, applicationName: "tests"),
                logger: Logger(label: "tests", factory: { _ in SwiftLogNoOpLogHandler() }))
            do {
                _ = try await connection.number("SELECT 1")
                await connection.close()
                return false
            } catch is PostgresError {
                return true
            }
        }
    }
}

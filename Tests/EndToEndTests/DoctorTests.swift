import Foundation
import Glibc
import HTTPServing
import HTTPTesting
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// `sluice doctor`: each fault is made on purpose, and must give its line.
@Suite struct DoctorTests {
    /// A fault, and the line that it must give.
    private struct Ailment {
        let name: String
        let check: String
        let outcome: String
        let message: String
        var advice = ""
        /// Whether no other line of this check tells of a fault.
        var isAlone = false
        /// Settings that differ; an empty text removes one.
        var settings: [String: String] = [:]
        /// SQL of a superuser that makes the fault, and takes it back. `LOGIN` stands for the gateway's login.
        var begin = ""
        var end = ""
    }

    private struct Examination {
        let status: Int32
        let findings: [JSON]

        /// Whether there is a line of this kind.
        func has(_ check: String, _ outcome: String, _ message: String = "", _ advice: String = "") -> Bool {
            findings.contains { finding in
                finding["check"].text == check && finding["outcome"].text == outcome
                    && (message.isEmpty || finding["message"].text?.contains(message) == true)
                    && (advice.isEmpty || finding["advice"].text?.contains(advice) == true)
            }
        }

        func count(_ outcome: String) -> Int { findings.count { $0["outcome"].text == outcome } }
    }

    /// Runs the command; `prefix` is a command that runs it.
    private func examine(
        _ environment: [String: String], _ arguments: [String] = [], through prefix: [String] = []
    ) async throws -> Examination {
        let process = try RunningProcess(
            prefix + [Program.path, "doctor", "--json"] + arguments,
            environment: environment.filter { !$0.value.isEmpty })
        let status = await process.exitStatus()
        let answer = try #require(try? JSON(Array(process.output.utf8)), "\(process.output) \(process.errors)")
        let examination = Examination(status: status, findings: answer["checks"].items)
        #expect(status == (examination.count("failed") > 0 ? 1 : 0), "\(process.output)")
        #expect(answer["ok"] == (status == 0 ? true : false))
        return examination
    }

    @Test func `all is well beside a running gateway, and each fault has its line`() async throws {
        var options = ClusterOptions()
        options.fsync = true
        options.listensOnTCP = true
        try await Deployment.with(cluster: try await TestCluster(options)) { site in
            let login = "\(site.databaseName)_login"
            let session = try site.session()
            // The gateway needs no right on what extensions and admins have put into the schema.
            try await session.runScript(
                """
                CREATE ROLE \(login) LOGIN IN ROLE sluice_gateway; CREATE ROLE bare LOGIN;
                CREATE ROLE mine LOGIN IN ROLE sluice_gateway;
                CREATE EXTENSION pg_buffercache; CREATE TABLE notes (); ALTER TABLE notes OWNER TO bare
                """
            )
            var environment = site.environment
            let asSuperuser = try #require(environment["SLUICE_DATABASE_URL"])
            environment["SLUICE_DATABASE_URL"] = asSuperuser.replacing("user=postgres", with: "user=\(login)")
            let origin = "http://127.0.0.1:\(site.gateways[0].port)"
            environment["SLUICE_LISTEN"] = "127.0.0.1:\(site.gateways[0].port)"
            environment["SLUICE_OUTBOUND_ALLOW"] = origin
            try await site.makeBucket("near", endpoint: origin)

            let well = try await examine(environment)
            #expect(well.status == 0 && well.count("warning") == 0 && well.count("skipped") == 0)
            let subjects = [
                "settings", "files", "database", "durability", "locks", "schema", "roles", "clock", "master-key",
                "gateways",
                "outbound", "listeners",
            ]
            #expect(Set(well.findings.compactMap { $0["check"].text }) == Set(subjects), "\(well.findings)")
            #expect(well.has("gateways", "ok", "Gateways that run: 1"))
            #expect(well.has("roles", "ok", "append to the ledger and the logs"))
            #expect(well.has("listeners", "ok", "in use, by a gateway"))
            #expect(well.has("master-key", "ok", "1 under 'k1'") && well.has("outbound", "ok", "answer: 1"))

            for ailment in try ailments(at: site, login, asSuperuser) {
                let environment = environment.merging(ailment.settings) { $1 }
                try await session.runScript(ailment.begin.replacing("LOGIN", with: login))
                let found = try await examine(environment)
                #expect(
                    found.has(ailment.check, ailment.outcome, ailment.message, ailment.advice),
                    "\(ailment.name): \(found.findings.filter { $0["outcome"] != "ok" })")
                #expect(ailment.outcome != "failed" || found.status == 1, "\(ailment.name)")
                let faults = found.findings.filter { $0["check"].text == ailment.check && $0["outcome"] != "ok" }
                #expect(!ailment.isAlone || faults.count == 1, "\(ailment.name): \(faults)")
                try await session.runScript(ailment.end.replacing("LOGIN", with: login))
            }
            // The gateway names what only it can see.
            let holder = try site.session()
            try await holder.runScript("BEGIN; LOCK TABLE policy_log IN ACCESS EXCLUSIVE MODE")
            try await waitUntil("the gateway is not ready", seconds: 30) {
                try await APIClient(port: site.gateways[0].port).call("GET", "/readyz").status == 503
            }
            var bare = environment
            bare["SLUICE_DATABASE_URL"] = "postgresql://127.0.0.1:9/nothing"
            let blocked = try await examine(bare)
            #expect(blocked.has("gateways", "failed", "is not ready ("), "\(blocked.findings)")
            try await holder.runScript("ROLLBACK")
            try await waitUntil("the gateway is ready again", seconds: 30) {
                try await APIClient(port: site.gateways[0].port).call("GET", "/readyz").status == 200
            }
            let again = try await examine(environment)
            #expect(again.status == 0 && again.count("warning") == 0, "the faults were taken back: \(again.findings)")
            await session.close()
        }
    }

    private func ailments(at site: Deployment, _ login: String, _ superuser: String) throws -> [Ailment] {
        let other = Deployment.randomMasterKey()
        site.keepSecret(other)
        let own = try #require(site.environment["SLUICE_MASTER_KEY"])
        return databaseAilments(superuser) + keyAilments(own, other) + networkAilments(site)
    }

    /// The group lacks a right that gateways need.
    private func lacking(_ right: String, message: String, advice: String = "") -> Ailment {
        Ailment(
            name: "without \(right)", check: "roles", outcome: "failed", message: message, advice: advice,
            begin: "REVOKE \(right) FROM sluice_gateway", end: "GRANT \(right) TO sluice_gateway")
    }

    /// Somebody has a right that gateways must not have.
    private func having(
        _ right: String, _ role: String, outcome: String = "failed", message: String, advice: String = ""
    ) -> Ailment {
        Ailment(
            name: "\(right) for \(role)", check: "roles", outcome: outcome, message: message, advice: advice,
            begin: "GRANT \(right) TO \(role)", end: "REVOKE \(right) FROM \(role)")
    }

    /// The login's sessions begin with another value of a parameter.
    private func standard(
        _ parameter: String, _ value: String, check: String = "database", message: String
    ) -> Ailment {
        Ailment(
            name: "\(parameter) is \(value)", check: check, outcome: "failed", message: message,
            begin: "ALTER ROLE LOGIN SET \(parameter) = '\(value)'", end: "ALTER ROLE LOGIN RESET \(parameter)")
    }

    /// SQL that alters the ledger's partition of today.
    private func partition(_ change: String) -> String {
        """
        DO $$
        DECLARE
            d date := (now() AT TIME ZONE 'UTC')::date;
        BEGIN
            EXECUTE format('ALTER TABLE issuances \(change)', to_char(d, 'YYYYMMDD'),
                d::timestamp AT TIME ZONE 'UTC', (d + 1)::timestamp AT TIME ZONE 'UTC');
        END $$
        """
    }

    private func databaseAilments(_ superuser: String) -> [Ailment] {
        func url(_ from: String, _ to: String) -> [String: String] {
            ["SLUICE_DATABASE_URL": superuser.replacing(from, with: to)]
        }
        let shadow = "ALTER ROLE LOGIN SET search_path = public, pg_catalog"
        return [
            Ailment(
                name: "nothing listens", check: "database", outcome: "failed", message: "unavailable",
                advice: "whether PostgreSQL runs there",
                settings: ["SLUICE_DATABASE_URL": "host=127.0.0.1 port=1 user=a dbname=a"]),
            Ailment(
                name: "no such database", check: "database", outcome: "failed", message: "does not exist",
                advice: "Create the database", settings: url("dbname=", "dbname=no_")),
            Ailment(
                name: "no such role", check: "database", outcome: "failed", message: "does not exist",
                settings: url("user=postgres", "user=nobody_here")),
            Ailment(
                name: "no URL", check: "settings", outcome: "failed", message: "SLUICE_DATABASE_URL: must be set",
                settings: ["SLUICE_DATABASE_URL": ""]),
            Ailment(
                name: "a password that is not escaped", check: "settings", outcome: "failed",
                message: "SLUICE_DATABASE_URL: invalid connection string: a port is not a number from 1 to 65535",
                settings: ["SLUICE_DATABASE_URL": "postgresql://sluice:made/up@127.0.0.1:1/sluice"]),
            Ailment(
                name: "superuser", check: "roles", outcome: "failed", message: "superuser 'postgres'",
                settings: ["SLUICE_DATABASE_URL": superuser]),
            Ailment(
                name: "owner", check: "roles", outcome: "failed", message: "'mine' owns the schema",
                settings: url("user=postgres", "user=mine"), begin: "ALTER TABLE issuances OWNER TO mine",
                end: "ALTER TABLE issuances OWNER TO postgres"),
            Ailment(
                name: "no member of the group", check: "database", outcome: "failed", message: "permission denied",
                advice: "member of sluice_gateway", settings: url("user=postgres", "user=bare")),
            Ailment(
                name: "a member that does not inherit", check: "database", outcome: "failed",
                message: "permission denied", advice: "ALTER ROLE … INHERIT; REVOKE",
                begin: "ALTER ROLE LOGIN NOINHERIT",
                end: "ALTER ROLE LOGIN INHERIT"),
            lacking("SELECT ON landings", message: "lacks rights on landings", advice: "sluice migrate"),
            lacking("EXECUTE ON FUNCTION record_issuance", message: "record_issuance"),
            having("DELETE ON issuances", "LOGIN", message: "DELETE on issuances", advice: "Revoke"),
            having("UPDATE ON admin_audit", "sluice_gateway", message: "UPDATE on admin_audit"),
            having(
                "CREATE ON SCHEMA public", "PUBLIC", outcome: "warning", message: "create objects",
                advice: "ALTER SCHEMA public OWNER TO pg_database_owner"),
            Ailment(
                name: "encoding", check: "database", outcome: "failed",
                message: "The encoding of the database is SQL_ASCII",
                advice: "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'",
                settings: url("dbname=test", "dbname=plain application_name=test"),
                begin: "CREATE DATABASE plain TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'",
                end: "DROP DATABASE plain WITH (FORCE)"),
            standard("default_transaction_read_only", "on", message: "read-only"),
            Ailment(
                name: "locks that do not exclude", check: "locks", outcome: "failed", message: "revoked grant",
                begin: """
                    CREATE FUNCTION public.pg_advisory_xact_lock_shared(bigint) RETURNS void LANGUAGE sql AS '';
                    GRANT EXECUTE ON FUNCTION public.pg_advisory_xact_lock_shared(bigint) TO PUBLIC; \(shadow)
                    """,
                end: """
                    ALTER ROLE LOGIN RESET search_path;
                    DROP FUNCTION public.pg_advisory_xact_lock_shared(bigint)
                    """),
            standard("synchronous_commit", "off", check: "durability", message: "synchronous_commit is off"),
            Ailment(
                name: "clock", check: "clock", outcome: "failed", message: "ahead of this machine's",
                advice: "NTP",
                begin: """
                    CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
                    RETURN pg_catalog.clock_timestamp() + interval '1 minute';
                    GRANT EXECUTE ON FUNCTION public.clock_timestamp() TO PUBLIC; \(shadow)
                    """,
                end: "ALTER ROLE LOGIN RESET search_path; DROP FUNCTION public.clock_timestamp()"),
            Ailment(
                name: "later schema", check: "schema", outcome: "failed",
                message: "serves gateways from schema version 9999 on",
                begin: "INSERT INTO schema_migrations VALUES (9999, 'later', '', 'contract', 9999)",
                end: "DELETE FROM schema_migrations WHERE version = 9999"),
            Ailment(
                name: "other functions", check: "schema", outcome: "failed", message: "uuid_v7",
                advice: "sluice migrate",
                begin: "UPDATE schema_functions SET contract = '\\x00' || contract WHERE name = 'uuid_v7'",
                end: "UPDATE schema_functions SET contract = substr(contract, 2) WHERE name = 'uuid_v7'"),
            Ailment(
                name: "an update is not finished", check: "schema", outcome: "warning",
                message: "functions gone wait", advice: "sluice migrate --finish",
                begin: """
                    CREATE FUNCTION gone() RETURNS integer LANGUAGE sql AS 'SELECT 1';
                    INSERT INTO schema_functions VALUES ('gone', '', '', now(), now());
                    """,
                end: "DELETE FROM schema_functions WHERE name = 'gone'; DROP FUNCTION gone"),
            Ailment(
                name: "an update of bodies was forgotten", check: "schema", outcome: "warning",
                message: "not those of this version: uuid_v7.", advice: "Run 'sluice migrate' of this version",
                begin: "UPDATE schema_functions SET checksum = '\\x00' || checksum WHERE name = 'uuid_v7'",
                end: "UPDATE schema_functions SET checksum = substr(checksum, 2) WHERE name = 'uuid_v7'"),
            Ailment(
                name: "no partition for today", check: "schema", outcome: "failed", message: "no partition for",
                advice: "sluice migrate",
                begin: partition("DETACH PARTITION issuances_%s"),
                end: partition("ATTACH PARTITION issuances_%s FOR VALUES FROM (%L) TO (%L)")),
            Ailment(
                name: "a function was dropped", check: "schema", outcome: "failed", message: "prune_policy_log",
                advice: "Run 'sluice migrate'",
                begin: "ALTER FUNCTION prune_policy_log RENAME TO gone",
                end: "ALTER FUNCTION gone RENAME TO prune_policy_log"),
            Ailment(
                name: "not migrated", check: "schema", outcome: "failed", message: "schema version 0",
                advice: "sluice migrate", settings: url("dbname=test", "dbname=template1 application_name=test")),
        ]
    }

    private func keyAilments(_ own: String, _ other: String) -> [Ailment] {
        func announce(_ keys: String, version: String, secondsAhead: Int) -> String {
            """
            SELECT note_gateway(
                '018f0000-0000-7000-8000-0000000000aa', '\(version)', now(),
                clock_timestamp() + interval '\(secondsAhead) s', NULL, NULL, \(keys), 0, '')
            """
        }
        // The keys of the gateway that runs.
        let usual = "(SELECT key_ids FROM gateways WHERE id <> '018f0000-0000-7000-8000-0000000000aa' LIMIT 1)"
        // What is sealed opens only in its own row.
        let copyCredential = """
            SET session_replication_role = replica;
            INSERT INTO storage_credentials (id, name, access_key_id, sealed, key_id)
            SELECT '018f0000-0000-7000-8000-0000000000bb', 'copy', access_key_id, sealed, key_id
            FROM storage_credentials;
            RESET session_replication_role
            """
        let deleteCopy = """
            SET session_replication_role = replica;
            DELETE FROM storage_credentials WHERE name = 'copy';
            RESET session_replication_role
            """
        let forget = "SELECT forget_gateway('018f0000-0000-7000-8000-0000000000aa')"
        return [
            Ailment(
                name: "short master key", check: "settings", outcome: "failed", message: "SLUICE_MASTER_KEY: ",
                settings: ["SLUICE_MASTER_KEY": "c2hvcnQ="]),
            Ailment(
                name: "another master key", check: "master-key", outcome: "failed", message: "'k1' does not open",
                advice: "in place of the one named 'k1'", settings: ["SLUICE_MASTER_KEY": "k1:\(other)"]),
            Ailment(
                name: "the key of the rows is missing", check: "master-key", outcome: "failed",
                message: "'k1' is not among those given", advice: "below the first line",
                settings: ["SLUICE_MASTER_KEY": "k2:\(other)"]),
            Ailment(
                name: "half rotated", check: "master-key", outcome: "warning", message: "1 under 'k1'",
                advice: "rotate-master-key", settings: ["SLUICE_MASTER_KEY": "k2:\(other)\n\(own)"]),
            Ailment(
                name: "a row does not open beside one that does", check: "master-key", outcome: "warning",
                message: "'k1' opens some of its rows and not others. Sealed rows: 2 under 'k1'",
                advice: "before you delete the old one", isAlone: true, begin: copyCredential, end: deleteCopy),
            Ailment(
                name: "a gateway lacks the key", check: "master-key", outcome: "warning",
                message: "018f0000-0000-7000-8000-0000000000aa", advice: "Restart",
                begin: announce("ARRAY['k9']", version: "1.0.0", secondsAhead: 0), end: forget),
            Ailment(
                name: "a gateway has another key of the same name", check: "master-key",
                outcome: "failed", message: "have another master key 'k1': 018f0000-0000-7000-8000-0000000000aa",
                advice: "Copy the master key", isAlone: true,
                begin: announce("ARRAY['k1:0123456789abcdef']", version: "1.0.0", secondsAhead: 0), end: forget),
            Ailment(
                name: "a gateway seals with another key", check: "master-key", outcome: "warning",
                message: "seal with another one: 018f0000-0000-7000-8000-0000000000aa", advice: "the same order",
                begin: announce("ARRAY['k9'] || \(usual)", version: "1.0.0", secondsAhead: 0), end: forget),
            Ailment(
                name: "the clock of a gateway", check: "gateways", outcome: "failed",
                message: "differs from PostgreSQL's",
                begin: announce(usual, version: "1.0.0", secondsAhead: 60), end: forget),
            Ailment(
                name: "another version", check: "gateways", outcome: "warning", message: "0.9.9",
                begin: announce(usual, version: "0.9.9", secondsAhead: 0), end: forget),
        ]
    }

    private func networkAilments(_ site: Deployment) -> [Ailment] {
        let port = site.gateways[0].port
        func endpoint(_ url: String) -> (begin: String, end: String) {
            // The trigger that logs changes of policy is of no interest here.
            func set(_ url: String) -> String {
                """
                SET session_replication_role = replica;
                UPDATE buckets SET endpoint = '\(url)' WHERE name = 'near';
                RESET session_replication_role
                """
            }
            return (set(url), set("http://127.0.0.1:\(port)"))
        }
        func outbound(_ name: String, _ url: String, _ message: String, _ allow: String? = nil) -> Ailment {
            let (begin, end) = endpoint(url)
            return Ailment(
                name: name, check: "outbound", outcome: "failed", message: message,
                settings: allow.map { ["SLUICE_OUTBOUND_ALLOW": $0] } ?? [:], begin: begin, end: end)
        }
        let database = site.cluster.port
        let (begin, end) = endpoint("http://127.0.0.1:9")
        return [
            Ailment(
                name: "not allowed", check: "outbound", outcome: "failed", message: "not allowed",
                advice: "SLUICE_OUTBOUND_ALLOW", settings: ["SLUICE_OUTBOUND_ALLOW": ""]),
            outbound("closed port", "http://127.0.0.1:9", "nothing accepts", "http://127.0.0.1:9"),
            Ailment(
                name: "only a proxy leads there", check: "outbound", outcome: "failed", message: "nothing accepts",
                advice: "https_proxy has no effect",
                settings: ["SLUICE_OUTBOUND_ALLOW": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:1"],
                begin: begin, end: end),
            outbound("no TLS", "https://127.0.0.1:\(port)", "TLS", "https://127.0.0.1:\(port)"),
            outbound("no such name", "https://nosuch.invalid", "the name has no address"),
            outbound("the row is named", "http://127.0.0.1:9", "(bucket near)"),
            Ailment(
                name: "port in use", check: "listeners", outcome: "warning", message: "Address already in use",
                advice: "systemctl status sluice.socket", settings: ["SLUICE_LISTEN": "127.0.0.1:\(database)"]),
            Ailment(
                name: "another machine's address", check: "listeners", outcome: "warning", message: "192.0.2.1",
                advice: "choose another address", settings: ["SLUICE_LISTEN": "192.0.2.1:8080"]),
            Ailment(
                name: "port is free", check: "listeners", outcome: "ok", message: "is free",
                settings: ["SLUICE_LISTEN": "127.0.0.1:0"]),
        ]
    }

    @Test func `files are named where they are missing, or where others can read secrets`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ text: String, _ mode: mode_t) throws -> String {
            let path = folder.appending(path: name).path
            try Data(text.utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: mode)], ofItemAtPath: path)
            return path
        }
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        // Root's files may be those of a service that reads them by their group.
        let isRoot = geteuid() == 0
        for (mode, isOpen) in [(mode_t(0o644), true), (0o640, !isRoot), (0o600, false), (0o400, false)] {
            let master = try file("key-\(mode)", key, mode)
            let advice = "chmod \(isRoot ? "o-rwx" : "600") '\(master)'"
            let found = try await examine(["SLUICE_MASTER_KEY_FILE": master])
            #expect(found.has("files", "warning", "SLUICE_MASTER_KEY_FILE", advice) == isOpen)
            let whole = try file("key-\(mode).json", #"{"master-key": "\#(key)"}"#, mode)
            #expect(try await examine([:], ["--config", whole]).has("files", "warning", whole) == isOpen)
            let url = #"{"database": {"url": "postgresql://a:made-up@127.0.0.1:1/a"}}"#
            let database = try file("database-\(mode).json", url, mode)
            #expect(try await examine(["SLUICE_CONFIG": database]).has("files", "warning", database) == isOpen)
        }
        let plain = try file("plain.json", #"{"lisen": "127.0.0.1:1", "log": {"level": "info"}}"#, 0o644)
        let misspelt = try await examine(["SLUICE_CONFIG": plain, "SLUICE_MASTER_KYE": key])
        #expect(!misspelt.has("files", "warning"))
        #expect(misspelt.has("settings", "failed", "there is no setting 'lisen'; did you mean 'listen'?"))
        #expect(
            misspelt.has(
                "settings", "failed", "SLUICE_MASTER_KYE: there is no such setting; did you mean SLUICE_MASTER_KEY?"))
        #expect(misspelt.has("database", "skipped"))
        let missing = folder.appending(path: "missing").path
        #expect(try await examine([:], ["--config", missing]).has("settings", "failed", "'\(missing)' does not exist"))
        let broken = try file("broken.json", "{", 0o600)
        #expect(
            try await examine(["SLUICE_CONFIG": broken]).has("settings", "failed", "'\(broken)' is not one JSON object")
        )
        let secret = try await examine(["SLUICE_MASTER_KEY_FILE": missing])
        #expect(secret.has("settings", "failed", "SLUICE_MASTER_KEY_FILE: '\(missing)' does not exist"))
        let certificate = try await examine(["SLUICE_TLS_CERTIFICATE_FILE": missing, "SLUICE_TLS_KEY_FILE": plain])
        #expect(certificate.has("files", "failed", "SLUICE_TLS_CERTIFICATE_FILE: '\(missing)'"))
        #expect(certificate.has("files", "warning", "SLUICE_TLS_KEY_FILE"))
    }

    /// A namespace shows the files of this process's user as those of root, or of any other user.
    @Test func `the group of a file may read it if the file is not the gateway's own`() async throws {
        func unshare(_ user: String) -> [String] { ["/usr/bin/unshare", "--user", user] }
        let attempt = try RunningProcess(unshare("--map-user=1000") + ["/bin/true"], environment: [:])
        if await attempt.exitStatus() != 0 { try Test.cancel("unshare makes no users here: \(attempt.errors)") }
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Kubernetes shows secrets by such links.
        let (master, link) = (folder.appending(path: "master").path, folder.appending(path: "link").path)
        try Data(Data(repeating: 7, count: 32).base64EncodedString().utf8).write(to: URL(filePath: master))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: master)
        let cases: [(user: String, mode: mode_t, advice: String?)] = [
            ("--map-root-user", 0o644, "chmod o-rwx '\(link)'"), ("--map-root-user", 0o440, nil),
            ("--map-user=1000", 0o644, "chmod 600 '\(link)'"), ("--map-user=1000", 0o440, "chmod 600 '\(link)'"),
        ]
        for (user, mode, advice) in cases {
            try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: mode)], ofItemAtPath: master)
            let found = try await examine(["SLUICE_MASTER_KEY_FILE": link], through: unshare(user))
            #expect(found.has("files", "warning", "SLUICE_MASTER_KEY_FILE", advice ?? "") == (advice != nil))
            #expect(found.has("files", "ok") == (advice == nil), "\(found.findings)")
        }
    }

    /// Made by `openssl ca -selfsign -startdate 20200101000000Z -enddate 20210203040506Z`, with a key of Ed25519.
    private static let expiredCertificate = """
        -----BEGIN CERTIFICATE-----
        MIHuMIGhAhRoXUPpyQx4par1FdVzoF5UqQD4PjAFBgMrZXAwGjEYMBYGA1UEAwwP
        Z2F0ZXdheS5leGFtcGxlMB4XDTIwMDEwMTAwMDAwMFoXDTIxMDIwMzA0MDUwNlow
        GjEYMBYGA1UEAwwPZ2F0ZXdheS5leGFtcGxlMCowBQYDK2VwAyEAhv0yl50w9/NY
        EBLBIw3mXdByFvCJDyIjdUqrKj5qZK4wBQYDK2VwA0EAvQOHdXHYDyGaMllNeTlK
        0Ufw5peBZxIPBnM4QHA7eEyAQXp6pcomKGWFkYlruZhhIFp8JquYVtzIr+OrA/1q
        BA==
        -----END CERTIFICATE-----
        """

    @Test func `a certificate is named that has expired or soon will`() async throws {
        try await Supervisor.withFolder { folder in
            let files = ReloadTests.Files(in: folder)
            let settings = [
                "SLUICE_TLS_CERTIFICATE_FILE": files.certificate.path, "SLUICE_TLS_KEY_FILE": files.key.path,
            ]
            _ = try await files.renew("long", days: 9)
            let fresh = try await examine(settings)
            #expect(fresh.has("files", "ok"), "\(fresh.findings)")
            _ = try await files.renew("short", days: 6)
            let short = try await examine(settings)
            #expect(short.has("files", "warning", "'\(files.certificate.path)' expires at ", "SIGHUP"))
            try Self.expiredCertificate.write(to: files.certificate, atomically: true, encoding: .utf8)
            let expired = try await examine(settings)
            #expect(expired.has("files", "failed", "expired at 2021-02-03T04:05:06Z", "Renew it"))
        }
    }

    @Test func `beside a server whose certificate cannot be verified, it advises nobody to stop it`() async throws {
        try await Supervisor.withFolder { folder in
            let files = ReloadTests.Files(in: folder)
            _ = try await files.renew("gateway.example")
            try await Deployment.with(gateways: 0) { site in
                let settings = [
                    "SLUICE_TLS_CERTIFICATE_FILE": files.certificate.path, "SLUICE_TLS_KEY_FILE": files.key.path,
                ]
                let gateway = try await site.startGateway(settings)
                var environment = site.environment.merging(settings) { $1 }
                environment["SLUICE_LISTEN"] = "127.0.0.1:\(gateway.port)"
                let found = try await examine(environment)
                #expect(found.has("listeners", "ok", "in use, by a server with TLS"), "\(found.findings)")
                #expect(!found.has("listeners", "warning"))
                #expect(found.has("gateways", "skipped", "cannot be verified at this address", "/readyz"))
                await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            }
        }
    }

    /// Certificates and keys: whether a gateway starts with them, and whether clients accept what it shows.
    private func makePairs(in folder: URL) async throws -> [(name: String, files: ReloadTests.Files, starts: Bool)] {
        func files(_ name: String) throws -> ReloadTests.Files {
            let own = folder.appending(path: name)
            try FileManager.default.createDirectory(at: own, withIntermediateDirectories: false)
            return ReloadTests.Files(in: own)
        }
        func pair(_ name: String, days: Int = 90) async throws -> ReloadTests.Files {
            let made = try files(name)
            _ = try await made.renew("copy", days: days)
            return made
        }
        var pairs = [("fitting", try await pair("fitting"), true)]
        let other = try await pair("other key")
        try FileManager.default.removeItem(at: other.key)
        try FileManager.default.copyItem(at: pairs[0].1.key, to: other.key)
        pairs.append(("other key", other, false))
        for (name, isKey, text) in [
            ("no certificate", false, "words"), ("empty certificate", false, ""), ("no key", true, "words"),
            ("empty key", true, ""),
        ] {
            let made = try await pair(name)
            try text.write(to: isKey ? made.key : made.certificate, atomically: true, encoding: .utf8)
            pairs.append((name, made, false))
        }
        let encrypted = try await pair("encrypted key")
        let sealed = try OpenSSL.run(
            ["pkcs8", "-topk8", "-in", encrypted.key.path, "-passout", "pass:made-up"])
        try Data(sealed.output).write(to: encrypted.key)
        pairs.append(("encrypted key", encrypted, false))
        // A gateway starts with these, and no client connects.
        for (name, start, end) in [
            ("expired", "20200203040506Z", "20210203040506Z"), ("not yet", "20980203040506Z", "20990203040506Z"),
        ] {
            let made = try files(name)
            try OpenSSL.makeCertificate(
                named: name, from: start, until: end, certificate: made.certificate, key: made.key)
            pairs.append((name, made, true))
        }
        return pairs.map { (name: $0.0, files: $0.1, starts: $0.2) }
    }

    @Test func `not all is well where a gateway would not start, or no client would connect`() async throws {
        try await Supervisor.withFolder { folder in
            let pairs = try await makePairs(in: folder)
            try await Deployment.with { site in
                func tls(_ files: ReloadTests.Files) -> [String: String] {
                    ["SLUICE_TLS_CERTIFICATE_FILE": files.certificate.path, "SLUICE_TLS_KEY_FILE": files.key.path]
                }
                /// Whether nothing is wrong but with the database of the test.
                func isWell(_ settings: [String: String]) async throws -> Bool {
                    let usual = ["SLUICE_LISTEN": "127.0.0.1:0"]
                    let found = try await examine(
                        site.environment.merging(usual) { $1 }.merging(settings) { $1 })
                    let subjects = ["settings", "files", "listeners"]
                    return !found.findings.contains {
                        subjects.contains($0["check"].text ?? "") && ["failed", "warning"].contains($0["outcome"].text)
                    }
                }
                func starts(_ settings: [String: String]) async throws -> Bool {
                    do {
                        let gateway = try await site.startGateway(settings)
                        await site.end(gateway) { #expect(await gateway.terminate() == 0) }
                        return true
                    } catch is ProgramError {
                        return false
                    }
                }
                for (name, files, doesStart) in pairs {
                    #expect(try await starts(tls(files)) == doesStart, "\(name)")
                    #expect(try await isWell(tls(files)) == (name == "fitting"), "\(name)")
                }

                // Whatever holds the port, a gateway that starts as another process of its kind is well.
                let fitting = tls(pairs[0].files)
                let secured = try await site.startGateway(fitting)
                let page = StandIn { _ in .bytes("") }
                try await page.serve { origin in
                    let other = try #require(UInt16(origin.split(separator: ":")[2]))
                    let ports: [(name: String, port: UInt16, wellPlain: Bool, wellSecured: Bool)] = [
                        ("a gateway", site.gateways[0].port, true, false), ("one with TLS", secured.port, false, true),
                        ("another server", other, false, false),
                    ]
                    for (name, port, wellPlain, wellSecured) in ports {
                        let listen = ["SLUICE_LISTEN": "127.0.0.1:\(port)"]
                        let listenSecured = listen.merging(fitting) { $1 }
                        #expect(try await !starts(listen), "\(name)")
                        #expect(try await isWell(listen) == wellPlain, "\(name)")
                        #expect(try await isWell(listenSecured) == wellSecured, "\(name)")
                    }
                    for (listen, admin, doesStart) in [
                        ("127.0.0.1:0", "127.0.0.1:0", true), ("127.0.0.1:\(other)", "127.0.0.1:\(other)", false),
                        ("0.0.0.0:\(other)", "127.0.0.1:\(other)", false), ("127.0.0.1:0", "127.0.0.1:\(other)", false),
                    ] {
                        let settings = ["SLUICE_LISTEN": listen, "SLUICE_ADMIN_LISTEN": admin]
                        #expect(try await starts(settings) == doesStart, "\(listen) \(admin)")
                        #expect(try await isWell(settings) == doesStart, "\(listen) \(admin)")
                    }
                }
                await site.end(secured) { #expect(await secured.terminate() == 0) }
            }
        }
    }

    @Test func `it writes nothing, and its lines are the same as text`() async throws {
        var options = ClusterOptions()
        options.settings = ["autovacuum": "off"]
        let cluster = try await TestCluster(options)
        try await Deployment.with(cluster: cluster) { site in
            try await site.makeBucket("near")
            await site.end(site.gateways[0]) { [gateway = site.gateways[0]] in _ = await gateway.terminate() }
            let session = try site.session()
            let before = try await session.number("SELECT pg_current_xact_id()::text::bigint")
            let process = try RunningProcess([Program.path, "doctor"], environment: site.environment)
            #expect(await process.exitStatus() == 1)
            let after = try await session.number("SELECT pg_current_xact_id()::text::bigint")
            // The second look takes a number, and so does the trial of READ COMMITTED, which writes nothing.
            #expect(after == before + 2, "no transaction of it has written")
            let lines = process.output.split(separator: "\n")
            #expect(lines.contains { $0.hasPrefix("ok       settings    Every") }, "\(process.output)")
            #expect(lines.contains { $0.hasPrefix("failed   durability  The server has fsync") })
            #expect(lines.contains { $0.hasPrefix("failed   roles       The gateway logs in as the superuser") })
            #expect(
                lines.last?.hasPrefix("Failed: 2. Warnings: ") == true || lines.last?.hasPrefix("Failed: 3") == true)
            let key = try #require(site.environment["SLUICE_MASTER_KEY"]).dropFirst(3)
            #expect(!process.output.contains(key) && process.errors.isEmpty)
            await session.close()
        }
    }
}

import ContractTesting
import Foundation
import Testing

/// `sluice admin` against a running gateway.
@Suite(.deployment) struct AdminCommandTests {
    /// The results of one run of the command.
    private struct Run {
        let status: Int32
        let output: String
        let errors: String

        var json: JSONNode { (try? JSONNode(json: Array(output.utf8))) ?? .null }
        var rows: [JSONNode] { json["items"]?.items ?? [] }
    }

    /// Runs a command and checks that neither output stream contains the key.
    private func admin(
        _ arguments: [String], key: String? = nil, at port: UInt16? = nil, input: String? = nil
    ) async throws -> Run {
        let site = try Deployment.current
        let key = try key ?? #require(site.environment["SLUICE_BOOTSTRAP_ADMIN_KEY"])
        let environment = [
            "SLUICE_ADMIN_KEY": key, "SLUICE_ADMIN_URL": "http://127.0.0.1:\(port ?? site.gateways[0].port)",
        ]
        var command = [Program.path, "admin"] + arguments
        let file = FileManager.default.temporaryDirectory.appending(path: "admin-input-\(UUID().uuidString)")
        if let input {
            try Data(input.utf8).write(to: file)
            command = ["/bin/sh", "-c", "file=$1; shift; \"$@\" < \"$file\"", "sh", file.path()] + command
        }
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try RunningProcess(command, environment: environment)
        let run = Run(status: await process.exitStatus(), output: process.output, errors: process.errors)
        #expect(key.isEmpty || (!run.output.contains(key) && !run.errors.contains(key)))
        return run
    }

    private func done(_ arguments: [String], input: String? = nil) async throws -> Run {
        let run = try await admin(arguments, input: input)
        try #require(run.status == 0, "\(arguments): \(run.errors)")
        #expect(run.errors == "")
        return run
    }

    @Test func `rows are made, listed, read, changed and deleted`() async throws {
        let secret = "secret-\(UUID().uuidString)"
        try Deployment.current.keepSecret(secret)
        let credential = try await done(
            [
                "credentials", "create", "--name", "by command", "--access-key-id", "AKID", "--secret-access-key", "@-",
                "--json",
            ],
            input: secret + "\n")
        #expect(!credential.output.contains(secret))
        let id = try #require(credential.json["id"]?.text)
        _ = try await done([
            "buckets", "create", "--name", "by-command", "--endpoint", "https://store.example", "--region", "eu-west-1",
            "--addressing", "path", "--credential-id", id,
        ])
        let grant = try await done([
            "grants", "create", "--principal", "group:by-command", "--bucket", "by-command", "--prefix", "a/",
            "--actions", "GetObject", "--conditions.max-ttl", "60", "--json",
        ])
        let grantID = try #require(grant.json["id"]?.text)
        let table = try await done([
            "grants", "list", "--bucket", "by-command", "--columns", "principal,prefix,conditions",
        ])
        #expect(
            table.output == """
                PRINCIPAL         PREFIX  CONDITIONS
                group:by-command  a/      maxTTL=60

                """)
        _ = try await done(["grants", "update", grantID, "--note", "hello", "--unset", "conditions"])
        let read = try await done(["grants", "get", grantID, "--json"])
        #expect(read.json["note"]?.text == "hello" && read.json["conditions"]?.members == [:])
        _ = try await done(
            ["grants", "replace", grantID, "--file", "-"],
            input: #"{"principal":"user:x","bucket":"by-command","prefix":"","actions":["GetObject"]}"#)
        _ = try await done(["groups", "members", "create", "group:by-command", "--member", "user:a b"])
        #expect(try await done(["groups", "members", "list", "group:by-command", "--json"]).rows.count == 1)
        let member = "group:by-command/user:a b"
        let made = try await done(["audit", "list", "--resource-id", member, "--json"]).rows
        #expect(made.map { $0["resourceID"]?.text } == [member])
        _ = try await done(["groups", "members", "delete", "group:by-command", "user:a b"])
        _ = try await done(["grants", "delete", grantID])
        let gone = try await admin(["grants", "get", grantID])
        #expect(gone.status == 4 && gone.output == "")
        #expect(gone.errors.contains("NoSuchGrant (404)") && gone.errors.contains("request id: "))
    }

    @Test func `a change of a row that is no longer as it was seen is refused`() async throws {
        let site = try Deployment.current
        let quota = try await site.quota(5, for: "user:contested")
        let stale = try await admin(["quotas", "update", quota, "--limit", "6", "--if-match", "\"0\""])
        #expect(stale.status == 5 && stale.errors.contains("PreconditionFailed (412)"))
        _ = try await done(["quotas", "update", quota, "--limit", "7"])
        _ = try await done(["quotas", "update", quota, "--limit", "8", "--if-match", "*"])
        #expect(try await done(["quotas", "get", quota, "--json"]).json["limit"] == .integer(8))
    }

    @Test func `an offboarding removes what a dry run finds, and a dry run removes nothing`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("command-left")
        let grant = try await site.grant(["GetObject"], to: "user:command-leaver", in: "command-left")
        let words = ["principals", "offboard", "user:command-leaver", "--json"]
        let dry = try await done(words + ["--dry-run"])
        #expect(dry.json["count"] == .integer(1))
        // A version that is named is not replaced by that of a dry run.
        let stale = try await admin(words + ["--if-match", "\"0\""])
        #expect(stale.status == 5)
        _ = try await done(["grants", "get", grant])
        let gone = try await done(words)
        #expect(gone.json["count"] == .integer(1))
        let left = try await admin(["grants", "get", grant])
        #expect(left.status == 4)
        let again = try await done(words)
        #expect(again.json["count"] == .integer(0))
    }

    @Test func `an offboarding with a key can be repeated`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("command-left-twice")
        try await site.grant(["GetObject"], to: "user:command-leaver-twice", in: "command-left-twice")
        let words = ["principals", "offboard", "user:command-leaver-twice", "--idempotency-key", "leave", "--json"]
        let gone = try await done(words)
        #expect(gone.json["count"] == .integer(1))
        let again = try await done(words)
        #expect(again.output == gone.output)
    }

    @Test func `lists go on to the next page as far as they are asked to`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("many-grants")
        for index in 0..<12 {
            try await site.grant(["GetObject"], to: "user:u\(index)", in: "many-grants", prefix: "p/")
        }
        let some = try await admin(["grants", "list", "--bucket", "many-grants", "--limit", "5", "--json"])
        #expect(some.status == 0 && some.rows.count == 5 && some.errors.contains("more rows"))
        let all = try await done(["grants", "list", "--bucket", "many-grants", "--all", "--json"])
        #expect(Set(all.rows.compactMap { $0["principal"]?.text }).count == 12)
        let rows = try await done(["grants", "list", "--bucket", "many-grants"]).output.split(separator: "\n")
        #expect(rows.count == 13)
    }

    @Test func `what an answer tells besides its rows is printed too`() async throws {
        let site = try Deployment.current
        let principal = "user:beside-rows"
        try await site.makeBucket("beside-rows")
        let grant = try await site.grant(["GetObject"], to: principal, in: "beside-rows")
        let quota = try await site.quota(5, for: principal)
        let review = try await done(["access", "--principal", principal, "--json"])
        #expect(review.rows.contains { $0["grant"]?["id"]?.text == grant })
        #expect(review.json["principal"]?.text == principal && review.json["nextPageToken"] == nil)
        #expect(review.json["quotas"]?.items.contains { $0["id"]?.text == quota } == true)
        let table = try await done(["access", "--principal", principal]).output
        #expect(table.contains("\n\nprincipal  \(principal)\n") && table.contains("\nquotas:\n  "), "\(table)")
        let none = try await admin(["issuances", "list", "--principal", principal])
        #expect(none.status == 0 && none.output.hasPrefix("from  ") && none.errors == "There are no rows.\n")
    }

    @Test func `what was issued is exported line by line`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("exported")
        let user = try await site.makeUser("exporting")
        try await site.grant(["GetObject"], to: user.principal, in: "exported")
        for index in 0..<3 { #expect(try await user.ask(.download("k\(index)", from: "exported")).status == 201) }
        let file = FileManager.default.temporaryDirectory.appending(path: "exported-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try await done(["issuances", "export", "--bucket", "exported", "--output", file.path()])
        #expect(run.output == "")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(Set(try lines.map { try JSONNode(json: Array($0.utf8))["key"]?.text }) == ["k0", "k1", "k2"])
        let table = try await done(["issuances", "export", "--bucket", "exported", "--format", "csv"])
        #expect(table.output.split(whereSeparator: \.isNewline).count == 4)
    }

    @Test(arguments: ["ndjson", "csv"])
    func `grants are exported to a file, and brought to what a file says`(form: String) async throws {
        let site = try Deployment.current
        let bucket = "carried-\(form)"
        try await site.makeBucket(bucket)
        for index in 0..<5 {
            try await site.grant(["GetObject"], to: "user:u\(index)", in: bucket, prefix: "ü\(index)/")
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "carried-\(UUID().uuidString).\(form)")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try await done(["grants", "export", "--bucket", bucket, "--format", form, "--output", file.path()])
        let text = try String(contentsOf: file, encoding: .utf8)
        let lines = text.split(whereSeparator: \.isNewline)
        #expect(lines.count == (form == "csv" ? 6 : 5))
        let same = try await done(["grants", "import", "--bucket", bucket, "--prune", "--file", file.path(), "--json"])
        #expect(same.json.unchanged == .integer(5) && same.json.deleted == .integer(0))
        // Without the last line, through standard input.
        let shorter = lines.dropLast().joined(separator: "\n") + "\n"
        let arguments = ["grants", "import", "--bucket", bucket, "--prune", "--file-type", form, "--json"]
        let dry = try await done(arguments + ["--dry-run"], input: shorter)
        #expect(dry.json.deleted == .integer(1))
        #expect(try await done(["grants", "list", "--bucket", bucket, "--json"]).rows.count == 5)
        #expect(try await done(arguments, input: shorter).json.deleted == .integer(1))
        #expect(try await done(["grants", "list", "--bucket", bucket, "--json"]).rows.count == 4)
        let bad = try await admin(arguments, input: "{\"principal\": 1}\nprincipal\n")
        #expect(bad.status == 2 && bad.errors.contains("\"line\""), "\(bad.errors)")
    }

    @Test func `keys are rotated, quotas reset, and the audit tells who did it`() async throws {
        let site = try Deployment.current
        let user = try await site.makeUser("rotating")
        let rotated = try await done(["api-keys", "rotate", user.keyID, "--overlap-seconds", "0", "--print", "key"])
        let key = rotated.output.split(separator: "\n").joined()
        site.keepSecret(key)
        #expect(key.hasPrefix("sluice_"))
        #expect(try await user.client.call("GET", "/v1/access").status == 401)
        #expect(try await site.client(token: key).call("GET", "/v1/access").status == 200)
        let quota = try await site.quota(5, for: user.principal)
        _ = try await done(["quotas", "reset", quota, "--holder", user.principal])
        let audit = try await done(["audit", "list", "--json"])
        #expect(audit.rows.contains { $0["resourceID"]?.text == quota && $0["operation"]?.text == "reset" })
    }

    @Test func `a denied request is explained`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("explained")
        try await site.grant(["GetObject"], to: "user:ex", in: "explained", prefix: "open/")
        let arguments = [
            "explain", "--principal", "user:ex", "--action", "GetObject", "--bucket", "explained", "--key",
        ]
        #expect(try await done(arguments + ["open/a", "--json"]).json["permitted"] == .bool(true))
        let denied = try await done(arguments + ["closed/a"])
        #expect(denied.output.contains("permitted") && denied.output.contains("nearMisses:"))
    }

    @Test func `each kind of failure has its exit status and says why`() async throws {
        let site = try Deployment.current
        let auditor = try await site.makeUser("commanding-auditor", roles: ["auditor"])
        let twice = FileManager.default.temporaryDirectory.appending(path: "twice-\(UUID().uuidString)")
        try Data([0xEF, 0xBB, 0xBF] + #"{"name": "a", "name": "b"}"#.utf8).write(to: twice)
        defer { try? FileManager.default.removeItem(at: twice) }
        let runs: [(Run, Int32, String)] = [
            (
                try await admin(["grants", "list"], key: "wrong-key"), 3,
                "The key in SLUICE_ADMIN_KEY was sent to http://"
            ),
            (try await admin(["quotas", "list"], key: auditor.client.token), 0, ""),
            (
                try await admin(
                    ["groups", "members", "create", "group:g", "--member", "user:u"], key: auditor.client.token), 3,
                "The command requires the role 'admin'."
            ),
            (try await admin(["grants", "list"], at: 1), 7, "Nothing answers at http://127.0.0.1:1: "),
            (
                try await admin([
                    "quotas", "create", "--principal", "nobody", "--metric", "urls", "--period", "day", "--limit", "1",
                ]), 2, "InvalidArgument (400)"
            ),
            (try await admin(["nonsense"]), 64, "There is no command"),
            (try await admin([]), 64, "A command is missing after 'admin'"),
            (try await admin(["grants"]), 64, "A command is missing"),
            (try await admin(["grants", "list", "--output", "/nowhere/file"]), 1, "cannot be written"),
            (try await admin(["grants", "list", "--output", ""]), 64, "'--output' needs the name of a file"),
            (try await admin(["buckets", "create", "--file", "/nowhere/file"]), 1, "does not exist"),
            (
                try await admin(["buckets", "create", "--file", twice.path()]), 1,
                "is not valid JSON. A member is named twice"
            ),
            (try await admin(["grants", "list"], key: ""), 64, "SLUICE_ADMIN_KEY"),
        ]
        for (run, status, text) in runs {
            #expect(run.status == status, "\(run.errors)")
            #expect(text.isEmpty || run.errors.contains(text), "\(run.errors)")
        }
    }

    @Test func `what is wrong in a file is told with its member and its line`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "quota-\(UUID().uuidString).json")
        let quota = "{\"principal\": \"user:filed\", \"metric\": \"urls\",\n \"period\": \"day\", \"limit\": 1e9}\n"
        try Data(quota.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try await admin(["quotas", "create", "--file", file.path()])
        #expect(run.status == 2 && run.output == "")
        #expect(run.errors.contains("InvalidArgument (400): The value must be a 64-bit integer"), "\(run.errors)")
        #expect(run.errors.contains("\n  field: limit\n  file: \(file.path()), line 2\n"), "\(run.errors)")
    }

    @Test func `help of the whole and of each part needs neither key nor gateway`() async throws {
        for arguments in [["--help"], ["grants", "--help"], ["grants", "create", "--help"], ["help", "grants"]] {
            let run = try await admin(arguments, key: "none-needed", at: 1)
            #expect(run.status == 0, "\(arguments)")
            #expect(run.output.contains("grants create"), "\(arguments)")
        }
    }
}

extension AdminCommandTests {
    @Test func `options may be anywhere, each row is printed as a line, and no rows are nothing on standard output`()
        async throws
    {
        let site = try Deployment.current
        try await site.makeBucket("liked")
        for name in ["a", "b"] { try await site.grant(["PutObject"], to: "user:\(name)", in: "liked", prefix: "p/") }
        let lines = try await done(["--print", "principal,prefix", "grants", "--bucket=liked", "list"]).output
        #expect(Set(lines.split(separator: "\n")) == ["user:a\tp/", "user:b\tp/"])
        let id = try await done(["grants", "list", "--principal", "user:a", "--bucket", "liked", "--print", "id"])
            .output
        let grant = String(id.dropLast())
        #expect(try await done(["grants", "--print", "bucket", "get", grant]).output == "liked\n")
        _ = try await done([
            "grants", "update", grant, "--conditions.max-ttl", "60", "--conditions.max-bytes", "7",
        ])
        let changed = try await done([
            "grants", "update", grant, "--unset", "conditions.max-bytes", "--print", "conditions",
        ])
        #expect(changed.output == "{\"maxTTL\":60}\n")
        let none = try await admin(["grants", "list", "--bucket", "no-such-bucket"])
        #expect(none.status == 0 && none.output == "" && none.errors == "There are no rows.\n")
    }

    @Test func `an error is a JSON document where --json says so`() async throws {
        let gone = try await admin(["--json", "grants", "get", "0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a69"])
        #expect(gone.status == 4 && gone.output == "")
        #expect(try JSONNode(json: Array(gone.errors.utf8))["code"]?.text == "NoSuchGrant")
        let wrong = try await admin(["grants", "get", "--json"])
        #expect(wrong.status == 64)
        #expect(try JSONNode(json: Array(wrong.errors.utf8))["code"]?.text == "CommandLine")
    }

    @Test func `an export is what the name of its file says, and a refused one leaves the file as it was`() async throws
    {
        let site = try Deployment.current
        try await site.makeBucket("named-exports")
        try await site.grant(["GetObject"], to: "user:named", in: "named-exports", prefix: "p/")
        let folder = FileManager.default.temporaryDirectory.appending(path: "exports-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func export(_ name: String, _ more: [String] = []) async throws -> (Run, String) {
            let file = folder.appending(path: name)
            let run = try await admin(
                ["grants", "export", "--bucket", "named-exports", "--output", file.path()] + more)
            return (run, (try? String(contentsOf: file, encoding: .utf8)) ?? "")
        }
        #expect(try await export("g.csv").1.hasPrefix("id,"))
        #expect(try await export("g.ndjson").1.hasPrefix("{"))
        let unknown = try await export("g.xlsx")
        #expect(unknown.0.status == 64 && unknown.0.errors.contains("'--format'") && unknown.1 == "")
        #expect(try await export("g.xlsx", ["--format", "csv"]).1.hasPrefix("id,"))
        let refused = try await admin(
            ["grants", "export", "--output", folder.appending(path: "g.csv").path()], key: "wrong-key")
        #expect(refused.status == 3)
        let kept = try String(contentsOf: folder.appending(path: "g.csv"), encoding: .utf8)
        #expect(kept.hasPrefix("id,"))
    }

    /// Makes a folder with the file of an earlier export.
    private static func exported() throws -> (folder: URL, file: URL) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "exported-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "grants.csv")
        try Data("id,whole\n".utf8).write(to: file)
        return (folder, file)
    }

    @Test func `an export that is cut off leaves the file as it was`() async throws {
        let (folder, file) = try Self.exported()
        defer { try? FileManager.default.removeItem(at: folder) }
        // A gateway that closes the connection in the middle of the answer.
        let script = #"""
            import os, socket, subprocess, sys
            server = socket.create_server(("127.0.0.1", 0))
            url = "http://127.0.0.1:%d" % server.getsockname()[1]
            program = subprocess.Popen(sys.argv[1:], env={**os.environ, "SLUICE_ADMIN_URL": url})
            connection, _ = server.accept()
            connection.recv(65536)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nid,half\n\r\n")
            connection.close()
            sys.exit(program.wait())
            """#
        let process = try RunningProcess(
            [
                "/usr/bin/python3", "-c", script, Program.path, "admin", "grants", "export", "--output",
                file.path(percentEncoded: false),
            ],
            environment: ["SLUICE_ADMIN_KEY": "made-up"])
        #expect(await process.exitStatus() == 7, "\(process.errors)")
        #expect(try String(contentsOf: file, encoding: .utf8) == "id,whole\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == ["grants.csv"])
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP], [false, true])
    func `an export that is interrupted leaves the file as it was, and no other`(
        signal: Int32, isEarly: Bool
    ) async throws {
        let (folder, file) = try Self.exported()
        defer { try? FileManager.default.removeItem(at: folder) }
        // A gateway that stops in the middle of the answer, or before it has read the request.
        let script = #"""
            import os, socket, subprocess, sys
            server = socket.create_server(("127.0.0.1", 0))
            url = "http://127.0.0.1:%d" % server.getsockname()[1]
            program = subprocess.Popen(sys.argv[3:], env={**os.environ, "SLUICE_ADMIN_URL": url})
            connection, _ = server.accept()
            if sys.argv[2] == "late":
                connection.recv(65536)
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n8\r\nid,half\n\r\n")
            program.send_signal(int(sys.argv[1]))
            sys.exit(program.wait())
            """#
        let process = try RunningProcess(
            [
                "/usr/bin/python3", "-c", script, "\(signal)", isEarly ? "early" : "late", Program.path, "admin",
                "grants", "export", "--json", "--output", file.path(percentEncoded: false),
            ],
            environment: ["SLUICE_ADMIN_KEY": "made-up"])
        #expect(await process.exitStatus() == 130, "\(process.errors)")
        #expect(try JSONNode(json: Array(process.errors.utf8))["code"]?.text == "Interrupted")
        #expect(try String(contentsOf: file, encoding: .utf8) == "id,whole\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == ["grants.csv"])
    }

    @Test func `a new key is in a file beside the one that could not be replaced`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "beside-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "key.json").path(percentEncoded: false)
        // A gateway that makes a directory of the file's name before it answers.
        let script = #"""
            import os, socket, subprocess, sys
            server = socket.create_server(("127.0.0.1", 0))
            url = "http://127.0.0.1:%d" % server.getsockname()[1]
            program = subprocess.Popen(sys.argv[1:], env={**os.environ, "SLUICE_ADMIN_URL": url})
            connection, _ = server.accept()
            asked = b""
            while b"user:beside" not in asked and (piece := connection.recv(65536)):
                asked += piece
            os.mkdir(sys.argv[-1])
            connection.sendall(
                b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n"
                b'{"key":"made-up"}')
            connection.close()
            sys.exit(program.wait())
            """#
        let process = try RunningProcess(
            [
                "/usr/bin/python3", "-c", script, Program.path, "admin", "api-keys", "create", "--name", "n",
                "--principal", "user:beside", "--output", file,
            ],
            environment: ["SLUICE_ADMIN_KEY": "not-shown"])
        #expect(await process.exitStatus() == 1)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path()).filter { $0 != "key.json" }
        let kept = folder.appending(path: try #require(names.first)).path(percentEncoded: false)
        #expect(process.errors.contains("its answer is in '\(kept)'"), "\(process.errors)")
        #expect(try String(contentsOfFile: kept, encoding: .utf8).contains("made-up") && names.count == 1)
        let attributes = try FileManager.default.attributesOfItem(atPath: kept)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `a key is not rotated if the new one could not be written`() async throws {
        let site = try Deployment.current
        let user = try await site.makeUser("unwritten")
        let folder = FileManager.default.temporaryDirectory.appending(path: "unwritten-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["/nowhere/key", folder] {
            let run = try await admin([
                "api-keys", "rotate", user.keyID, "--overlap-seconds", "0", "--output", name,
            ])
            #expect(run.status == 1 && run.errors.contains("'\(name)' cannot be written"), "\(run.errors)")
        }
        #expect(try await user.client.call("GET", "/v1/access").status == 200)
        // A disk that is full only at the end.
        let full = try RunningProcess(
            [
                "/bin/sh", "-c", "exec \"$0\" admin api-keys rotate \"$1\" --overlap-seconds 0 --print key >/dev/full",
                Program.path, user.keyID,
            ],
            environment: [
                "SLUICE_ADMIN_KEY": try #require(site.environment["SLUICE_BOOTSTRAP_ADMIN_KEY"]),
                "SLUICE_ADMIN_URL": "http://127.0.0.1:\(site.gateways[0].port)",
            ])
        #expect(await full.exitStatus() == 1)
        #expect(full.errors.contains("is not shown again: make another one."), "\(full.errors)")
    }

    @Test func `a file with a new key is readable by its owner alone`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try await done([
            "api-keys", "create", "--name", "to a file", "--principal", "user:filed", "--output", file.path(),
        ])
        let row = try JSONNode(json: Array(Data(contentsOf: file)))
        try Deployment.current.keepSecret(try #require(row["key"]?.text))
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path())
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `a person is asked before an import deletes grants`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("asked-import")
        for name in ["kept", "dropped"] {
            try await site.grant(["GetObject"], to: "user:\(name)", in: "asked-import", prefix: "p/")
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "asked-\(UUID().uuidString).csv")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try await done([
            "grants", "export", "--bucket", "asked-import", "--principal", "user:kept", "--output", file.path(),
        ])
        // Answers the question on a terminal, and prints what the terminal shows.
        let script = #"""
            import os, pty, signal, sys
            child, terminal = pty.fork()
            if child == 0:
                os.execv(sys.argv[2], sys.argv[2:])
            signal.alarm(60)
            shown = b""
            try:
                while piece := os.read(terminal, 4096):
                    shown += piece
                    if shown.endswith(b"[y/N] "):
                        os.write(terminal, sys.argv[1].encode() + b"\n")
            except OSError:
                pass  # The program has ended.
            print(shown.decode())
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            """#
        let line = ["grants", "import", "--bucket", "asked-import", "--prune", "--file", file.path()]
        let cases: [(String, Int32, [String], Int)] = [
            ("n", 1, [], 2), ("n", 0, ["--dry-run"], 2), ("y", 0, [], 1), ("n", 0, ["--yes"], 1),
        ]
        for (answer, status, more, count) in cases {
            let process = try RunningProcess(
                ["/usr/bin/python3", "-c", script, answer, Program.path, "admin"] + line + more,
                environment: [
                    "SLUICE_ADMIN_KEY": try #require(site.environment["SLUICE_BOOTSTRAP_ADMIN_KEY"]),
                    "SLUICE_ADMIN_URL": "http://127.0.0.1:\(site.gateways[0].port)",
                ])
            #expect(await process.exitStatus() == status, "\(process.output)")
            #expect(process.output.contains("Import grants, which removes 1 row? [y/N]") == more.isEmpty)
            let left = try await done(["grants", "list", "--bucket", "asked-import", "--json"])
            #expect(left.rows.count == count)
        }
    }

    @Test func `a bucket that is not valid ends the command with 1`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("unreachable-store")
        let run = try await admin(["buckets", "validate", "unreachable-store", "--print", "valid"])
        #expect(run.status == 1 && run.output == "false\n", "\(run.errors)")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `shells complete commands, options, values and names of rows`(shell: String) async throws {
        let site = try Deployment.current
        try await site.makeBucket("completed-\(shell)-bucket")
        let lines: [(String, String)] = [
            ("sluice adm", "admin"), ("sluice admin gran", "grants"), ("sluice admin grants cr", "create"),
            ("sluice admin grants create --conditions.max-b", "--conditions.max-bytes"),
            ("sluice admin grants create --effect de", "deny"), ("sluice migr", "migrate"),
            ("sluice admin buckets get completed-\(shell)", "completed-\(shell)-bucket"),
            ("sluice admin --json grants list --bucket completed-\(shell)", "completed-\(shell)-bucket"),
            ("sluice completion fi", "fish"), ("sluice help admin quo", "quotas"),
        ]
        for (line, word) in lines {
            let found = try await completions(of: line, in: shell)
            #expect(found == [word], "\(shell): \(line): \(found)")
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `a completed name is one argument, whatever a shell would make of it`(shell: String) async throws {
        let program = try program(of: shell)
        let site = try Deployment.current
        let (group, name) = ("group:typed in \(shell)", #"user:o'neil "o" \ $(touch ran);touch ran!"#)
        _ = try await done(["groups", "members", "create", group, "--member", name])
        let folder = FileManager.default.temporaryDirectory.appending(path: "completed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Completes as the program does, and otherwise notes its arguments.
        let stub = #"""
            #!/bin/sh
            case $1 in complete-words | completion) exec "$PROGRAM" "$@" ;; esac
            printf '%s\n' "$@" >arguments
            """#
        let files = [
            "sluice": stub, "bashrc": "PS1='ready> '\nsource <(sluice completion bash)\n",
            ".zshrc": "PS1='ready> '\nautoload -U compinit && compinit -u -D\nsource <(sluice completion zsh)\n",
        ]
        for (file, text) in files { try Data(text.utf8).write(to: folder.appending(path: file)) }
        let place = folder.path(percentEncoded: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(place)/sluice")
        let fish = "function fish_prompt; printf 'ready> '; end; sluice completion fish | source"
        let flags = ["bash": ["--rcfile", "bashrc"], "zsh": ["-d"], "fish": ["--no-config", "-C", fish]]
        for typed in ["user:o", "'user:o", "\"user:o", #"user:o\'neil\ "#] {
            let arguments = folder.appending(path: "arguments")
            try? FileManager.default.removeItem(at: arguments)
            let line = "sluice admin groups members get '\(group)' \(typed)"
            let process = try RunningProcess(
                ["/usr/bin/python3", "-c", Self.typing, line, program] + (flags[shell] ?? []) + ["-i"],
                environment: [
                    "SLUICE_ADMIN_KEY": try #require(site.environment["SLUICE_BOOTSTRAP_ADMIN_KEY"]),
                    "SLUICE_ADMIN_URL": "http://127.0.0.1:\(site.gateways[0].port)", "PROGRAM": Program.path,
                    "PATH": "\(place):/usr/bin:/bin", "HOME": place, "ZDOTDIR": place, "TERM": "dumb",
                    "LC_ALL": "C.UTF-8",
                ],
                folder: folder)
            _ = await process.exitStatus()
            let taken = (try? String(contentsOf: arguments, encoding: .utf8)) ?? process.output
            #expect(taken == "admin\ngroups\nmembers\nget\n\(group)\n\(name)\n", "\(shell): \(typed)")
        }
        #expect(!FileManager.default.fileExists(atPath: "\(place)/ran"))
    }

    /// Types a line, a tab and a return in a shell that has a terminal of its own.
    private static let typing = #"""
        import os, pty, signal, sys
        child, terminal = pty.fork()
        if child == 0:
            os.execvp(sys.argv[2], sys.argv[2:])
        signal.alarm(60)
        shown = b""
        while b"ready> " not in shown:
            shown += os.read(terminal, 4096)
        os.write(terminal, sys.argv[1].encode() + b"\t\nexit\n")
        try:
            while piece := os.read(terminal, 4096):
                print(piece.decode(errors="replace"), flush=True)
        except OSError:
            pass  # The shell has ended.
        """#

    /// The path of a shell; cancels the test where it is not installed.
    private func program(of shell: String) throws -> String {
        let path = shell == "bash" ? "/bin/bash" : "/usr/bin/\(shell)"
        try Surroundings.require(
            FileManager.default.isExecutableFile(atPath: path), orElse: "\(shell) is not installed")
        return path
    }

    /// What a shell offers at the end of a line.
    private func completions(of line: String, in shell: String) async throws -> [String] {
        let site = try Deployment.current
        let script: String
        switch shell {
        case "bash":
            script = #"""
                source <(sluice completion bash)
                COMP_LINE=$1 COMP_POINT=${#1}; _sluice sluice; printf '%s\n' "${COMPREPLY[@]}"
                """#
        case "zsh":
            // The functions that the completion calls to add words print them instead.
            script = #"""
                compdef() { :; }
                source <(sluice completion zsh)
                _describe() { local name=${@[-1]}; for e in "${(@P)name}"; do e=${e//\\:/$'\1'}; e=${e%%:*}; \
                    e=${e//$'\1'/:}; [[ $e == "$PREFIX"* ]] && print -r -- "$e"; done }
                words=("${(@z)1}"); [[ $1 == *' ' ]] && words+=(''); CURRENT=$#words; PREFIX=$words[-1]; _sluice
                """#
        default:
            script = "sluice completion fish | source; complete -C $argv[1] | string replace -r '\\t.*' ''"
        }
        let program = try program(of: shell)
        let flags = ["bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]][shell] ?? []
        let tail = shell == "fish" ? [line] : [shell, line]
        let folder = URL(filePath: Program.path).deletingLastPathComponent().path()
        let process = try RunningProcess(
            [program] + flags + ["-c", script] + tail,
            environment: [
                "SLUICE_ADMIN_KEY": try #require(site.environment["SLUICE_BOOTSTRAP_ADMIN_KEY"]),
                "SLUICE_ADMIN_URL": "http://127.0.0.1:\(site.gateways[0].port)", "PATH": "\(folder):/usr/bin:/bin",
            ])
        let status = await process.exitStatus()
        #expect(process.errors == "", "\(shell) \(status)")
        return process.output.split(separator: "\n").map(String.init)
    }
}

import Foundation
import Glibc
import HTTPTesting
import TestSupport
import Testing

/// `sluice dev` as a newcomer uses it: started without configuration, with its printed lines pasted into a shell.
@Suite(.serialized) struct DevCommandTests {
    @Test func `the printed lines work as they stand, and a second start takes up where the first left off`()
        async throws
    {
        let place = Place()
        let first = try await DevProcess(at: place)
        #expect(try await first.paste() == ["201", "200", "201", "Hello from Sluice", "200"])
        let stranger = try first.stranger
        #expect(try await stranger.ask(.download("users/alice/hello.txt", from: "demo")).status == 403)
        #expect(try await first.user.ask(.download("users/mallory/hello.txt", from: "demo")).status == 403)
        try await expectRefusals(by: first)
        try await expectListingAndDeletion(by: first)
        try await expectValidBuckets(of: first)
        #expect(first.process.output.contains("/admin/v1"))
        #expect(!first.process.errors.contains("other rights than a gateway needs"), "\(first.process.errors)")
        #expect(await first.end(by: SIGTERM) == 0)

        let second = try await DevProcess(at: place)
        let download = try await second.user.ask(.download("users/alice/hello.txt", from: "demo"))
        #expect(try await Link(download.json).use().text == "Hello from Sluice")
        #expect(try second.user.token == first.user.token)
        #expect(try second.admin.token == first.admin.token)
        #expect(try await second.admin.call("GET", "/admin/v1/buckets").status == 200)
        #expect(try await second.exportsSuffice())
        #expect(try second.stranger.token == stranger.token)
        #expect(try await second.paste() == ["201", "200", "201", "Hello from Sluice", "200"])
        #expect(await second.end(by: SIGINT) == 0)
    }

    @Test func `the first start makes a week that agrees with itself, once, and each start a way into the console`()
        async throws
    {
        let place = Place()
        let first = try await DevProcess(at: place, "--log-level", "info")
        let week = try await Week(first.admin)
        #expect((15_000...25_000).contains(week.issued), "\(week)")
        #expect(week.deliveries.count == 8, "\(week)")
        #expect(week.callers >= 30 && week.refusals["AccessDenied", default: 0] > 50, "\(week)")
        #expect(week.refusals["QuotaExceeded", default: 0] > 10 && week.neverLanded > 50, "\(week)")
        #expect(week.nearLimit >= 3 && week.endSoon == ["Photo booth in the lobby", "partner-transfer"], "\(week)")
        try await expectPastIsReal(of: first)

        // The address lets in once: what the console does with it ends the key.
        let key = try first.consoleKey
        let console = APIClient(port: try first.port, token: key)
        let prefix = String(key.split(separator: "_")[1])
        let row = try await console.call("GET", "/admin/v1/api-keys?prefix=\(prefix)").json["items"].items.first
        let id = try #require(row?["id"].text)
        let before = Date.now.formatted(.iso8601)
        let rotated = try await console.call("POST", "/admin/v1/api-keys/\(id):rotate")
        #expect(rotated.status == 200)
        // The clock of the database shows the present again.
        let filter = "kind=APIKey&operation=update&resourceID=\(id)&from=\(before)"
        let changes = try await first.admin.call("GET", "/admin/v1/audit?\(filter)")
        let times = changes.json["items"].items.compactMap { $0["changedAt"].text }
        #expect(times.count == 1 && times.allSatisfy { $0 >= before.prefix(19) }, "\(times), \(before)")
        #expect(try await console.call("GET", "/admin/v1/buckets").status == 401)
        let fresh = APIClient(port: try first.port, token: try #require(rotated.json["key"].text))
        #expect(try await fresh.call("GET", "/admin/v1/buckets").status == 200)
        #expect(await first.end(by: SIGKILL) != 0)

        let second = try await DevProcess(at: place)
        #expect(try await Week(second.admin).issued == week.issued)
        #expect(try second.consoleKey != key)
        let keys = try await second.admin.call("GET", "/admin/v1/api-keys?role=admin").json["items"].items
        #expect(keys.count == 1, "the key of the earlier start is gone")
        #expect(await second.end(by: SIGTERM) == 0)
    }

    /// Expects that past rows and the history of policy agree: the oldest issuance of the week can be explained.
    private func expectPastIsReal(of dev: DevProcess) async throws {
        let admin = try dev.admin
        let from = Date(timeIntervalSinceNow: -8 * 86_400).formatted(.iso8601)
        let to = Date(timeIntervalSinceNow: -6 * 86_400).formatted(.iso8601)
        let page = try await admin.call("GET", "/admin/v1/issuances?from=\(from)&to=\(to)&pageSize=1")
        let id = try #require(page.json["items"].items.first?["id"].text)
        let explained = try await admin.call("POST", "/admin/v1/explain", ["issuanceID": .string(id)])
        #expect(explained.status == 200 && explained.json["permitted"] == .bool(true), "\(explained.json)")
    }

    @Test func `a start after a crash takes up as well`() async throws {
        let place = Place()
        let first = try await DevProcess(at: place, "--empty")
        #expect(try await Week(first.admin).issued == 0)
        #expect(try await first.paste().first == "201")
        _ = await first.end(by: SIGKILL)
        let second = try await DevProcess(at: place)
        #expect(try await second.paste() == ["201", "200", "201", "Hello from Sluice", "200"])
        let page = try await second.examplePage()
        #expect(page.status == 200 && page.text.contains("app.js"), "\(page.text)")
        // The terminal is closed.
        #expect(await second.end(by: SIGHUP) == 0)
        #expect(!place.hasServer)
    }

    /// Waits until a start makes its week.
    private func weekHasBegun(at place: Place, by process: RunningProcess) async throws {
        try await waitUntil("the week has begun", seconds: 60) {
            guard process.isRunning else {
                throw ProgramError(status: await process.exitStatus(), output: process.errors)
            }
            return try await place.query("SELECT count(*) > 0 FROM demo_past.clock, buckets").contains("t")
        }
    }

    @Test func `a start that is told to stop leaves no server, and the next one makes the week anew`() async throws {
        var place = Place()
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // A week that was complete before the signal came would be taken up, so each start has a place of its own.
            place = Place()
            let process = try RunningProcess(DevProcess.command(at: place), environment: [:])
            try await weekHasBegun(at: place, by: process)
            process.signal(signal)
            #expect(await process.exitStatus() == 0, "\(process.errors)")
            try await waitUntil("the server has ended", seconds: 60) { !place.hasServer }
            #expect(!process.output.contains("is ready"))
        }
        let next = try await DevProcess(at: place)
        let week = try await Week(next.admin)
        #expect((15_000...25_000).contains(week.issued) && week.nearLimit >= 3, "\(week)")
        #expect(await next.end(by: SIGTERM) == 0)
    }

    /// Waits until a cluster is being made, and then types Ctrl-C on the terminal at which the program runs, or sends
    /// signals to the program alone.
    private static let interrupting = #"""
        import os, pty, signal, sys, time
        child, terminal = pty.fork()
        if child == 0:
            os.execv(sys.argv[3], sys.argv[3:])
        signal.alarm(120)
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.001)
        if sys.argv[1] == "Ctrl-C":
            os.write(terminal, b"\x03")
        else:
            for name in sys.argv[1].split():
                os.kill(child, getattr(signal, name))
        try:
            while piece := os.read(terminal, 4096):
                os.write(1, piece)
        except OSError:
            pass  # The program has ended.
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """#

    @Test(arguments: ["Ctrl-C", "SIGTERM", "SIGHUP", "SIGINT SIGTERM"])
    func `a signal while the first start makes the cluster ends it, quietly, and the next start begins anew`(
        signal: String
    ) async throws {
        let place = Place()
        let process = try RunningProcess(
            ["/usr/bin/python3", "-c", Self.interrupting, signal, "\(place.cluster).unfinished"]
                + DevProcess.command(at: place), environment: [:])
        #expect(await process.exitStatus() == 0, "\(process.output) \(process.errors)")
        #expect(!process.output.contains("The demo failed") && !process.output.contains("is ready"))
        #expect(!FileManager.default.fileExists(atPath: place.cluster), "the start went on")
        let next = try await DevProcess(at: place, "--empty")
        #expect(try await next.paste().first == "201")
        #expect(await next.end(by: SIGTERM) == 0)
        #expect(!place.hasServer)
    }

    /// What a start finds of an earlier one.
    enum Remains: Sendable {
        case cluster, server, serverKilled
    }

    @Test(arguments: [(SIGINT, Remains.cluster), (SIGTERM, .server), (SIGHUP, .serverKilled)])
    func `a signal during a later start leaves no server either, and the next start takes up`(
        signal: Int32, remains: Remains
    ) async throws {
        let place = Place()
        let first = try await DevProcess(at: place, "--empty")
        let old = try #require(place.server)
        _ = await first.end(by: remains == .cluster ? SIGTERM : SIGKILL)
        if remains == .serverKilled { kill(old, SIGKILL) }
        let process = try RunningProcess(
            DevProcess.command(at: place) + ["--empty", "--log-level", "debug"], environment: [:])
        try await waitUntil("PostgreSQL starts, or is found", seconds: 60) {
            let isFound = process.errors.contains("Found PostgreSQL running")
            return isFound || place.server.map { $0 != old } ?? false || !process.isRunning
        }
        process.signal(signal)
        #expect(await process.exitStatus() == 0, "\(process.errors)")
        #expect(process.errors.contains("Found PostgreSQL running") == (remains == .server), "\(process.errors)")
        try await waitUntil("the server has ended", seconds: 60) { !place.hasServer }
        let next = try await DevProcess(at: place, "--empty")
        #expect(try await next.paste() == ["201", "200", "201", "Hello from Sluice", "200"])
        #expect(await next.end(by: SIGTERM) == 0)
    }

    @Test func `a start finishes an update, unless a gateway needs what that removes`() async throws {
        let place = Place()
        let first = try await DevProcess(at: place, "--empty")
        // A gateway of an earlier build counts for a minute, and longer where its clock was ahead.
        let old = "018f0000-0000-7000-8000-0000000000aa"
        _ = try await place.query(
            """
            CREATE FUNCTION gone() RETURNS integer LANGUAGE sql AS 'SELECT 1';
            INSERT INTO schema_functions VALUES ('gone', '', '', now(), now());
            SELECT note_gateway('\(old)', '0.9.9', now(), now(), NULL, NULL, '{}', 0, '');
            UPDATE gateways SET last_seen_at = clock_timestamp() + interval '20 s' WHERE id = '\(old)'
            """)
        let left = "SELECT count(*) FROM pg_proc WHERE proname = 'gone'"
        #expect(try await place.query(left) == "1\n")
        #expect(await first.end(by: SIGTERM) == 0)

        let second = try await DevProcess(at: place, "--empty")
        #expect(try await place.query(left) == "1\n")
        _ = try await place.query("SELECT forget_gateway('\(old)')")
        #expect(await second.end(by: SIGTERM) == 0)

        let third = try await DevProcess(at: place, "--empty")
        #expect(try await place.query(left) == "0\n")
        #expect(try await third.paste().first == "201")
        #expect(await third.end(by: SIGTERM) == 0)
    }

    @Test func `a second signal ends the program at once, and PostgreSQL by itself`() async throws {
        let place = Place()
        let process = try RunningProcess(DevProcess.command(at: place), environment: [:])
        try await weekHasBegun(at: place, by: process)
        // A server that does not stop.
        let server = try #require(place.server)
        kill(server, SIGSTOP)
        defer { kill(server, SIGCONT) }
        process.signal(SIGINT)
        process.signal(SIGTERM)
        #expect(await process.exitStatus() == 130, "\(process.errors)")
        #expect(place.hasServer)
        kill(server, SIGCONT)
        try await waitUntil("the server has ended", seconds: 60) { !place.hasServer }
        let next = try await DevProcess(at: place, "--empty")
        #expect(try await next.paste().first == "201")
        #expect(await next.end(by: SIGTERM) == 0)
    }

    @Test func `variables for other servers of PostgreSQL do not reach its own`() async throws {
        let place = Place()
        let first = try await DevProcess(
            at: place, "--empty",
            environment: [
                "PGOPTIONS": "-c search_path=elsewhere", "PGSERVICE": "elsewhere", "PGCHANNELBINDING": "require",
                "PGDATESTYLE": "no style",
            ])
        #expect(try await first.paste().first == "201")
        #expect(await first.end(by: SIGTERM) == 0)
    }

    @Test func `where whoever reads the output ends first, PostgreSQL is stopped all the same`() async throws {
        let place = Place()
        // As '2>&1 | tee', which Ctrl-C ends as well.
        let logged = try await DevProcess(
            at: place, "--empty", "--log-level", "info",
            through: ["/bin/bash", "-c", #"exec "$@" 2> >(exec true)"#, "bash"])
        #expect(place.hasServer)
        #expect(await logged.end(by: SIGINT) == 0)
        #expect(!place.hasServer)
        let greeting = try RunningProcess(
            ["/bin/bash", "-c", #"exec "$@" > >(exec true)"#, "bash"] + DevProcess.command(at: place), environment: [:])
        #expect(await greeting.exitStatus() == 1)
        #expect(greeting.errors.contains("The demo failed"), "\(greeting.errors)")
        #expect(!place.hasServer)
    }

    /// In a container, root may not look at the processes of other users.
    @Test(.enabled(if: geteuid() == 0, "only root has capabilities to lose"))
    func `root needs no capability to trace processes`() async throws {
        let place = Place()
        let prefix = ["/usr/bin/setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", "--"]
        let first = try await DevProcess(at: place, "--empty", through: prefix)
        #expect(await first.end(by: SIGKILL) != 0)
        #expect(place.hasServer)
        let second = try await DevProcess(at: place, "--empty", through: prefix)
        #expect(try await second.paste().first == "201")
        #expect(await second.end(by: SIGTERM) == 0)
        #expect(!place.hasServer)
    }

    @Test func `a port that is taken is named with the flag that changes it`() async throws {
        let place = Place()
        try await Deployment.with { site in
            let taken = "\(site.gateways[0].port)"
            for (flag, other) in [("--port", "--store-port"), ("--store-port", "--port")] {
                let process = try RunningProcess(
                    [Program.path, "dev", "--empty", flag, taken, other, "0", "--data-dir", place.directory],
                    environment: [:])
                #expect(await process.exitStatus() != 0)
                #expect(process.errors.contains(flag), "\(process.errors)")
                #expect(process.errors.contains(taken), "\(process.errors)")
                let last = process.errors.split(separator: "\n").last ?? ""
                #expect(last.contains(" critical sluice: cause=") && last.hasSuffix(" [sluice] The demo failed"))
                #expect(!process.output.contains("is ready"))
            }
        }
    }

    /// Expects that both buckets of the demo pass every check of the gateway, and that no probe object remains.
    private func expectValidBuckets(of dev: DevProcess) async throws {
        let admin = try dev.admin
        for bucket in ["demo", "demo-oss"] {
            let answer = try await admin.call("POST", "/admin/v1/buckets/\(bucket):validate")
            #expect(answer.json["valid"] == .bool(true), "\(answer.json)")
            #expect(answer.json["probeLeft"] == .bool(false), "\(answer.json)")
        }
    }

    /// Expects the refusals of the demo's store.
    private func expectRefusals(by dev: DevProcess) async throws {
        let user = try dev.user
        let upload = try await user.ask(
            .upload("users/alice/other.txt", to: "demo").with(["contentMD5": "XUFAKrxLKna5cZ2REBfFkg=="]))
        let link = try Link(upload.json)
        var wrongType = link
        wrongType.headers["content-type"] = "text/html"
        #expect(try await wrongType.use(Array("hello".utf8)).status == 403)
        #expect(try await link.use(Array("jello".utf8)).status == 400)
        let short = try Link(try await user.ask(.upload("users/alice/o", to: "demo").with(["expiresIn": 1])).json)
        try await waitUntil("the link has ended", seconds: 20) {
            try await short.use(Array("hello".utf8)).status == 403
        }
        #expect(try await link.use(Array("hello".utf8)).status == 200)
    }

    /// Expects that the user lists and deletes in both buckets.
    private func expectListingAndDeletion(by dev: DevProcess) async throws {
        let user = try dev.user
        for bucket in ["demo", "demo-oss"] {
            let key = "users/alice/listed.txt"
            let upload = try Link(try await user.ask(.upload(key, to: bucket)).json)
            try #require(try await upload.use(Array("hello".utf8)).status == 200)
            let listing: JSON = ["action": "ListObjects", "bucket": "\(bucket)", "prefix": "users/alice/"]
            let deletion: JSON = ["action": "DeleteObject", "bucket": "\(bucket)", "key": "\(key)"]
            #expect(try await Link(user.ask(listing).json).use().text.contains("<Key>\(key)</Key>"))
            #expect(try await Link(user.ask(deletion).json).use().status == 204)
            #expect(try await !Link(user.ask(listing).json).use().text.contains(key))
        }
    }

    /// A directory in which `sluice dev` keeps everything. It is deleted with this object.
    final class Place: Sendable {
        let directory = "/tmp/sluice-dev-\(UUID().uuidString.prefix(8))"
        /// Where the finished cluster is.
        var cluster: String { "\(directory)/postgres/cluster" }
        private var processFile: String { "\(cluster)/postmaster.pid" }

        /// The process of PostgreSQL, if it runs here.
        var server: pid_t? {
            let text = try? String(contentsOfFile: processFile, encoding: .utf8)
            return text?.split(separator: "\n").first.flatMap { pid_t($0) }
        }

        /// Whether PostgreSQL runs here, or was killed.
        var hasServer: Bool { FileManager.default.fileExists(atPath: processFile) }

        /// What PostgreSQL answers, as the owner of all rows; an error is empty.
        func query(_ sql: String) async throws -> String {
            let psql = ["/usr/bin/psql", "-XAtq", "-h", "\(directory)/postgres/run", "-U", "postgres", "-d", "sluice"]
            let process = try RunningProcess(psql + ["-c", sql], environment: ["PATH": "/usr/bin:/bin"])
            _ = await process.exitStatus()
            return process.output
        }

        deinit {
            // A server that outlived a crash of the test has its data here.
            if let server { kill(server, SIGQUIT) }
            try? FileManager.default.removeItem(atPath: directory)
        }
    }

    /// What the admin API tells of the last week.
    struct Week {
        var issued = 0
        var deliveries: Set<String> = []
        var callers = 0
        var refusals: [String: Int] = [:]
        var neverLanded = 0
        var nearLimit = 0
        var endSoon: [String] = []

        init(_ admin: APIClient) async throws {
            let from = Date(timeIntervalSinceNow: -8 * 86_400).formatted(.iso8601)
            let soon = Date(timeIntervalSinceNow: 14 * 86_400).formatted(.iso8601)
            let later = Date(timeIntervalSinceNow: 7_200).formatted(.iso8601)
            func items(_ path: String) async throws -> [JSON] {
                try await admin.call("GET", "/admin/v1/\(path)").json["items"].items
            }
            let usage = try await items("usage?by=range&from=\(from)&groupBy=delivery")
            issued = usage.reduce(0) { $0 + ($1["urls"].integer ?? 0) }
            deliveries = Set(usage.compactMap { $0["delivery"].text })
            callers = try await items("usage?by=range&from=\(from)&groupBy=principal").count
            for count in try await items("denials?by=day&from=\(from)&groupBy=code") {
                refusals[count["code"].text ?? "", default: 0] += count["count"].integer ?? 0
            }
            neverLanded = try await items("uploads?state=expired&from=\(from)").count
            nearLimit = try await items("quotas?nearLimit=0.8").count
            endSoon =
                try await
                (items("api-keys?expiresBefore=\(soon)&activeAt=\(later)")
                + items("storage-credentials?expiresBefore=\(soon)")).compactMap { $0["name"].text }
        }
    }

    /// A running `sluice dev`.
    struct DevProcess: Sendable {
        let process: RunningProcess

        static func command(at place: Place) -> [String] {
            [Program.path, "dev", "--port", "0", "--store-port", "0", "--data-dir", place.directory]
        }

        init(
            at place: Place, _ options: String..., through prefix: [String] = [], environment: [String: String] = [:]
        ) async throws {
            let process = try RunningProcess(prefix + Self.command(at: place) + options, environment: environment)
            try await waitUntil("sluice dev is ready", seconds: 120) {
                guard process.isRunning else {
                    throw ProgramError(status: await process.exitStatus(), output: process.errors)
                }
                return process.output.contains("is ready") && process.output.contains("Ctrl-C")
            }
            self.process = process
        }

        func end(by signal: Int32) async -> Int32 {
            process.signal(signal)
            return await process.exitStatus()
        }

        /// Pastes the printed commands into a shell that names a proxy, which is not there; returns its output except
        /// links.
        func paste() async throws -> [String] {
            let lines = process.output.split(separator: "\n", omittingEmptySubsequences: false)
            let start = try #require(lines.firstIndex { $0.contains("is ready at") })
            let end = try #require(lines.firstIndex { $0.hasPrefix("The links allow") })
            let script = "exec 2>&1\n" + lines[(start + 1)..<end].joined(separator: "\n")
            let shell = try RunningProcess(
                ["/bin/bash", "-c", script], environment: ["http_proxy": "http://127.0.0.1:1", "no_proxy": ""])
            #expect(await shell.exitStatus() == 0)
            return shell.output.split(separator: "\n").filter { !$0.hasPrefix("http://") }.map(String.init)
        }

        /// What the printed address of the example answers. Its fragment has the user's token.
        func examplePage() async throws -> RawResponse {
            let mark = "http://127.0.0.1:\(try port)/examples/web/index.html#token="
            let line = try #require(process.output.split(separator: "\n").first { $0.hasPrefix(mark) })
            let user = try self.user
            #expect(line.dropFirst(mark.count) == user.token)
            let request = try user.request("GET", "/examples/web/index.html", keepsConnection: false)
            return try await request.answer(fromPort: try port)
        }

        /// The key in the console's address.
        var consoleKey: String {
            get throws {
                let mark = "\(try port)/console#once="
                let line = try #require(process.output.split(separator: "\n").first { $0.contains(mark) })
                return String(line[try #require(line.firstRange(of: mark)).upperBound...])
            }
        }

        var port: UInt16 {
            get throws {
                let address = try #require(process.output.firstRange(of: "is ready at http://127.0.0.1:"))
                return try #require(UInt16(process.output[address.upperBound...].prefix { $0.isNumber }))
            }
        }

        /// Whether commands without an option reach this gateway once the printed lines `export …` are pasted.
        func exportsSuffice() async throws -> Bool {
            let exports = process.output.split(separator: "\n").filter { $0.hasPrefix("export SLUICE_") }
            let commands = ["\"$1\" admin buckets list", "\"$1\" share --quiet demo/users/alice/hello.txt"]
            let script = "set -e\n" + (exports.map(String.init) + commands).joined(separator: "\n")
            let shell = try RunningProcess(["/bin/bash", "-c", script, "bash", Program.path], environment: [:])
            let status = await shell.exitStatus()
            #expect(status == 0, "\(shell.errors)")
            return exports.count == 4
        }

        /// The admin whose key each start prints.
        var admin: APIClient {
            get throws {
                let lines = process.output.split(separator: "\n")
                let line = try #require(lines.first { $0.contains("SLUICE_ADMIN_KEY=") })
                return APIClient(port: try port, token: String(line.split(separator: "=")[1]))
            }
        }

        var user: APIClient { get throws { try client { $0.contains("Bearer") } } }
        var stranger: APIClient { get throws { try client { $0.hasPrefix("sluice_") } } }

        /// A caller whose token is in a printed line.
        private func client(_ isWanted: @escaping (Substring) -> Bool) throws -> APIClient {
            let line = try #require(process.output.split(separator: "\n").first(where: isWanted))
            let start = try #require(line.firstRange(of: "sluice_")).lowerBound
            let token = line[start...].prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
            return APIClient(port: try port, token: String(token))
        }
    }
}

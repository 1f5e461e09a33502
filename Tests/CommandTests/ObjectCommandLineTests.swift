import Foundation
import Glibc
import Testing

/// What commands do before they ask a gateway. The gateway that they name does not exist.
@Suite final class ObjectCommandLineTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "objects-\(UUID().uuidString)").path

    private var environment: [String: String] {
        [
            "SLUICE_URL": "http://127.0.0.1:1", "SLUICE_KEY": "made-up", "SLUICE_ADMIN_URL": "http://127.0.0.1:1",
            "SLUICE_ADMIN_KEY": "made-up", "XDG_STATE_HOME": "\(folder)/state", "PATH": "/usr/bin:/bin",
        ]
    }

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Types an answer on a terminal at which a command runs, and prints what the terminal shows.
    private static let terminal = #"""
        import os, pty, signal, sys
        child, terminal = pty.fork()
        if child == 0:
            os.execv(sys.argv[2], sys.argv[2:])
        signal.alarm(60)
        os.write(terminal, sys.argv[1].encode() + b"\n")
        try:
            while piece := os.read(terminal, 4096):
                os.write(1, piece)
        except OSError:
            pass  # The command has ended.
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """#

    struct Answer: Sendable {
        let typed: String
        /// Whether the terminal is that of the command's session, and can be opened as `/dev/tty`.
        let isOwn: Bool
        let status: Int32
    }

    /// Without an answer, or after a yes, the status would be that of a gateway that is not there.
    @Test(
        arguments: [
            ["rm", "--retries", "0", "demo/a"], ["admin", "grants", "delete", "01980000-0000-7000-8000-000000000000"],
        ],
        [
            Answer(typed: "n", isOwn: true, status: 1), Answer(typed: "y", isOwn: true, status: 7),
            Answer(typed: "y", isOwn: false, status: 64),
        ])
    func `a person is asked before a deletion, also if standard error is a file`(
        command: [String], answer: Answer
    ) throws {
        let errors = "\(folder)/errors"
        let line = "exec \(answer.isOwn ? "" : "/usr/bin/setsid --wait ")\"$@\" 2>\"$0\""
        let run = try Command.run(
            ["-c", Self.terminal, answer.typed, "/bin/sh", "-c", line, errors, Command.program.path] + command,
            of: URL(fileURLWithPath: "/usr/bin/python3"), environment: environment)
        let written = try String(contentsOf: URL(fileURLWithPath: errors), encoding: .utf8)
        #expect(run.status == answer.status, "\(run.output) \(run.errors) \(written)")
        #expect(run.output.contains("[y/N]") == answer.isOwn, "\(run.output)")
        #expect(written.contains("error: Nothing was ") == (answer.status == 1), "\(written)")
        #expect(written.contains("--yes") == (answer.status == 64), "\(written)")
    }

    /// Standard input is the file. A yes, or no question, gives the status of a gateway that is not there.
    @Test(arguments: [
        (Answer(typed: "n", isOwn: true, status: 1), ""), (Answer(typed: "y", isOwn: true, status: 7), ""),
        (Answer(typed: "y", isOwn: false, status: 64), ""), (Answer(typed: "n", isOwn: true, status: 7), "--yes"),
        (Answer(typed: "n", isOwn: true, status: 7), "--dry-run"),
    ])
    func `a person is asked before a deletion, also if standard input is the file`(
        answer: Answer, option: String
    ) throws {
        let file = "\(folder)/grants.csv"
        try Data("principal,bucket,kind,actions\nuser:a,photos,bucket,GetObject\n".utf8)
            .write(to: URL(fileURLWithPath: file))
        let line = "exec \(answer.isOwn ? "" : "/usr/bin/setsid --wait ")\"$@\" \(option) <\"$0\""
        let run = try Command.run(
            [
                "-c", Self.terminal, answer.typed, "/bin/sh", "-c", line, file, Command.program.path, "admin", "grants",
                "import", "--prune", "--bucket", "photos", "--file-type", "csv",
            ], of: URL(fileURLWithPath: "/usr/bin/python3"), environment: environment)
        #expect(run.status == answer.status, "\(run.output) \(run.errors)")
        #expect(run.output.contains("[y/N]") == (answer.isOwn && option.isEmpty), "\(run.output)")
        #expect(run.output.contains("Nothing was changed.") == (answer.status == 1), "\(run.output)")
        #expect(run.output.contains("/dev/tty cannot be opened") == (answer.status == 64), "\(run.output)")
    }

    /// Arguments before a command that keep it from reading and writing what its user may not. Root may do that to
    /// every file, unless it lacks these capabilities.
    private static let bounded: [String] = {
        let lacking = "-dac_override,-dac_read_search"
        return geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=\(lacking)", "--inh-caps=\(lacking)", "--"] : []
    }()

    /// A file that could not be opened would give another status than a gateway that is not there.
    @Test(arguments: [
        ["put", "--retries", "0", "old.txt", "demo/a"],
        ["get", "--retries", "0", "demo/a", "new.txt"],
        ["get", "--retries", "0", "--force", "demo/a", "link.txt"],
        ["admin", "grants", "list", "--output", "new.json"],
        ["admin", "grants", "list", "--output", "link.txt"],
    ])
    func `files of the working directory are opened where it cannot be reached from above`(
        command: [String]
    ) throws {
        let files = FileManager.default
        let place = "\(folder)/closed/open"
        try files.createDirectory(atPath: place, withIntermediateDirectories: true)
        try Data([1]).write(to: URL(fileURLWithPath: "\(place)/old.txt"))
        try files.createSymbolicLink(atPath: "\(place)/link.txt", withDestinationPath: "old.txt")
        defer { try? files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: "\(folder)/closed") }
        let line = "cd \"$0\" && chmod 0 .. && exec \"$@\""
        let run = try Command.run(
            ["-c", line, place] + Self.bounded + [Command.program.path] + command, of: URL(fileURLWithPath: "/bin/sh"),
            environment: environment)
        #expect(run.status == 7, "\(run.errors)")
    }

    @Test func `a download goes on where an earlier one has left its beginning read-only`() throws {
        let (target, part) = ("\(folder)/cfg", "\(folder)/cfg.sluice-part")
        for path in [target, part] {
            try Data([1]).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: path)
        }
        let get = Self.bounded + [Command.program.path, "get", "--retries", "0", "--force", "demo/cfg", target]
        let run = try Command.run(
            Array(get.dropFirst()), of: URL(fileURLWithPath: get[0]), environment: environment)
        #expect(run.status == 7, "\(run.errors)")
    }

    /// The file would go, or stay, by chance.
    @Test func `a command that fails leaves nothing beside the file of its output`() throws {
        let line = "for n in $(seq 40); do \"$@\" --output \"$0/$n.json\"; [ $? = 7 ] || exit; done"
        let run = try Command.run(
            ["-c", line, folder, Command.program.path, "admin", "quotas", "list"], of: URL(fileURLWithPath: "/bin/sh"),
            environment: environment)
        #expect(run.status == 0, "\(run.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test func `a command that fails leaves the file that standard output goes to as it was`() throws {
        let log = "\(folder)/log"
        try Data("old".utf8).write(to: URL(fileURLWithPath: log))
        let run = try Command.run(
            [
                "-c", "\"$@\" >>\"$0\"", log, Command.program.path, "admin", "quotas", "list", "--output",
                "/dev/stdout",
            ], of: URL(fileURLWithPath: "/bin/sh"), environment: environment)
        #expect(run.status == 7, "\(run.errors)")
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "old")
    }

    @Test func `nothing is sent if one file of several cannot be read`() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: "\(folder)/album", withIntermediateDirectories: false)
        for name in ["a.txt", "b.txt"] { try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/album/\(name)")) }
        try files.setAttributes([.posixPermissions: 0], ofItemAtPath: "\(folder)/album/b.txt")
        let put = Self.bounded + [Command.program.path, "put", "--retries", "0"]
        for sources in [["--recursive", "\(folder)/album"], ["\(folder)/album/a.txt", "\(folder)/album/b.txt"]] {
            let run = try Command.run(
                Array(put.dropFirst()) + sources + ["demo/a/"], of: URL(fileURLWithPath: put[0]),
                environment: environment)
            #expect(run.status == 1, "\(run.errors)")
            #expect(run.errors.contains("/album/b.txt' may not be read by this user."), "\(run.errors)")
        }
        // To give an upload up, nothing is read, and the file may be gone.
        for name in ["b.txt", "gone.txt"] {
            let abort = try Command.run(
                Array(put.dropFirst()) + ["--abort", "\(folder)/album/\(name)", "demo/a/"],
                of: URL(fileURLWithPath: put[0]), environment: environment)
            #expect(abort.status == 0 && abort.output.contains("no interrupted upload"), "\(abort.errors)")
        }
    }

    /// A file that is sent would give the status of a gateway that is not there.
    @Test func `nothing is sent if one file of several is too long to be only created`() throws {
        try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/a.bin"))
        try Data(count: 6 << 20).write(to: URL(fileURLWithPath: "\(folder)/b.bin"))
        let run = try Command.run(
            [
                "put", "--create-only", "--part-size", "5M", "--retries", "0", "\(folder)/a.bin", "\(folder)/b.bin",
                "demo/a/",
            ], environment: environment)
        #expect(run.status == 64 && run.errors.contains("/b.bin' is longer"), "\(run.errors)")
    }

    /// Standard input never ends. A command that waits for its end is ended, with another status.
    @Test(
        arguments: [
            (["--metadata", "wrong"], "made-up", "not of the form name=value"), ([], "", "Set SLUICE_KEY to your key"),
        ] as [([String], String, String)])
    func `what is wrong is told before standard input is read`(options: [String], key: String, text: String) throws {
        let line = "mkfifo \"$0\" && exec 3<>\"$0\" && exec timeout 60 \"$@\" <&3"
        let run = try Command.run(
            ["-c", line, "\(folder)/input", Command.program.path, "put", "-", "demo/a"] + options,
            of: URL(fileURLWithPath: "/bin/sh"), environment: environment.merging(["SLUICE_KEY": key]) { $1 })
        #expect(run.status == 64 && run.errors.contains(text), "\(run.status) \(run.errors)")
    }

    @Test func `a pipe is not replaced, even by force, and a name that no file can have is refused`() throws {
        let pipe = "\(folder)/pipe"
        let made = try Command.run([pipe], of: URL(fileURLWithPath: "/usr/bin/mkfifo"))
        try #require(made.status == 0, "\(made.errors)")
        for (name, text) in [(pipe, "is not a regular file"), ("\(folder)/\(Self.longName)", "is too long")] {
            let run = try Command.run(["get", "--force", "demo/k", name], environment: environment)
            #expect(run.status == 1 && run.errors.contains(text), "\(run.status) \(run.errors)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["pipe"])
        #expect(try Command.run(["-p", pipe], of: URL(fileURLWithPath: "/usr/bin/test")).status == 0)
    }

    @Test func `a file that cannot be written is named as the line names it, with the reason`() throws {
        let taken = "\(folder)/taken"
        try FileManager.default.createDirectory(
            atPath: "\(taken).sluice-part", withIntermediateDirectories: false)
        for (name, told) in [
            ("\(folder)/nodir/x", "'\(folder)/nodir/x' cannot be written: No such file or directory."),
            ("/dev/null/x", "'/dev/null/x' cannot be written: Not a directory."),
            (taken, "'\(taken).sluice-part' cannot be written: Is a directory."),
        ] {
            let run = try Command.run(["get", "--retries", "0", "demo/k", name], environment: environment)
            #expect(run.status == 1 && run.errors == "error: \(told)\n", "\(run.status) \(run.errors)")
        }
    }

    private static let longName = String(repeating: "x", count: 256)

    @Test(arguments: [
        "get --json", "get --json --retries 999 demo/k", "put --json one", "ls --json --page-size 0 demo/",
        "rm --json --no-such-option demo/k", "share --json", "credentials --json demo --format none",
    ])
    func `what is wrong with a line is one JSON document where --json says so`(line: String) throws {
        let run = try Command.run(line.split(separator: " ").map(String.init), environment: environment)
        #expect(run.status == 64 && run.output == "")
        let document = try JSONSerialization.jsonObject(with: Data(run.errors.utf8)) as? [String: [String: String]]
        let error = try #require(document?["error"])
        #expect(error["code"] == "CommandLine" && error["detail"]?.isEmpty == false, "\(run.errors)")
    }

    @Test func `help and words behind -- are not errors in JSON`() throws {
        let help = try Command.run(["get", "--json", "--help"], environment: environment)
        #expect(help.status == 0 && help.output.hasPrefix("OVERVIEW: Download an object."))
        let plain = try Command.run(["get", "--retries", "999", "--", "--json"], environment: environment)
        #expect(plain.status == 64 && plain.errors.hasPrefix("Error: "), "\(plain.errors)")
    }

    /// A gateway that asks for a pause of half a minute, during which the user presses Ctrl-C.
    private static let patience = #"""
        import os, signal, socket, subprocess, sys
        signal.alarm(60)
        # The tests may run where it is ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        server = socket.create_server(("127.0.0.1", 0))
        url = "http://127.0.0.1:%d" % server.getsockname()[1]
        program = subprocess.Popen(sys.argv[1:], env={**os.environ, "SLUICE_URL": url})
        connection, _ = server.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n")
        while connection.recv(65536):
            pass
        program.send_signal(signal.SIGINT)
        sys.exit(program.wait())
        """#

    @Test func `Ctrl-C during a pause is an interruption, not the failure before it`() throws {
        let run = try Command.run(
            ["-c", Self.patience, Command.program.path, "share", "demo/k"],
            of: URL(fileURLWithPath: "/usr/bin/python3"), environment: environment)
        #expect(run.status == 130 && run.errors.contains("error: Interrupted."), "\(run.status) \(run.errors)")
    }

    /// A gateway that does not answer, and a script that started the command with `&`.
    private static let background = #"""
        import os, signal, socket, subprocess, sys
        signal.alarm(60)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        server = socket.create_server(("127.0.0.1", 0))
        url = "http://127.0.0.1:%d" % server.getsockname()[1]
        program = subprocess.Popen(sys.argv[1:], env={**os.environ, "SLUICE_URL": url})
        connection, _ = server.accept()
        connection.recv(65536)
        program.send_signal(signal.SIGINT)
        sys.exit(program.wait())
        """#

    @Test func `Ctrl-C does not end a command in the background of a script`() throws {
        let run = try Command.run(
            ["-c", Self.background, Command.program.path, "share", "demo/k", "--retries", "0", "--timeout", "1"],
            of: URL(fileURLWithPath: "/usr/bin/python3"), environment: environment)
        #expect(run.status == 7, "\(run.status) \(run.errors)")
    }

    /// A gateway that is also the store of its links, and does something wrong with a download of ten bytes.
    private static let store = #"""
        import hashlib, http.server, json, os, signal, subprocess, sys, threading, time
        signal.alarm(60)
        # The tests may run where it is ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        fault, target = sys.argv[1:3]
        body = b"" if fault == "late" else b"0123456789"
        class Server(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                link = {"id": "1", "method": "GET", "url": url + "/k", "headers": {}, "expiresAt": "", "expiresIn": 900}
                self.answer(201, json.dumps(link).encode())
            def do_GET(self):
                if fault == "silent":
                    program.send_signal(signal.SIGINT)
                    program.wait()
                    return
                if fault == "late":
                    open(target, "w").close()
                self.answer(200, body)
                if fault in ("stalled", "gzip", "kept"):
                    part = target + ".sluice-part"
                    while not os.path.exists(part) or os.path.getsize(part) < 5:
                        time.sleep(0.01)
                    program.send_signal(signal.SIGINT)
                    program.wait()
            def answer(self, status, content):
                self.send_response(status)
                self.send_header("Content-Length", len(content))
                if status == 200 and fault in ("wrong", "gzip", "kept"):
                    self.send_header("ETag", '"%s"' % hashlib.md5(b"other").hexdigest())
                if status == 200 and fault == "gzip":
                    self.send_header("x-goog-stored-content-encoding", "gzip")
                self.end_headers()
                is_short = status == 200 and fault in ("cut", "stalled", "gzip", "kept")
                self.wfile.write(content[:5] if is_short else content)
            def log_message(self, *_):
                pass
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        url = "http://127.0.0.1:%d" % server.server_port
        program = subprocess.Popen(sys.argv[3:], env={**os.environ, "SLUICE_URL": url})
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.exit(program.wait())
        """#

    struct Fault: Sendable {
        let name: String
        let target: String
        let status: Int32
        /// What the error says.
        let text: String
        /// The files that are there at the end.
        var files: [String] = []
        /// Whether a later run can know of it.
        var isRemembered = true
    }

    @Test(arguments: [
        Fault(name: "wrong", target: "-", status: 8, text: "the MD5 that the store tells.\n"),
        Fault(name: "wrong", target: "new", status: 8, text: "the MD5 that the store tells. Nothing was kept."),
        Fault(
            name: "late", target: "new", status: 1, text: "new.sluice-part'.", files: ["new", "new.sluice-part"]),
        Fault(name: "silent", target: "new", status: 130, text: "Interrupted.\n"),
        // Without an entity tag, the next download could not ask for the rest.
        Fault(name: "stalled", target: "new", status: 130, text: "because this download cannot be continued."),
        // Nor where the store decompresses the object. It does not matter then what can be written.
        Fault(
            name: "gzip", target: "new", status: 130, text: "because this download cannot be continued.",
            isRemembered: false),
        Fault(
            name: "kept", target: "new", status: 130, text: "Run the same command again to go on.",
            files: ["new.sluice-part"]),
        Fault(
            name: "kept", target: "new", status: 130, text: "'/proc/nothing/sluice/transfers' cannot be written.",
            isRemembered: false),
        // The bytes cannot be taken back, and without an entity tag the store cannot be asked for the rest.
        Fault(name: "cut", target: "-", status: 7, text: "error: "),
    ])
    func `a download that fails tells what became of its bytes`(fault: Fault) throws {
        let target = fault.target == "-" ? "-" : "\(folder)/\(fault.target)"
        let run = try Command.run(
            ["-c", Self.store, fault.name, target, Command.program.path, "get", "demo/k", target],
            of: URL(fileURLWithPath: "/usr/bin/python3"),
            environment: environment.merging(fault.isRemembered ? [:] : ["XDG_STATE_HOME": "/proc/nothing"]) { $1 })
        #expect(run.status == fault.status && run.errors.contains(fault.text), "\(run.status) \(run.errors)")
        #expect(run.errors.contains("sluice-part") == fault.files.contains("new.sluice-part"), "\(run.errors)")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "state" }
        #expect(files.sorted() == fault.files)
    }

    @Test func `a link that leads nowhere is a file that exists`() throws {
        let link = "\(folder)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "nowhere")
        for (options, status) in [([], 1), (["--force"], 7)] as [([String], Int32)] {
            let run = try Command.run(["get", "--retries", "0", "demo/k", link] + options, environment: environment)
            #expect(run.status == status && run.errors.contains("--force") == (status == 1), "\(run.errors)")
        }
    }

    @Test(arguments: ["share demo/k --retries 0", "admin grants list"])
    func `with --json, nothing but the error is told where the key would go unencrypted`(line: String) throws {
        let run = try Command.run(
            line.split(separator: " ").map(String.init) + ["--json", "--url", "http://127.0.0.2:1"],
            environment: environment)
        #expect(run.status == 7, "\(run.errors)")
        _ = try JSONSerialization.jsonObject(with: Data(run.errors.utf8))
    }

    /// The word behind the last space is completed.
    @Test(
        arguments: [
            ("put ", [":files"]), ("put a.txt b.txt ", [":files"]), ("put --part-size 5M ", [":files"]),
            ("get --timeout 9 ", []), ("get --timeout 9 demo/k ", [":files"]), ("get --timeout ", []),
            ("serve --config=", [":files"]), ("credentials --format=p", ["--format=process"]),
        ] as [(String, [String])])
    func `names of files are offered where a file is meant`(line: String, offered: [String]) throws {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let run = try Command.run(["complete-words", "--"] + words, environment: environment)
        let lines = run.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        #expect(run.status == 0 && lines == offered, "\(run.output)")
    }
}

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

    @Test func `nothing is sent if one file of several cannot be read`() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: "\(folder)/album", withIntermediateDirectories: false)
        for name in ["a.txt", "b.txt"] { try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/album/\(name)")) }
        try files.setAttributes([.posixPermissions: 0], ofItemAtPath: "\(folder)/album/b.txt")
        // Root may read every file, unless it lacks these capabilities.
        let lacking = "-dac_override,-dac_read_search"
        let prefix =
            geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=\(lacking)", "--inh-caps=\(lacking)", "--"] : []
        let put = prefix + [Command.program.path, "put", "--retries", "0"]
        for sources in [["--recursive", "\(folder)/album"], ["\(folder)/album/a.txt", "\(folder)/album/b.txt"]] {
            let run = try Command.run(
                Array(put.dropFirst()) + sources + ["demo/a/"], of: URL(fileURLWithPath: put[0]),
                environment: environment)
            #expect(run.status == 1, "\(run.errors)")
            #expect(run.errors.contains("/album/b.txt' may not be read by this user."), "\(run.errors)")
        }
        // To give an upload up, nothing is read.
        let abort = try Command.run(
            Array(put.dropFirst()) + ["--abort", "\(folder)/album/b.txt", "demo/a/"],
            of: URL(fileURLWithPath: put[0]), environment: environment)
        #expect(abort.status == 0 && abort.output.contains("no interrupted upload"), "\(abort.errors)")
    }
}

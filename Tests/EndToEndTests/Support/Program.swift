import Foundation
import Glibc
import PostgresTesting
import Synchronization
import Testing

/// The built program.
enum Program {
    /// The path of the program, beside the tests, where the build put both.
    static let path: String = {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let folder = URL(filePath: own ?? CommandLine.arguments[0]).deletingLastPathComponent()
        return folder.appending(path: "sluice").path(percentEncoded: false)
    }()

    /// Runs a command of the program, or of another one, to its end; returns its standard error.
    static func run(
        _ arguments: [String], of program: String = path, environment: [String: String]
    ) async throws -> String {
        let process = try RunningProcess([program] + arguments, environment: environment)
        let status = await process.exitStatus()
        let errors = process.errors
        guard status == 0 else { throw ProgramError(status: status, output: errors) }
        return errors
    }
}

/// The error of a program that failed at its task.
struct ProgramError: Error, CustomStringConvertible {
    var status: Int32?
    var output: String
    var description: String { "status \(status.map { "\($0)" } ?? "none"): \(output.suffix(4000))" }
}

/// A separate process. It is killed when the tests end, however they end.
final class RunningProcess: Sendable {
    let processID: pid_t
    private let folder: URL
    private let ending = Ending()
    private static let counter = Atomic(0)

    /// The exit status, and the tasks that wait for it.
    private final class Ending: Sendable {
        private struct State {
            var status: Int32?
            var waiting: [CheckedContinuation<Int32, Never>] = []
        }

        private let state = Mutex(State())

        var status: Int32? { state.withLock { $0.status } }

        func come(_ status: Int32) {
            let waiting = state.withLock { state in
                state.status = status
                return exchange(&state.waiting, with: [])
            }
            waiting.forEach { $0.resume(returning: status) }
        }

        func wait() async -> Int32 {
            await withCheckedContinuation { continuation in
                let status = state.withLock { state in
                    if state.status == nil { state.waiting.append(continuation) }
                    return state.status
                }
                if let status { continuation.resume(returning: status) }
            }
        }
    }

    /// Starts a command whose output goes to files.
    init(_ command: [String], environment: [String: String], folder workingFolder: URL? = nil) throws {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        let owner = ProcessInfo.processInfo.processIdentifier
        folder = FileManager.default.temporaryDirectory.appending(path: "sluice-program-\(owner)-\(number)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["-c", Self.launcher, "launcher", "\(owner)"] + command
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SLUICE_") }
        process.environment = inherited.merging(environment) { $1 }
        process.currentDirectoryURL = workingFolder ?? folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try Self.file(folder.appending(path: "output"))
        process.standardError = try Self.file(folder.appending(path: "errors"))
        process.terminationHandler = { [ending] in ending.come($0.terminationStatus) }
        try process.run()
        processID = process.processIdentifier
    }

    deinit {
        if ending.status == nil { signal(SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    private static func file(_ url: URL) throws -> FileHandle {
        try Data().write(to: url)
        return try FileHandle(forWritingTo: url)
    }

    /// Runs the command in its arguments under its own process id. A child watches it and, where necessary, outlives
    /// the tests. A signal that the tests ignore, as under nohup or behind `&`, ends the command all the same.
    private static let launcher = #"""
        \#(WatcherScript.functions)
        owner=$1 me=$$
        shift
        (
            close_inherited
            wait_for_end "$owner" "$me"
            if [ ! -d "/proc/$owner" ]; then kill -KILL "$me"; fi
        ) </dev/null >/dev/null 2>&1 &
        exec /usr/bin/env --default-signal=HUP,INT,TERM -- "$@"
        """#

    /// Standard error so far.
    var errors: String { contents(of: "errors") }
    /// Standard output so far.
    var output: String { contents(of: "output") }

    private func contents(of name: String) -> String {
        String(decoding: (try? Data(contentsOf: folder.appending(path: name))) ?? Data(), as: UTF8.self)
    }

    /// Whether it still runs.
    var isRunning: Bool { ending.status == nil }

    /// Sends a signal.
    func signal(_ number: Int32) {
        kill(processID, number)
    }

    /// Its exit status, or the signal that ended it, once it has ended. It is killed if it takes longer than any test
    /// lets it run.
    func exitStatus() async -> Int32 {
        async let _: Void = end(after: .seconds(600))
        return await ending.wait()
    }

    private func end(after limit: Duration) async {
        guard (try? await Task.sleep(for: limit)) != nil, isRunning else { return }
        Issue.record("process \(processID) did not end within \(limit)")
        signal(SIGKILL)
    }
}

import Foundation
import Glibc
import PostgresTesting
import Synchronization
import Testing

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
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SLUICE_") }
        let variables = inherited.merging(environment) { $1 }.map { "\($0)=\($1)" }
        let home = (workingFolder ?? folder).path(percentEncoded: false)
        processID = try Self.spawn(
            ["/bin/bash", "-c", Self.launcher, "launcher", "\(owner)", home] + command, variables,
            output: folder.appending(path: "output"), errors: folder.appending(path: "errors"))
        Thread.detachNewThread { [ending, processID] in ending.come(Self.end(of: processID)) }
    }

    deinit {
        if ending.status == nil { signal(SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts a program in a process group of its own. A signal that the tests ignore, as under nohup or behind `&`,
    /// ends it all the same.
    private static func spawn(
        _ arguments: [String], _ environment: [String], output: URL, errors: URL
    ) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        for (descriptor, file) in [(Int32(1), output), (2, errors)] {
            unsafe posix_spawn_file_actions_addopen(
                &actions, descriptor, file.path(percentEncoded: false), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGHUP, SIGINT, SIGTERM] { unsafe sigaddset(&signals, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var process = pid_t()
        let texts = unsafe [arguments, environment].map { list in unsafe list.map { unsafe strdup($0) } + [nil] }
        defer { unsafe texts.joined().forEach { unsafe free($0) } }
        let failure = unsafe posix_spawn(&process, arguments[0], &actions, &attributes, texts[0], texts[1])
        guard failure == 0 else { throw ProgramError(status: nil, output: unsafe String(cString: strerror(failure))) }
        return process
    }

    /// Waits for the end of a child. Returns its exit status, or the signal that ended it.
    private static func end(of process: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : signal
    }

    /// Runs the command in its arguments under its own process id. What another thread of the tests opens meanwhile is
    /// closed: it must not stay open for as long as the command runs. A child watches the command and, where necessary,
    /// outlives the tests.
    private static let launcher = #"""
        \#(WatcherScript.functions)
        owner=$1 me=$$
        cd -- "$2" || exit
        shift 2
        close_inherited
        (
            wait_for_end "$owner" "$me"
            if [ ! -d "/proc/$owner" ]; then kill -KILL "$me"; fi
        ) </dev/null >/dev/null 2>&1 &
        exec "$@"
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

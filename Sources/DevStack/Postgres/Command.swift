import Subprocess
import SystemPackage

/// A program that runs to completion. It gets an environment of its own, so no `PG…` variable of the user reaches it.
struct Command: Sendable {
    /// The result of a run.
    struct Outcome: Sendable {
        let succeeded: Bool
        /// Standard output, followed by standard error.
        let output: String
    }

    private let words: [String]
    private let workingDirectory: String
    private let variables: [String: String]

    /// Creates a command from the path of the program and its arguments.
    init(_ words: [String], workingDirectory: String = "/", variables: [String: String] = [:]) {
        self.words = words
        self.workingDirectory = workingDirectory
        self.variables = variables
    }

    /// How long a program may take to end in order, once its task is cancelled.
    private static let patience = Duration.seconds(5)

    /// Runs the program and waits for it to end. A cancelled task interrupts the program, as Ctrl-C would, and fails.
    ///
    /// - Parameter input: The text to send to standard input.
    /// - Throws: `SubprocessError` if the program cannot be started.
    func run(input: String = "") async throws -> Outcome {
        var environment: [Environment.Key: String] = [
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", "TZ": "UTC",
        ]
        for (name, value) in variables {
            environment[Environment.Key(stringLiteral: name)] = value
        }
        var options = PlatformOptions()
        // A group of its own: Ctrl-C at a terminal reaches this process alone, which then ends the program in order.
        options.processGroupID = 0
        // `initdb` removes what it has made, and `pg_ctl` stops the server that it is starting.
        options.teardownSequence = [
            .send(signal: .interrupt, toProcessGroup: true, allowedDurationToNextStep: Self.patience)
        ]
        let configuration = Configuration(
            executable: .path(FilePath(words[0])),
            arguments: Arguments(Array(words.dropFirst())),
            environment: .custom(environment),
            workingDirectory: FilePath(workingDirectory),
            platformOptions: options
        )
        // With `input: .string`, a task that is cancelled leaves the pipe open, and swift-subprocess stops the whole
        // demo with `fatalError`.
        let bytes = Array(input.utf8)
        let result = try await Subprocess.run(
            configuration, input: bytes.span, output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        return Outcome(
            succeeded: result.terminationStatus.isSuccess,
            output: result.standardOutput + result.standardError
        )
    }
}

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

    /// Runs the program and waits for it to end.
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
        let result = try await Subprocess.run(
            .path(FilePath(words[0])),
            arguments: Arguments(Array(words.dropFirst())),
            environment: .custom(environment),
            workingDirectory: FilePath(workingDirectory),
            input: .string(input),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        return Outcome(
            succeeded: result.terminationStatus.isSuccess,
            output: result.standardOutput + result.standardError
        )
    }
}

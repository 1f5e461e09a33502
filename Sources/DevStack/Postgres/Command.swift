import Subprocess
import SystemPackage

/// A program that runs to its end, with an environment of its own so that no `PG…` variable of the user's reaches it.
struct Command: Sendable {
    /// What came of it.
    struct Outcome: Sendable {
        let succeeded: Bool
        /// Standard output and standard error, one after the other.
        let output: String
    }

    private let words: [String]
    private let workingDirectory: String
    private let variables: [String: String]

    /// Takes the path of the program and its arguments.
    init(_ words: [String], workingDirectory: String = "/", variables: [String: String] = [:]) {
        self.words = words
        self.workingDirectory = workingDirectory
        self.variables = variables
    }

    /// Runs the program and waits for it.
    ///
    /// - Parameter input: What it reads on standard input.
    /// - Throws: `SubprocessError` when it cannot be started.
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

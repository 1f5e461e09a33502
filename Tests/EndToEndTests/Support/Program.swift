import Foundation

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

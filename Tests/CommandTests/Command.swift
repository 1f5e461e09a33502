import Foundation
import Testing

/// Runs the built program as a separate process.
struct Command {
    struct Result {
        let status: Int32
        let output: String
        let errors: String
    }

    /// The path of the program, beside the tests, where the build put both.
    static let program: URL = {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let folder = URL(filePath: own ?? CommandLine.arguments[0]).deletingLastPathComponent()
        return folder.appending(path: "sluice")
    }()

    /// Runs the program, or another one, to its end.
    ///
    /// - Parameter environment: Its whole environment; `nil` for the environment of the tests.
    static func run(
        _ arguments: [String], of program: URL = Command.program, input: Data = Data(),
        environment: [String: String]? = nil
    ) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (inputFile, outputFile) = (folder.appending(path: "input"), folder.appending(path: "output"))
        let errorFile = folder.appending(path: "errors")
        try input.write(to: inputFile)
        try Data().write(to: outputFile)
        try Data().write(to: errorFile)
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        if let environment { process.environment = environment }
        process.standardError = try FileHandle(forWritingTo: errorFile)
        process.standardInput = try FileHandle(forReadingFrom: inputFile)
        process.standardOutput = try FileHandle(forWritingTo: outputFile)
        try process.run()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus, output: try String(contentsOf: outputFile, encoding: .utf8),
            errors: try String(contentsOf: errorFile, encoding: .utf8))
    }

    /// Runs the example in a command's help, as somebody does who copies it into Bash. Returns what it prints.
    static func runExample(ofHelpFor name: String) throws -> String {
        let help = try run(["help", name]).output
        let start = try #require(help.range(of: "echo '"))
        let end = try #require(help.range(of: "| sluice \(name)"))
        var environment = ProcessInfo.processInfo.environment
        let folder = program.deletingLastPathComponent().path()
        environment["PATH"] = "\(folder):\(environment["PATH"] ?? "")"
        return try run(
            ["-c", String(help[start.lowerBound..<end.upperBound])], of: URL(filePath: "/bin/bash"),
            environment: environment
        ).output
    }
}

import Foundation
public import Testing

/// The Python that has what tests need: the stores' SDKs, PyJWT and others.
public enum Python {
    /// The error of a program whose exit status is not 0.
    public struct Failure: Error, CustomStringConvertible {
        /// The status and what the program wrote to standard error.
        public let description: String
    }

    /// Whether a variable names the interpreter.
    public static var isAvailable: Bool { variable?.isEmpty == false }

    /// The path of the interpreter; fails the test where no variable names it.
    public static var path: String {
        get throws { try #require(variable, "SLUICE_TEST_PYTHON is required here") }
    }

    private static let variable = ProcessInfo.processInfo.environment["SLUICE_TEST_PYTHON"]

    /// Runs a program.
    ///
    /// - Parameters:
    ///   - program: The source text.
    ///   - arguments: The program's arguments, in `sys.argv[1:]`.
    ///   - input: The bytes at standard input.
    /// - Returns: What the program printed, without white space at its ends.
    /// - Throws: ``Failure`` unless the exit status is 0.
    public static func run(_ program: String, arguments: [String] = [], input: [UInt8] = []) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "python-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Files: writing to a pipe that a failed program left unread would kill the tests.
        let (inputFile, errorFile) = (folder.appending(path: "input"), folder.appending(path: "errors"))
        try Data(input).write(to: inputFile)
        try Data().write(to: errorFile)
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: try path)
        process.arguments = ["-c", program] + arguments
        process.standardInput = try FileHandle(forReadingFrom: inputFile)
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errorFile)
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let status = process.terminationStatus
        guard status == 0 else {
            let errors = String(decoding: try Data(contentsOf: errorFile), as: UTF8.self)
            throw Failure(description: "Python ended with status \(status):\n\(errors)")
        }
        return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a suite, visibly, where no Python is available and none is required.
    ///
    /// - Parameter package: What the Python must have, as the reason for skipping names it.
    public static func python(with package: String) -> Self {
        .enabled(
            if: Python.isAvailable || StoreKind.areRequired, "SLUICE_TEST_PYTHON names no Python that has \(package)")
    }
}

import Foundation

/// The `openssl` command: keys and signatures made without the code under test, and an independent check of it.
public enum OpenSSL {
    /// Runs the command.
    ///
    /// - Returns: Its exit status and its standard output.
    public static func run(
        _ arguments: [String], input: [UInt8] = []
    ) throws -> (status: Int32, output: [UInt8]) {
        let process = Process()
        let (standardInput, standardOutput) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardInput = standardInput
        process.standardOutput = standardOutput
        process.standardError = FileHandle.nullDevice
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input))
        try standardInput.fileHandleForWriting.close()
        let output = try standardOutput.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, Array(output))
    }
}

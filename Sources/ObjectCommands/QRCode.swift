import Foundation

/// QR codes for terminals, drawn by the command `qrencode` where it is installed.
enum QRCode {
    /// Draws a text; `nil` without the command, or if the text is too long for a code.
    static func drawing(of text: String, environment: [String: String]) -> String? {
        let folders = (environment["PATH"] ?? "/usr/bin").split(separator: ":")
        let candidates = folders.map { "\($0)/qrencode" }
        guard let path = candidates.first(where: FileManager.default.isExecutableFile(atPath:)) else { return nil }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        // The text goes through a pipe: other users can read the arguments of a command.
        process.arguments = ["-t", "ANSIUTF8", "-m", "2", "-o", "-"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
            try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
            try input.fileHandleForWriting.close()
        } catch {
            return nil
        }
        let drawing = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return process.terminationStatus == 0 && !drawing.isEmpty ? String(decoding: drawing, as: UTF8.self) : nil
    }
}

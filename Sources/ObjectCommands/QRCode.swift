import Subprocess

/// QR codes for terminals, drawn by the command `qrencode` where it is installed.
enum QRCode {
    /// Draws a text; `nil` without the command, or if the text is too long for a code.
    static func drawing(of text: String) async -> String? {
        // The text goes through a pipe: other users can read the arguments of a command.
        let result = try? await Subprocess.run(
            .name("qrencode"), arguments: ["-t", "ANSIUTF8", "-m", "2", "-o", "-"], input: .string(text),
            output: .string(limit: 1 << 20), error: .discarded)
        guard let result, result.terminationStatus.isSuccess, !result.standardOutput.isEmpty else { return nil }
        return result.standardOutput
    }
}

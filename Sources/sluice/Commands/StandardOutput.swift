import ArgumentParser
import LocalFiles

/// Writes a line, or several, to standard output, with a line break at the end.
///
/// - Throws: `ExitCode`, after writing the reason to standard error, if not all of it can be written.
func writeLine(_ text: String) throws {
    try writeToStandardOutput(text + "\n")
}

/// Writes text to standard output.
///
/// - Throws: `ExitCode`, after writing the reason to standard error, if not all of it can be written.
func writeToStandardOutput(_ text: String) throws {
    do throws(FileError) { try OpenFile.standardOutput.write(text.utf8) } catch {
        writeToStandardError("error: Standard output cannot be written: \(error).\n")
        throw ExitCode.failure
    }
}

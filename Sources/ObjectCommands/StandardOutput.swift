import FoundationEssentials
import LocalFiles
import ObjectClient
import Terminal

/// Writes what was asked for to standard output.
///
/// - Throws: ``ClientFailure/file(_:)`` if not all of it can be written.
func writeToStandardOutput(_ text: String) throws(ClientFailure) {
    do throws(FileError) { try OpenFile.standardOutput.write(text.utf8) } catch {
        throw .file("Standard output cannot be written: \(error).")
    }
}

/// A value as JSON on a line of its own, which a terminal may show.
func jsonLine(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    guard let data = try? encoder.encode(value) else { preconditionFailure("texts and numbers are JSON") }
    return String(decoding: data, as: UTF8.self).visibleJSON + "\n"
}

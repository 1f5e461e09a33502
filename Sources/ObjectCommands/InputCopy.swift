import FoundationEssentials
import LocalFiles
import ObjectClient

/// A copy of standard input, whose length is known. It has no name, so the system removes it when the process ends,
/// however that happens.
struct InputCopy: Sendable {
    private let file: OpenFile

    /// Reads standard input to its end.
    init(stop: StopFlag) async throws(ClientFailure) {
        let directory = FileManager.default.temporaryDirectory
        let path = directory.appending(path: "sluice-put-\(UUID().uuidString)").path(percentEncoded: false)
        guard let file = try? OpenFile(path, for: .creating) else { throw .file("'\(path)' cannot be written.") }
        file.removeName(path)
        self.file = file
        // A pipe may be silent for long.
        let outcome = await blocking(until: stop) { () -> Bool in
            do throws(FileError) {
                while case let piece = try OpenFile.standardInput.read(atMost: 1 << 20), !piece.isEmpty {
                    guard !stop.isSet else { return true }
                    try file.write(piece)
                }
                return true
            } catch {
                return false
            }
        }
        // The end may be that of a program that the same Ctrl-C has ended.
        guard let isCopied = outcome, !stop.isSet else { throw .stopped("Interrupted. Nothing was sent.") }
        guard isCopied else {
            let place = directory.path(percentEncoded: false)
            throw .file("Standard input cannot be kept in '\(place)'. Is the disk full?")
        }
    }

    /// A name by which this process can open the copy, while this value exists. Copies of two processes differ in it.
    var path: String { "/proc/\(ProcessInfo.processInfo.processIdentifier)/fd/\(file.descriptor)" }
}

import LocalFiles
import Synchronization

/// The file that an answer is written to. It is opened with the first bytes, so that a refusal leaves it as it was.
final class AdminOutputFile: Sendable {
    private struct State {
        var file: OpenFile?
        var failure: AdminFailure?
    }

    private let name: String?
    private let state = Mutex(State())

    /// Names the file; `nil` and `-` are standard output.
    init(_ name: String?) { self.name = name }

    /// Why nothing more can be written; `nil` if all is well.
    var failure: AdminFailure? { state.withLock(\.failure) }

    /// Writes bytes. Returns `false` if that failed.
    func write(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.failure == nil else { return false }
            do throws(AdminFailure) {
                let file = if let open = state.file { open } else { try AdminFiles.writing(name) }
                state.file = file
                do { try file.write(bytes) } catch { throw .file("The output cannot be written.") }
                return true
            } catch {
                state.failure = error
                return false
            }
        }
    }
}

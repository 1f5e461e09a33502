import LocalFiles
import Synchronization

/// The file that an answer is written to. It takes its name when the answer is complete, so that a refusal, or an
/// answer that is cut off, leaves a file of that name as it was.
final class AdminOutputFile: Sendable {
    private struct State {
        var replacement: FileReplacement?
        var failure: AdminFailure?
    }

    private let name: String?
    private let isPrivate: Bool
    private let state = Mutex(State())

    /// Names the file.
    ///
    /// - Parameters:
    ///   - name: The name; `nil` and `-` are standard output.
    ///   - isPrivate: Whether only the owner can read the file.
    init(_ name: String?, isPrivate: Bool = false) {
        self.name = name == "-" ? nil : name
        self.isPrivate = isPrivate
    }

    /// Why nothing more can be written; `nil` if all is well.
    var failure: AdminFailure? { state.withLock(\.failure) }

    /// Writes bytes. Returns `false` if that failed.
    func write(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.failure == nil else { return false }
            do throws(AdminFailure) {
                let file = try file(&state)
                do { try file.write(bytes) } catch { throw .file("The output cannot be written.") }
                return true
            } catch {
                state.failure = error
                return false
            }
        }
    }

    /// Gives the file its name.
    func complete() throws(AdminFailure) {
        let failure = state.withLock { state -> AdminFailure? in
            if let failure = state.failure { return failure }
            do throws(AdminFailure) {
                _ = try file(&state)
                do { try state.replacement?.complete() } catch { throw .file("The output cannot be written.") }
                return nil
            } catch {
                state.failure = error
                return error
            }
        }
        if let failure { throw failure }
    }

    private func file(_ state: inout State) throws(AdminFailure) -> OpenFile {
        guard let name else { return .standardOutput }
        if let open = state.replacement { return open.file }
        guard let new = try? FileReplacement(of: name, isPrivate: isPrivate) else {
            throw .file("'\(name)' cannot be written.")
        }
        state.replacement = new
        return new.file
    }
}

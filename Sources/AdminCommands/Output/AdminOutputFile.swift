import LocalFiles
import Synchronization

/// The file that an answer is written to. It takes its name when the answer is complete, so that a refusal, or an
/// answer that is cut off, leaves a file of that name as it was.
final class AdminOutputFile: Sendable {
    private let file: OpenFile
    /// What replaces a file; `nil` for standard output.
    private let replacement: FileReplacement?
    private let isPrivate: Bool
    private let reason = Mutex<FileError?>(nil)

    /// Opens the file.
    ///
    /// - Parameters:
    ///   - name: The name; `nil` and `-` are standard output.
    ///   - isPrivate: Whether the answer holds a secret that is shown once. Then only the owner can read the file.
    init(_ name: String?, isPrivate: Bool) throws(AdminFailure) {
        self.isPrivate = isPrivate
        guard let name, name != "-" else {
            (file, replacement) = (.standardOutput, nil)
            return
        }
        do throws(FileError) {
            let new = try FileReplacement(of: name, isPrivate: isPrivate)
            (file, replacement) = (new.file, new)
        } catch {
            throw .file("'\(name)' cannot be written: \(error).")
        }
    }

    /// Whether there is something to remove if the answer does not become complete.
    var isReplacement: Bool { replacement != nil }

    /// Removes what was written to a file, unless the answer is complete or kept.
    func discard() { replacement?.discard() }

    /// Why nothing more can be written; `nil` if all is well.
    var failure: AdminFailure? {
        guard let reason = reason.withLock({ $0 }) else { return nil }
        let loss = " The command has taken effect, and its secret is not shown again: make another one."
        return .file("The output cannot be written: \(reason)." + (isPrivate ? loss : ""))
    }

    /// Writes bytes. Returns `false` if that failed.
    func write(_ bytes: [UInt8]) -> Bool {
        reason.withLock { reason in
            guard reason == nil else { return false }
            do throws(FileError) { try file.write(bytes) } catch { reason = error }
            return reason == nil
        }
    }

    /// Gives the file its name. Where that fails, a secret stays in the file that has it.
    func complete() throws(AdminFailure) {
        if let failure { throw failure }
        do throws(FileError) { try replacement?.complete() } catch {
            let text = "The output cannot be written: \(error)."
            guard isPrivate, let name = replacement?.keep() else { throw .file(text) }
            throw .file("\(text) The command has taken effect, and its answer is in '\(name)'.")
        }
    }
}

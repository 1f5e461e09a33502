import LocalFiles
import Synchronization

/// The file that an answer is written to. It takes its name when the answer is complete, so that a refusal, or an
/// answer that is cut off, leaves a file of that name as it was.
final class AdminOutputFile: Sendable {
    private let file: OpenFile
    /// What replaces a file; `nil` for standard output.
    private let replacement: FileReplacement?
    private let reason = Mutex<AdminFailure?>(nil)

    /// Opens the file.
    ///
    /// - Parameters:
    ///   - name: The name; `nil` and `-` are standard output.
    ///   - isPrivate: Whether only the owner can read the file.
    init(_ name: String?, isPrivate: Bool) throws(AdminFailure) {
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

    /// Removes what was written to a file.
    func discard() { replacement?.discard() }

    /// Why nothing more can be written; `nil` if all is well.
    var failure: AdminFailure? { reason.withLock { $0 } }

    /// Writes bytes. Returns `false` if that failed.
    func write(_ bytes: [UInt8]) -> Bool {
        reason.withLock { reason in
            guard reason == nil else { return false }
            reason = Self.failure { () throws(FileError) in try file.write(bytes) }
            return reason == nil
        }
    }

    /// Gives the file its name.
    func complete() throws(AdminFailure) {
        let failure = failure ?? Self.failure { () throws(FileError) in try replacement?.complete() }
        if let failure { throw failure }
    }

    private static func failure(of body: () throws(FileError) -> Void) -> AdminFailure? {
        do throws(FileError) { try body() } catch { return .file("The output cannot be written: \(error).") }
        return nil
    }
}

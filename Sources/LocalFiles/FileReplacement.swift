import Glibc
import Synchronization

/// A new file that takes the name of another one once it is complete. Until then, the other one stays as it was. A file
/// that is never completed is removed.
public final class FileReplacement: Sendable {
    /// What is written to.
    public let file: OpenFile
    /// Names; `nil` where nothing is replaced, because the name is that of a pipe or a device.
    private let names: (partial: String, target: String)?
    private let isComplete = Atomic(false)

    /// Creates the new file, in the directory of the old one.
    ///
    /// - Parameters:
    ///   - path: The name, with or without a file. Where it is a symbolic link, what it leads to is replaced.
    ///   - isPrivate: Whether only the owner can read the new file. Other files keep the permissions of the old one.
    public init(of path: String, isPrivate: Bool) throws(FileError) {
        let old = try? FileStatus(path)
        // A stream that the shell has opened may be a file. Its name would not lead to it any more.
        let isStream = ["/dev/", "/proc/"].contains { path.hasPrefix($0) }
        guard !isStream, old?.kind ?? .regular == .regular else {
            file = try OpenFile(path, for: .writing)
            names = nil
            return
        }
        let target = FileName.followed(path)
        let partial = target + "." + String(UInt32.random(in: 0 ... .max), radix: 16) + ".partial"
        file = try OpenFile(partial, for: isPrivate ? .creating : .creatingForAll)
        names = (partial, target)
        guard !isPrivate, let old else { return }
        try file.permit(old.permissions)
    }

    deinit { discard() }

    /// Removes the new file, unless it is complete.
    public func discard() {
        guard let names, !isComplete.load(ordering: .relaxed) else { return }
        _ = unsafe unlink(names.partial)
    }

    /// Gives the file its name. The disk has all of it before.
    public func complete() throws(FileError) {
        guard let names else { return }
        try file.synchronize()
        _ = try OpenFile.attempt { unsafe Int(rename(names.partial, names.target)) }
        isComplete.store(true, ordering: .relaxed)
    }
}

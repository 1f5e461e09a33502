import Glibc
import Synchronization

/// A new file that takes the name of another one once it is complete. Until then, the other one stays as it was. A file
/// that is never completed is removed.
public final class FileReplacement: Sendable {
    /// What is written to.
    public let file: OpenFile
    /// Names; `nil` where nothing is replaced, because the name is that of a stream, a pipe or a device.
    private let names: (partial: String, target: String)?
    /// Whether the new file stays.
    private let stays = Atomic(false)

    /// Creates the new file, in the directory of the old one.
    ///
    /// - Parameters:
    ///   - path: The name, with or without a file. Where it is a symbolic link, what it leads to is replaced. What the
    ///     shell has opened as a stream is written to where it stands, or at its end.
    ///   - isPrivate: Whether only the owner can read the new file. Other files keep the permissions of the old one.
    public init(of path: String, isPrivate: Bool) throws(FileError) {
        let old = try? FileStatus(path)
        // A stream that the shell has opened may be a file. Its name would not lead to it any more.
        let isStream = ["/dev/fd/", "/dev/std", "/proc/"].contains { path.hasPrefix($0) }
        guard !isStream, old?.kind ?? .regular == .regular else {
            if let stream = Self.stream(path) { file = stream } else { file = try OpenFile(path, for: .appending) }
            names = nil
            return
        }
        let target = FileName.followed(path)
        let digits = String(UInt32.random(in: 0 ... .max), radix: 16)
        // Any target's name leaves room for this one.
        let partial = FileName.directory(target) + ".\(digits).partial"
        file = try OpenFile(partial, for: isPrivate ? .creating : .creatingForAll)
        names = (partial, target)
        guard !isPrivate, let old else { return }
        try file.permit(old.permissions)
    }

    deinit { discard() }

    /// Removes the new file, unless it is complete or kept.
    public func discard() {
        guard let names, !stays.load(ordering: .relaxed) else { return }
        _ = unsafe unlink(names.partial)
    }

    /// Gives the file its name. The disk has all of it before.
    public func complete() throws(FileError) {
        guard let names else { return }
        try file.synchronize()
        _ = try OpenFile.attempt { unsafe Int(rename(names.partial, names.target)) }
        stays.store(true, ordering: .relaxed)
    }

    /// Keeps the new file although it cannot take the name of the other one.
    ///
    /// - Returns: The name that it has; `nil` where nothing is replaced.
    public func keep() -> String? {
        stays.store(true, ordering: .relaxed)
        return names?.partial
    }

    /// The standard stream that a name stands for. To open it anew would begin at another place of a file.
    private static func stream(_ path: String) -> OpenFile? {
        switch path {
        case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1": .standardOutput
        case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2": .standardError
        default: nil
        }
    }
}

import Glibc
import LocalFiles

/// The beginning of a download: a file beside the target, to which only one download writes at a time, and which only
/// its owner can read.
struct PartFile: Sendable {
    /// Its name.
    let path: String
    /// Its absolute name, without symbolic links: two such names are two files.
    let place: String
    /// The file, which is reserved until it is closed.
    let file: OpenFile
    /// Number of the file within its file system.
    let inode: UInt64
    private let target: String
    private let replaces: Bool

    /// Opens and reserves the file of a target. It may hold what an earlier run left.
    ///
    /// - Parameters:
    ///   - name: Name of the target.
    ///   - replaces: Whether a file that has this name is replaced, or the one that a symbolic link leads to.
    static func reserve(for name: String, replaces: Bool) throws(ClientFailure) -> PartFile {
        let target = replaces ? FileName.followed(name) : name
        let path = Self.path(for: target)
        // Another download may move or remove the file after it was opened and before it is reserved.
        for _ in 0..<10 {
            let file: OpenFile
            do throws(FileError) { file = try Self.opened(path) } catch {
                // A file that is there is the reason. Otherwise it would have been made for the one that was named.
                throw .file("'\(FileStatus.isTaken(path) ? path : name)' cannot be written: \(error).")
            }
            // Some file systems have no locks, and are used without.
            guard (try? file.lock()) != false else {
                throw .file("'\(path)' is in use. Another download writes to this file.")
            }
            guard file.hasName(path), let status = try? file.status else { continue }
            guard status.kind == .regular else { throw .file("'\(path)' is not a regular file.") }
            // A run that was killed while it gave the file its second name has left the first.
            if status.names > 1 {
                file.removeName(path)
                continue
            }
            // A run that was killed before the file had its name may have opened it to others. Some file systems have
            // no permissions.
            try? file.permit(0o600)
            return PartFile(
                path: path, place: FileName.located(path), file: file, inode: status.inode, target: target,
                replaces: replaces)
        }
        throw .file("'\(path)' cannot be written: other downloads keep moving it.")
    }

    /// Opens the file. A run that ended before it gave a file its name may have left it read-only.
    private static func opened(_ path: String) throws(FileError) -> OpenFile {
        do throws(FileError) { return try OpenFile(path, for: .updating) } catch {
            guard error.number == EACCES, (try? FileStatus(path))?.kind == .regular,
                let left = try? OpenFile(path, for: .reading), left.hasName(path)
            else { throw error }
            // Only the file's owner may do this.
            try? left.permit(0o600)
            return try OpenFile(path, for: .updating)
        }
    }

    /// Names the file after its target, or after a digest of the target's name where that leaves no room.
    private static func path(for target: String) -> String {
        let (name, ending) = (FileName.last(target), ".sluice-part")
        guard name.utf8.count + ending.utf8.count > longestName else { return target + ending }
        return FileName.directory(target) + TransferMemory.name(name) + ending
    }

    /// The longest name of a file in Linux, in bytes.
    private static let longestName = 255

    /// Drops what an earlier run left.
    func empty() throws(ClientFailure) {
        do throws(FileError) { try file.empty() } catch { throw .file("'\(path)' cannot be written: \(error).") }
    }

    /// Gives the file the name of the target, which is never half of each, and the permissions of the file that it
    /// replaces, or those of a new file.
    func finish() throws(ClientFailure) {
        let old = replaces ? (try? FileStatus(target)) : nil
        guard old?.kind != .other else {
            throw .file("'\(target)' is not a regular file and was not replaced. The object is in '\(path)'.")
        }
        // Some file systems have no permissions.
        try? file.permit(old?.permissions ?? OpenFile.permissionsOfNewFiles)
        do throws(FileError) {
            // After a crash of the system, too, the target is complete.
            try file.synchronize()
            try file.move(from: path, to: target, replaces: replaces)
        } catch {
            try? file.permit(0o600)
            guard error.number == EEXIST, !replaces else { throw .file("'\(target)' cannot be written: \(error).") }
            throw .file("'\(target)' exists now and was not replaced. The object is in '\(path)'.")
        }
    }

    /// Removes the file.
    func remove() { file.removeName(path) }
}

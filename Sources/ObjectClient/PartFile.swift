import FoundationEssentials
import Glibc
import LocalFiles

/// The beginning of a download: a file beside the target, to which only one download writes at a time.
struct PartFile: Sendable {
    /// Absolute path, without symbolic links: two paths are two files.
    let path: String
    /// The file, which is reserved until it is closed.
    let file: OpenFile
    /// Number of the file within its file system.
    let inode: UInt64
    private let target: String

    /// Opens and reserves the file of a target. It may hold what an earlier run left.
    static func reserve(for target: String) throws(ClientFailure) -> PartFile {
        let url = URL(fileURLWithPath: target + ".sluice-part")
        let path = url.deletingLastPathComponent().resolvingSymlinksInPath().path + "/" + url.lastPathComponent
        // Another download may move or remove the file after it was opened and before it is reserved.
        for _ in 0..<10 {
            guard let file = try? OpenFile(path, for: .updating) else { throw .file("'\(path)' cannot be written.") }
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
            return PartFile(path: path, file: file, inode: status.inode, target: target)
        }
        throw .file("'\(path)' cannot be written.")
    }

    /// Drops what an earlier run left.
    func empty() throws(ClientFailure) {
        do throws(FileError) { try file.empty() } catch { throw .file("'\(path)' cannot be written.") }
    }

    /// Gives the file the name of the target, which is never half of each.
    ///
    /// - Parameter replaces: Whether a file that has this name by now is replaced.
    func finish(replaces: Bool) throws(ClientFailure) {
        do throws(FileError) {
            // After a crash of the system, too, the target is complete.
            try file.synchronize()
            try file.move(from: path, to: target, replaces: replaces)
        } catch {
            guard error.number == EEXIST, !replaces else { throw .file("'\(target)' cannot be written.") }
            throw .file("'\(target)' exists now and was not replaced. The object is in '\(path)'.")
        }
    }

    /// Removes the file.
    func remove() { file.removeName(path) }
}

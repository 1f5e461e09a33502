import FoundationEssentials
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
            return PartFile(path: path, file: file, inode: status.inode, target: target)
        }
        throw .file("'\(path)' cannot be written.")
    }

    /// Drops what an earlier run left.
    func empty() throws(ClientFailure) {
        do throws(FileError) { try file.empty() } catch { throw .file("'\(path)' cannot be written.") }
    }

    /// Gives the file the name of the target, which is never half of each.
    func finish() throws(ClientFailure) {
        do throws(FileError) {
            // After a crash of the system, too, the target is complete.
            try file.synchronize()
            try file.move(from: path, to: target)
        } catch {
            throw .file("'\(target)' cannot be written.")
        }
    }

    /// Removes the file.
    func remove() { file.removeName(path) }
}

import Glibc
import LocalFiles

/// Prevents two processes from serving the same data directory. The operating system releases the lock when the process
/// ends, however it ends.
final class DirectoryLock: Sendable {
    private let file: OpenFile

    /// Locks a directory, which must exist.
    ///
    /// - Throws: ``EmbeddedPostgresError/inUse(directory:holder:)`` if another process holds the lock,
    ///   ``EmbeddedPostgresError/unusableDirectory(directory:reason:)`` if the lock file cannot be opened.
    init(directory: String) throws(EmbeddedPostgresError) {
        let path = "\(directory)/lock"
        guard let file = try? OpenFile(path, for: .updating) else {
            throw .unusableDirectory(directory: directory, reason: "its lock file cannot be opened.")
        }
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = (try? file.readToEnd()).flatMap { Int(String(decoding: $0, as: UTF8.self)) }
            throw .inUse(directory: directory, holder: holder)
        }
        // The process id is only a hint for the error above, so a failure to write it is ignored.
        try? file.empty()
        try? file.write(String(getpid()).utf8)
        self.file = file
    }

    /// Releases the lock.
    func release() {
        flock(file.descriptor, LOCK_UN)
    }
}

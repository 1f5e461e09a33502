import Foundation
import Glibc

/// Keeps two processes from serving one data directory; the system lets go of it with the process, however that ends.
final class DirectoryLock: Sendable {
    private let file: FileHandle

    /// Takes the lock of a directory, which must exist.
    ///
    /// - Throws: ``EmbeddedPostgresError/inUse(directory:holder:)`` when another process has it.
    init(directory: String) throws(EmbeddedPostgresError) {
        let path = "\(directory)/lock"
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        guard let file = FileHandle(forUpdatingAtPath: path) else {
            throw .unusableDirectory(directory: directory, reason: "its lock file cannot be opened.")
        }
        guard flock(file.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else {
            let holder = (try? file.readToEnd()).flatMap { Int(String(decoding: $0, as: UTF8.self)) }
            throw .inUse(directory: directory, holder: holder)
        }
        // Only a hint for the message above, so a failure to write it is none.
        try? file.truncate(atOffset: 0)
        try? file.write(contentsOf: Data(String(ProcessInfo.processInfo.processIdentifier).utf8))
        self.file = file
    }

    /// Lets go of the lock.
    func release() {
        try? file.close()
    }
}

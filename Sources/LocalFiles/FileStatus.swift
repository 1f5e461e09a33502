import Glibc

/// What the operating system knows of a file.
public struct FileStatus: Sendable, Equatable {
    /// Kinds of files.
    public enum Kind: Sendable {
        /// A file with bytes.
        case regular
        /// A directory.
        case directory
        /// A pipe, a device, a socket or a symbolic link.
        case other
    }

    /// The kind.
    public let kind: Kind
    /// Length in bytes, of a regular file.
    public let size: Int64
    /// Who may do what: the lowest twelve bits of the mode.
    public let permissions: UInt32
    /// Time of the last change of the content, in microseconds since 1970.
    public let modifiedAt: Int64
    /// Time of the last change of the content, the names or the attributes, in nanoseconds since 1970. Unlike
    /// ``modifiedAt``, no program can set it.
    public let changedAt: Int64
    /// Number of the file system. With ``inode`` it identifies a file while that exists.
    public let device: UInt64
    /// Number of the file within its file system.
    public let inode: UInt64
    /// Number of names that the file has.
    public let names: UInt64

    /// Looks at a file. A symbolic link stands for the file to which it leads.
    public init(_ path: String) throws(FileError) {
        var found = stat()
        _ = try OpenFile.attempt { unsafe stat(path, &found) }
        self.init(found)
    }

    /// Looks at a file, and not at the one to which it leads if it is a symbolic link.
    public init(withoutFollowing path: String) throws(FileError) {
        var found = stat()
        _ = try OpenFile.attempt { unsafe lstat(path, &found) }
        self.init(found)
    }

    /// Whether a directory, or a symbolic link to one, has this name.
    public static func isDirectory(_ path: String) -> Bool { (try? FileStatus(path).kind) == .directory }

    /// Whether a file, or a symbolic link that may lead nowhere, has this name.
    public static func isTaken(_ path: String) -> Bool { (try? FileStatus(withoutFollowing: path)) != nil }

    /// Why this process cannot read a file, as the end of a sentence that begins with its name; `nil` if it can.
    public static func readingFlaw(of path: String) -> String? {
        do throws(FileError) {
            if try FileStatus(path).kind == .directory { return "is a directory" }
            _ = try OpenFile.attempt { unsafe access(path, R_OK) }
            return nil
        } catch {
            return switch error.number {
            case ENOENT: "does not exist"
            case EACCES: "may not be read by this user"
            default: "cannot be read: \(error)"
            }
        }
    }

    init(_ found: stat) {
        kind =
            switch found.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            default: .other
            }
        size = Int64(found.st_size)
        permissions = found.st_mode & 0o7777
        modifiedAt = Int64(found.st_mtim.tv_sec) * 1_000_000 + Int64(found.st_mtim.tv_nsec) / 1000
        changedAt = Int64(found.st_ctim.tv_sec) * 1_000_000_000 + Int64(found.st_ctim.tv_nsec)
        device = UInt64(found.st_dev)
        inode = UInt64(found.st_ino)
        names = UInt64(found.st_nlink)
    }
}

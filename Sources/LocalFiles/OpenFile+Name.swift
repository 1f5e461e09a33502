import Glibc

extension OpenFile {
    /// Reserves the file until it is closed. Only those respect that who ask too.
    ///
    /// - Returns: `false` if another process, or another open file of this one, has reserved it.
    public func lock() throws(FileError) -> Bool {
        do throws(FileError) {
            _ = try Self.attempt { Int(flock(descriptor, LOCK_EX | LOCK_NB)) }
            return true
        } catch {
            guard error.number == EAGAIN else { throw error }
            return false
        }
    }

    /// Whether a name is one of this file, and not a symbolic link to it.
    public func hasName(_ path: String) -> Bool {
        do throws(FileError) {
            var found = stat()
            _ = try Self.attempt { unsafe Int(lstat(path, &found)) }
            let named = FileStatus(found)
            let own = try status
            return named.device == own.device && named.inode == own.inode
        } catch {
            return false
        }
    }

    /// Gives the file another name in the same file system, and takes the old one.
    ///
    /// - Parameters:
    ///   - path: The old name.
    ///   - target: The new name.
    ///   - replaces: Whether a file that has the new name is replaced, in one step.
    /// - Throws: `ESTALE` if the old name is not one of this file any more, `EEXIST` if the new name is taken and is
    ///   not to be replaced.
    public func move(from path: String, to target: String, replaces: Bool) throws(FileError) {
        guard hasName(path) else { throw FileError(number: ESTALE) }
        guard !replaces else {
            _ = try Self.attempt { unsafe Int(Glibc.rename(path, target)) }
            return
        }
        do throws(FileError) {
            _ = try Self.attempt { unsafe Int(Glibc.link(path, target)) }
        } catch {
            // In some file systems, such as FAT, a file has one name only. There, an empty file reserves the new one.
            guard [EPERM, EOPNOTSUPP, ENOSYS].contains(error.number) else { throw error }
            _ = try OpenFile(target, for: .creating)
            _ = try Self.attempt { unsafe Int(Glibc.rename(path, target)) }
            return
        }
        // The file has its new name, so a failure changes nothing.
        _ = unsafe Glibc.unlink(path)
    }

    /// Removes a name, if it is one of this file.
    public func removeName(_ path: String) {
        guard hasName(path) else { return }
        _ = unsafe Glibc.unlink(path)
    }
}

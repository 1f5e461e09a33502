import Glibc
import Synchronization

/// An open file, or a standard stream. A file is closed when nothing uses it any more.
public final class OpenFile: Sendable {
    /// What a file is opened for.
    public enum Use: Sendable {
        /// Reading.
        case reading
        /// Writing a file that does not exist yet, and that only its owner can read.
        case creating
        /// Writing a file that does not exist yet, and that the process's umask opens to others.
        case creatingForAll
        /// Reading and writing. A file that does not exist is created, and only its owner can read it.
        case updating
        /// Writing at the end of a file that exists, or to a pipe or a device.
        case appending
    }

    /// The standard input.
    public static let standardInput = OpenFile(owned: false, STDIN_FILENO)
    /// The standard output, without a buffer.
    public static let standardOutput = OpenFile(owned: false, STDOUT_FILENO)
    /// The standard error.
    public static let standardError = OpenFile(owned: false, STDERR_FILENO)

    /// The number by which the operating system knows the file.
    public let descriptor: Int32
    private let isOwned: Bool

    private init(owned: Bool, _ descriptor: Int32) {
        self.descriptor = descriptor
        isOwned = owned
    }

    /// Opens a file. Programs that are started later do not inherit it.
    public convenience init(_ path: String, for use: Use) throws(FileError) {
        let (flags, mode): (Int32, mode_t) =
            switch use {
            case .reading: (O_RDONLY, 0)
            case .creating: (O_WRONLY | O_CREAT | O_EXCL, 0o600)
            case .creatingForAll: (O_WRONLY | O_CREAT | O_EXCL, 0o666)
            case .updating: (O_RDWR | O_CREAT, 0o600)
            case .appending: (O_WRONLY | O_APPEND, 0)
            }
        self.init(owned: true, try Int32(Self.attempt { unsafe open(path, flags | O_CLOEXEC, mode) }))
    }

    deinit { if isOwned { close(descriptor) } }

    /// Reads what is there, at most `count` bytes; no bytes mean the end. At a pipe or a terminal it waits for some.
    public func read(atMost count: Int) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(FileError) {
                filled = try Self.attempt { unsafe Glibc.read(descriptor, buffer.baseAddress, count) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads everything up to the end.
    public func readToEnd() throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        while case let piece = try read(atMost: 1 << 16), !piece.isEmpty { bytes += piece }
        return bytes
    }

    /// Writes all bytes.
    public func write(_ bytes: some Sequence<UInt8>) throws(FileError) {
        let bytes = Array(bytes)
        var written = 0
        while written < bytes.count {
            written += try Self.attempt {
                unsafe bytes.withUnsafeBytes { buffer in
                    unsafe Glibc.write(descriptor, buffer.baseAddress?.advanced(by: written), bytes.count - written)
                }
            }
        }
    }

    /// Moves to a place, from which the next bytes are read or written.
    public func seek(to place: Int64) throws(FileError) {
        _ = try Self.attempt { lseek(descriptor, off_t(place), SEEK_SET) }
    }

    /// Removes the content, and moves to the beginning.
    public func empty() throws(FileError) {
        try shorten(to: 0)
        try seek(to: 0)
    }

    /// Removes what comes after the first `count` bytes.
    public func shorten(to count: Int64) throws(FileError) {
        _ = try Self.attempt { Int(ftruncate(descriptor, off_t(count))) }
    }

    /// Sets who may do what with the file.
    ///
    /// - Parameter permissions: The lowest nine bits of the mode; others are ignored.
    public func permit(_ permissions: UInt32) throws(FileError) {
        _ = try Self.attempt { Int(fchmod(descriptor, mode_t(permissions & 0o777))) }
    }

    /// The permissions that the process's umask leaves to a new file.
    public static var permissionsOfNewFiles: UInt32 {
        maskReading.withLock { _ in
            // The mask is read by setting it. What another thread creates meanwhile is private.
            let mask = umask(0o077)
            _ = umask(mask)
            return 0o666 & ~UInt32(mask)
        }
    }

    private static let maskReading = Mutex(())

    /// Waits until the disk has everything that was written.
    public func synchronize() throws(FileError) {
        _ = try Self.attempt { Int(fsync(descriptor)) }
    }

    /// What the operating system knows of the file.
    public var status: FileStatus {
        get throws(FileError) {
            var found = stat()
            _ = try Self.attempt { unsafe Int(fstat(descriptor, &found)) }
            return FileStatus(found)
        }
    }

    /// Calls the operating system, again if a signal came between.
    static func attempt<Number: BinaryInteger>(_ call: () -> Number) throws(FileError) -> Number {
        while true {
            let outcome = call()
            if outcome >= 0 { return outcome }
            if errno != EINTR { throw FileError(number: errno) }
        }
    }
}

/// Writes text to standard error. If that fails, there is nobody to tell.
public func writeToStandardError(_ text: String) {
    try? OpenFile.standardError.write(text.utf8)
}

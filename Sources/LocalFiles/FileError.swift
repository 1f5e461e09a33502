import Glibc

/// The reason why the operating system refuses an operation on a file.
public struct FileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The system's number, such as `ENOENT`.
    public let number: Int32

    /// The system's text.
    public var description: String { unsafe String(cString: strerror(number)) }
}

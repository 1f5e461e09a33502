/// The reason why an exchange failed below HTTP.
public enum RawHTTPError: Error, Equatable {
    /// The named system call failed, with its `errno`; a time-out is `EAGAIN`.
    case system(String, Int32)
    /// The peer closed the connection in the middle of an answer.
    case closedEarly
    /// The peer sent something that is not HTTP/1.1.
    case malformed(String)
    /// The text is not an absolute `http` URL with a port.
    case notAURL(String)
}

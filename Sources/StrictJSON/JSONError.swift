/// Why bytes are not read as JSON.
public enum JSONError: Error, Sendable, Equatable {
    /// They are not UTF-8, or more than 4 GiB.
    case notUTF8
    /// They break a rule: what is wrong, without a period at its end, and the number of bytes before that place.
    case malformed(String, at: Int)
}

/// The reason why bytes are not accepted as JSON.
public enum JSONError: Error, Sendable, Equatable {
    /// The bytes are not UTF-8, or exceed 4 GiB.
    case notUTF8
    /// The bytes break a rule. The values are a description without a final period, and the byte offset of the error.
    case malformed(String, at: Int)
}

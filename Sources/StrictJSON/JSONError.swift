/// The reason why bytes are not accepted as JSON.
public enum JSONError: Error, Sendable, Equatable {
    /// The bytes are not UTF-8, or exceed 4 GiB.
    case notUTF8
    /// The bytes break a rule. The values are a description without a final period, and the byte offset of the error.
    case malformed(String, at: Int)
}

extension JSONError: CustomStringConvertible {
    /// The reason, without a final period.
    public var description: String {
        switch self {
        case .notUTF8: "The text is not UTF-8"
        case .malformed(let flaw, let place): "\(flaw) (at byte \(place))"
        }
    }
}

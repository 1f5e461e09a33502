import Bytes

/// The identifier of a request.
enum RequestID {
    /// Whether a text may be the identifier of a request: 8 to 64 characters that are safe in logs and paths.
    static func isValid(_ text: String) -> Bool {
        text.consists(of: .alphanumeric.union("-_."), count: 8...64)
    }
}

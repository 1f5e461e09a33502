/// Why the gateway cannot answer now: one phrase for the log, next to the request's identifier.
///
/// Any two causes compare equal, so errors compare by what the caller receives.
public struct Cause: Sendable, Equatable, CustomStringConvertible {
    /// The phrase for the log. It holds no secret, no object key and no text of a caller. Of a store's answer it holds
    /// only the error code.
    public let description: String
    /// A sentence for the caller that says what to check, if that helps. It reveals nothing that the caller does not
    /// know.
    public let advice: String?

    /// Creates a cause.
    public init(_ description: String, advice: String? = nil) {
        self.description = description
        self.advice = advice
    }

    /// No stated cause: for tests, and for errors that the caller alone is responsible for.
    public static let unstated = Cause("")

    /// Always returns `true`.
    public static func == (_: Cause, _: Cause) -> Bool { true }
}

extension Cause: ExpressibleByStringInterpolation {
    /// Creates a cause without advice.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

/// Why the gateway cannot answer now: one phrase for the log, beside the request's id.
///
/// Any two are equal, so that errors compare by what the caller gets.
public struct Cause: Sendable, Equatable, CustomStringConvertible {
    /// The phrase. It holds no secret, no object key, nothing that a caller wrote, and of what a store wrote its error code alone.
    public let description: String
    /// A sentence for the caller, where it helps: what to look at, without telling more than the caller knows.
    public let advice: String?

    /// States a cause.
    public init(_ description: String, advice: String? = nil) {
        self.description = description
        self.advice = advice
    }

    /// Not stated: in tests, and where the caller alone is to blame.
    public static let unstated = Cause("")

    /// Always holds.
    public static func == (_: Cause, _: Cause) -> Bool { true }
}

extension Cause: ExpressibleByStringInterpolation {
    /// States a cause without advice.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

/// Why a request was not served: one phrase for the log, next to the request's identifier.
///
/// Any two causes compare equal, so errors compare by what the caller receives.
public struct Cause: Sendable, Equatable, CustomStringConvertible {
    /// Who reads the `detail` of a problem.
    public enum Reader: Sendable {
        /// A user of an app, or somebody who is not authenticated.
        case user
        /// An admin or auditor, on a route for them.
        case admin
    }

    /// The phrase for the log and for admins. It holds no secret and no object key. Of a store's answer it holds only
    /// the status and the error code.
    public let description: String
    /// A sentence for the caller that says what to check, if that helps. It reveals nothing that the caller does not
    /// know: no host, no address, no SQL.
    public let advice: String?
    /// The reason, if the request was refused and not merely failed.
    public let refusal: RefusalReason?

    /// Creates a cause.
    public init(_ description: String, advice: String? = nil) {
        self.description = description
        self.advice = advice
        refusal = nil
    }

    /// Creates the cause of a refusal.
    ///
    /// - Parameters:
    ///   - refusal: The reason.
    ///   - subject: The issuer, key or ticket that it concerns, without secrets; empty if there is nothing to name.
    ///   - advice: A sentence for the caller, if the error alone does not say enough.
    public init(_ refusal: RefusalReason, _ subject: String = "", advice: String? = nil) {
        description = subject
        self.advice = advice
        self.refusal = refusal
    }

    /// No stated cause: for tests, and for errors that the caller alone is responsible for.
    public static let unstated = Cause("")

    /// Always returns `true`.
    public static func == (_: Cause, _: Cause) -> Bool { true }

    /// What the answer to a failed request says of its cause. This is the only place that decides what a reader may
    /// learn: a user gets the advice, an admin also the phrase of the log.
    public func detail(for reader: Reader) -> String? {
        switch reader {
        case .user: advice
        case .admin:
            description.isEmpty ? advice : (advice.map { $0 + " " } ?? "") + "The cause: \(description)."
        }
    }
}

extension Cause: ExpressibleByStringInterpolation {
    /// Creates a cause without advice.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

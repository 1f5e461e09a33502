/// What temporary credentials are asked for: actions below a prefix of a bucket, in a form that cannot be wrong.
public struct SessionRequest: Sendable, Equatable {
    /// Life for which none was asked, in seconds.
    public static let defaultDuration = 3600

    /// Where.
    public let bucket: BucketName
    /// Below what: a literal prefix, see ``KeyPrefix``.
    public let prefix: ExactText
    /// What is to be permitted; `nil` for whatever the caller may do there.
    public let actions: Set<Action>?
    /// How long, in seconds.
    public let duration: Int?

    /// Checks a request.
    ///
    /// - Parameters:
    ///   - prefix: Empty for the whole bucket, a text that ends in `/`, or one whole key; nothing that stands for other
    ///     texts in a session policy.
    ///   - actions: At least one, or `nil`.
    ///   - duration: 900…43,200 seconds.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``.
    public init(
        bucket: BucketName, prefix: String, actions: Set<Action>?, duration: Int?
    ) throws(GatewayError) {
        self.bucket = bucket
        self.prefix = ExactText(try KeyPrefix(literal: prefix).text)
        guard KeyArea(prefix: self.prefix).isNameable else {
            throw .invalidArgument(
                field: "prefix", reason: "A prefix for temporary credentials holds no '*', '?' or control characters.")
        }
        if let actions, actions.isEmpty {
            throw .invalidArgument(field: "actions", reason: "At least one action is needed.")
        }
        self.actions = actions
        if let duration, !(SessionRole.durations ~= duration) {
            throw .invalidArgument(field: "durationSeconds", reason: "A session lives 900 to 43,200 seconds.")
        }
        self.duration = duration
    }
}

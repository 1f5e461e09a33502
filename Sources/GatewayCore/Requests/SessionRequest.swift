/// A valid request for temporary credentials: actions below a prefix of a bucket.
public struct SessionRequest: Sendable, Equatable {
    /// Lifetime if the request states none, in seconds.
    public static let defaultDuration = 3600
    /// Least remaining life of credentials that are handed out, in seconds, if the request states none.
    public static let defaultLeastLife = 600
    /// Least remaining life for SDKs, in seconds. Those of AWS ask for new credentials when a quarter of an hour is
    /// left, and wait for them when ten minutes are; some of Alibaba wait when a quarter is.
    public static let leastLifeForSDKs = 900
    /// Time in seconds for which a session is handed out at least, if a least life is stated. What is allowed must
    /// leave that much.
    public static let freshness = 60
    /// Seconds by which a session may end later than ordered: it starts slightly later than the decision, by another
    /// party's clock.
    static let leeway = 60.0

    /// The bucket.
    public let bucket: BucketName
    /// The literal prefix that the credentials are for; see ``KeyPrefix``.
    public let prefix: ExactText
    /// The requested actions; `nil` for every action that the caller may perform there.
    public let actions: Set<Action>?
    /// Requested lifetime, in seconds.
    public let duration: Int?
    /// Least remaining life of the credentials, in seconds.
    public let leastLife: Int
    /// Whether credentials of the usual least life do where no longer one is allowed.
    public let acceptsLess: Bool

    /// Validates a request.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - prefix: Empty for the whole bucket, a text that ends in `/`, or one whole key; without wildcards or
    ///     variables of session policies.
    ///   - actions: At least one action, or `nil` for all that are permitted.
    ///   - duration: 900…43,200 seconds, or `nil` for the default.
    ///   - leastLife: Least remaining life of the credentials, in seconds.
    ///   - acceptsLess: Whether credentials of the usual least life do where no longer one is allowed.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``.
    public init(
        bucket: BucketName, prefix: String, actions: Set<Action>?, duration: Int?,
        leastLife: Int = defaultLeastLife, acceptsLess: Bool = false
    ) throws(GatewayError) {
        self.bucket = bucket
        self.prefix = ExactText(try KeyPrefix(literal: prefix).text)
        guard KeyArea(prefix: self.prefix).isNameable else {
            throw .invalidArgument(
                field: "prefix",
                reason: "A prefix for temporary credentials or cookies must not contain '*', '?' or control characters."
            )
        }
        if let actions, actions.isEmpty {
            throw .invalidArgument(field: "actions", reason: "At least one action is required.")
        }
        self.actions = actions
        if let duration, !(SessionRole.durations ~= duration) {
            throw .invalidArgument(field: "expiresIn", reason: "The duration must be 900 to 43,200 seconds.")
        }
        self.duration = duration
        self.leastLife = leastLife
        self.acceptsLess = acceptsLess
    }
}

/// A call for temporary credentials of a role, optionally limited by a policy.
public struct AssumeRole: Sendable, Hashable {
    /// Name of the role, such as `acs:ram::1234567890123456:role/uploader`.
    public var roleARN: String
    /// Names the session in the provider's audit log.
    public var sessionName: String
    /// Life of the credentials in seconds; `nil` for the provider's default.
    public var durationSeconds: Int?
    /// JSON that limits what the credentials may do; without it they may do everything that the role may.
    public var policy: String?
    /// The id that the role's owner requires of callers from other accounts.
    public var externalID: String?

    /// Describes a call. Only the service checks its content.
    public init(
        roleARN: String, sessionName: String, durationSeconds: Int? = nil, policy: String? = nil,
        externalID: String? = nil
    ) {
        self.roleARN = roleARN
        self.sessionName = sessionName
        self.durationSeconds = durationSeconds
        self.policy = policy
        self.externalID = externalID
    }

    /// The parameters, by the names that all providers use.
    public var parameters: [NamedValue] {
        let all = [
            ("RoleArn", roleARN), ("RoleSessionName", sessionName),
            ("DurationSeconds", durationSeconds.map(String.init)),
            ("Policy", policy), ("ExternalId", externalID),
        ]
        return all.compactMap { name, value in value.map { NamedValue(name, $0) } }
    }
}

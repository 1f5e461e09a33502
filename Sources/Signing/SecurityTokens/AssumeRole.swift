/// What is asked of a security token service: temporary credentials of a role, narrowed by a policy.
public struct AssumeRole: Sendable, Hashable {
    /// Name of the role, such as `acs:ram::1234567890123456:role/uploader`.
    public var roleARN: String
    /// Names the session in the provider's audit log.
    public var sessionName: String
    /// Life of the credentials, the provider's default when `nil`.
    public var durationSeconds: Int?
    /// JSON that narrows what the role may do; without it the credentials may do all of that.
    public var policy: String?
    /// What the role's owner demands of strangers.
    public var externalID: String?

    /// Puts a call together; what it says is for the service to judge.
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

    /// The parameters by the names that every provider gives them.
    public var parameters: [NamedValue] {
        let all = [
            ("RoleArn", roleARN), ("RoleSessionName", sessionName),
            ("DurationSeconds", durationSeconds.map(String.init)),
            ("Policy", policy), ("ExternalId", externalID),
        ]
        return all.compactMap { name, value in value.map { NamedValue(name, $0) } }
    }
}

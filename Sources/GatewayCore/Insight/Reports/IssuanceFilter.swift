public import FoundationEssentials

/// A filter for issuances; an absent member does not restrict the result.
public struct IssuanceFilter: Sendable, Equatable {
    /// Start of the recording period, inclusive; see ``LedgerRange``.
    public var from: Date?
    /// End of the recording period, exclusive.
    public var to: Date?
    /// The caller.
    public var principal: Principal?
    /// The bucket of the object.
    public var bucket: BucketName?
    /// The prefix that the key must begin with.
    public var prefix: ExactText?
    /// An action that is permitted, alone or together with another.
    public var action: Action?
    /// The delivery of the credential.
    public var delivery: Delivery?
    /// The grant that decided.
    public var grantID: UUID?
    /// The credential that signed.
    public var credentialID: UUID?
    /// Whether to select only issuances that have not expired by the database's clock.
    public var isAlive = false
    /// The issuances that may be seen.
    public var reach: AdminReach = .unlimited

    /// Creates a filter that matches all issuances.
    public init() {}

    /// All filters, as texts by name, for page tokens.
    package var texts: [String: String] {
        var texts: [String: String] = [:]
        texts["from"] = from.map { PageToken.text(of: $0) }
        texts["to"] = to.map { PageToken.text(of: $0) }
        texts["principal"] = principal?.rawValue
        texts["bucket"] = bucket?.rawValue
        texts["prefix"] = prefix?.rawValue
        texts["action"] = action?.rawValue
        texts["delivery"] = delivery?.rawValue
        texts["grantID"] = grantID?.lowercaseText
        texts["credentialID"] = credentialID?.lowercaseText
        texts["alive"] = isAlive ? "true" : nil
        return texts
    }
}

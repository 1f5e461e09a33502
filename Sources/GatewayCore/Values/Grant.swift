public import FoundationEssentials

/// A permission row: which principal may, or may not, do what below which prefix of a bucket.
public struct Grant: Sendable, Equatable {
    /// Whether matching requests are permitted or refused. One matching `deny` overrides every `allow`.
    public enum Effect: String, Sendable, CaseIterable, Codable {
        case allow
        case deny
    }

    /// Unique identifier.
    public var id: UUID
    /// The principal that the grant is for.
    public var principal: Principal
    /// The bucket that the grant is for.
    public var bucket: BucketName
    /// The actions that the grant covers; never empty.
    public var actions: Set<Action>
    private var terms: Rare<Terms>
    /// A remark for admins.
    public var note: String
    /// The admin who created the grant.
    public var createdBy: String
    /// When the grant was created. The store of rows sets it.
    public var createdAt: Date
    /// The keys that the grant is for.
    public var prefix: KeyPrefix
    /// Whether the grant permits or refuses.
    public var effect: Effect

    /// Creates a grant.
    public init(
        id: UUID, principal: Principal, bucket: BucketName, prefix: KeyPrefix, actions: Set<Action>, effect: Effect,
        conditions: GrantConditions = GrantConditions(), notBefore: Date? = nil, notAfter: Date? = nil,
        note: String = "", createdBy: String, createdAt: Date
    ) {
        self.id = id
        self.principal = principal
        self.bucket = bucket
        self.prefix = prefix
        self.actions = actions
        self.effect = effect
        terms = Self.terms(conditions, notBefore, notAfter)
        self.note = note
        self.createdBy = createdBy
        self.createdAt = createdAt
    }
}

extension Grant {
    private struct Terms: Sendable, Equatable {
        var conditions: GrantConditions
        var notBefore: Date?
        var notAfter: Date?
    }

    private static func terms(_ conditions: GrantConditions, _ notBefore: Date?, _ notAfter: Date?) -> Rare<Terms> {
        let isPlain = notBefore == nil && notAfter == nil && conditions == GrantConditions()
        return Rare(isPlain ? nil : Terms(conditions: conditions, notBefore: notBefore, notAfter: notAfter))
    }

    /// Further conditions that must hold.
    public var conditions: GrantConditions {
        get { terms.value?.conditions ?? GrantConditions() }
        set { terms = Self.terms(newValue, notBefore, notAfter) }
    }

    /// Start of validity, inclusive; `nil` for no start.
    public var notBefore: Date? {
        get { terms.value?.notBefore }
        set { terms = Self.terms(conditions, newValue, notAfter) }
    }

    /// End of validity, exclusive; `nil` for no end.
    public var notAfter: Date? {
        get { terms.value?.notAfter }
        set { terms = Self.terms(conditions, notBefore, newValue) }
    }

    /// Whether the grant has no conditions and no limits of validity.
    var isUnconditional: Bool { terms == .none }
}

/// The conditions under which a grant applies. An absent condition demands nothing. The API and the database share this
/// JSON form.
public struct GrantConditions: Sendable, Equatable, Codable {
    /// Content types that an upload may have: exact types, or `type/*`. A pattern leaves out types whose scripts a
    /// browser runs, such as `text/html` and `image/svg+xml`; name these exactly.
    public var contentTypes: [String]?
    /// Size limit of an object, in bytes.
    public var maxBytes: Int64?
    /// Whether an upload must bind a Content-MD5.
    public var requireContentMD5: Bool?
    /// Longest lifetime of a URL, in seconds.
    public var maxTTL: Int?
    /// Networks in CIDR notation; the caller's address must lie in one of them.
    public var sourceCIDRs: [String]?
    /// Whether downloads are forced to `Content-Disposition: attachment`.
    public var forceDownload: Bool?
    /// Whether a download may override the response's `Content-Type`; if absent, it may not.
    public var allowResponseContentType: Bool?
    /// Whether a download may name a version of the object; if absent, only the newest version can be read.
    public var allowVersions: Bool?

    /// Creates conditions; all are absent by default.
    public init(
        contentTypes: [String]? = nil, maxBytes: Int64? = nil, requireContentMD5: Bool? = nil, maxTTL: Int? = nil,
        sourceCIDRs: [String]? = nil, forceDownload: Bool? = nil, allowResponseContentType: Bool? = nil,
        allowVersions: Bool? = nil
    ) {
        self.contentTypes = contentTypes
        self.maxBytes = maxBytes
        self.requireContentMD5 = requireContentMD5
        self.maxTTL = maxTTL
        self.sourceCIDRs = sourceCIDRs
        self.forceDownload = forceDownload
        self.allowResponseContentType = allowResponseContentType
        self.allowVersions = allowVersions
    }
}

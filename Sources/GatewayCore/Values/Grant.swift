public import Foundation

/// A permission row: who may, or may not, do what below which prefix of a bucket.
public struct Grant: Sendable, Equatable {
    /// Whether matching requests are permitted or refused; one matching `deny` outweighs every `allow`.
    public enum Effect: String, Sendable, CaseIterable, Codable {
        case allow
        case deny
    }

    /// Identifier.
    public var id: UUID
    /// Whom it is for.
    public var principal: Principal
    /// The bucket.
    public var bucket: BucketName
    /// The keys.
    public var prefix: KeyPrefix
    /// What it covers; never empty.
    public var actions: Set<Action>
    /// Permit or refuse.
    public var effect: Effect
    /// What must hold besides.
    public var conditions: GrantConditions
    /// First instant of validity, if bounded.
    public var notBefore: Date?
    /// First instant after validity, if bounded.
    public var notAfter: Date?
    /// A remark for admins.
    public var note: String
    /// The admin who made it.
    public var createdBy: String
    /// Set by the store of rows.
    public var createdAt: Date

    /// Puts a grant together.
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
        self.conditions = conditions
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.note = note
        self.createdBy = createdBy
        self.createdAt = createdAt
    }
}

/// What must hold for a grant to apply. An absent member demands nothing. The JSON form is the API's and the database's.
public struct GrantConditions: Sendable, Equatable, Codable {
    /// Content types for uploads: exact, or `type/*`, which leaves out types whose scripts a browser runs, such as
    /// `text/html` and `image/svg+xml`; those have to be named.
    public var contentTypes: [String]?
    /// Largest object, in bytes.
    public var maxBytes: Int64?
    /// Whether an upload must bind a Content-MD5.
    public var requireContentMD5: Bool?
    /// Longest life of a URL, in seconds.
    public var maxTTL: Int?
    /// Networks of the caller, in CIDR notation; any of them.
    public var sourceCIDRs: [String]?
    /// Whether downloads are forced to `Content-Disposition: attachment`.
    public var forceDownload: Bool?
    /// Whether a download may override the response's `Content-Type`; where absent it may not.
    public var allowResponseContentType: Bool?
    /// Whether versions of an object may be read that are named; where absent only the newest may.
    public var allowVersions: Bool?

    /// Puts conditions together; all absent by default.
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

/// One row of a group's membership.
public struct GroupMember: Sendable, Equatable {
    /// The group.
    public var group: Principal
    /// The member, a user.
    public var member: Principal
    /// Set by the store of rows.
    public var createdAt: Date

    /// The identifier that stores of rows know: group and member, parted by U+001F, which neither can hold.
    public var identifier: String { group.rawValue + "\u{1f}" + member.rawValue }

    /// Puts a membership together.
    public init(group: Principal, member: Principal, createdAt: Date) {
        self.group = group
        self.member = member
        self.createdAt = createdAt
    }
}

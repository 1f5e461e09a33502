public import FoundationEssentials
public import LibCrypto

/// A narrow credential that fits into a URL, for clients that cannot send a header. It is stored without its text.
///
/// It acts for the user who created it, with the groups and claims that the user's token named at creation, or the
/// groups that the user's API key has at each use. It permits only some actions below one prefix of one bucket, until a
/// stated time and for a stated number of uses. It becomes invalid with the issuer's or API key's row that vouched for
/// its creator.
public struct Ticket: Sendable, Equatable {
    /// Unique identifier.
    public var id: UUID
    /// Public part of its text; unique.
    public var name: String
    /// SHA-256 of its text.
    public var hash: Digest
    /// The user that it acts for.
    public var principal: Principal
    /// Groups that the creator's credential named at creation. For an API key, those of its row count instead.
    public var groups: [Principal]
    /// Claims that templates may use, by name.
    public var claims: [String: String]
    /// Scope of the row that vouched for the creator, `issuer:…` or `apikey:…`; `nil` for the bootstrap key.
    public var issuedOn: PolicyScope?
    /// The bucket that it permits.
    public var bucket: BucketName
    /// The keys that it permits: a literal prefix.
    public var prefix: ExactText
    /// The actions that it permits; never empty.
    public var actions: Set<Action>
    /// Maximum number of uses, at least 1.
    public var maxUses: Int64
    /// When it expires; not valid at this instant or later.
    public var expiresAt: Date
    /// Key that encrypts the credentials in answers, 32 bytes; `nil` for answers in the clear.
    public var responseKey: Secret<[UInt8]>?
    /// When the ticket was created. The store of rows sets it.
    public var createdAt: Date

    /// Creates a ticket.
    public init(
        id: UUID, name: String, hash: Digest, principal: Principal, groups: [Principal], claims: [String: String],
        issuedOn: PolicyScope?, bucket: BucketName, prefix: ExactText, actions: Set<Action>, maxUses: Int64,
        expiresAt: Date, responseKey: Secret<[UInt8]>? = nil, createdAt: Date
    ) {
        self.id = id
        self.name = name
        self.hash = hash
        self.principal = principal
        self.groups = groups
        self.claims = claims
        self.issuedOn = issuedOn
        self.bucket = bucket
        self.prefix = prefix
        self.actions = actions
        self.maxUses = maxUses
        self.expiresAt = expiresAt
        self.responseKey = responseKey
        self.createdAt = createdAt
    }
}

extension Ticket {
    /// Lifetime if the request states none, in seconds: a working day of an app.
    static let defaultLife = 43_200
    /// Longest lifetime, in seconds.
    public static let maxLife = 604_800
    /// Number of uses if the request states none. SDKs refresh every 5 to 55 minutes, and an SDK that cannot read the
    /// expiry asks before each of its requests.
    static let defaultUses: Int64 = 1000
    /// Largest number of uses.
    public static let maxUses: Int64 = 100_000
    /// Largest number of valid tickets per principal at a time.
    public static let maxLiveCount = 1000

    /// Whether the ticket permits an action on a key.
    func covers(_ action: Action, on key: ObjectKey, in bucket: BucketName) -> Bool {
        self.bucket == bucket && actions.contains(action)
            && (action != .listObjects || KeyPrefix.literal(prefix).coversManyKeys)
            && KeyPrefix.literal(prefix).matchedByteCount(of: key, for: Subject(principal: principal)) != nil
    }

    /// The charge for one use. It is counted like a use of a quota: atomically, in the statement that records.
    public var charge: QuotaCharge {
        QuotaCharge(
            quota: Quota(
                id: id, principal: principal, bucket: bucket, action: nil, metric: .urls, period: .total,
                sharing: .shared, limit: maxUses, createdAt: createdAt),
            holder: principal, amount: 1)
    }
}

public import Foundation

/// A narrow credential that fits into a URL, for clients that can send no header; kept without its text.
///
/// It speaks for the user who made it, with the groups and claims that the user's own credential named then, but only for
/// some actions below one prefix of one bucket, until a stated time and for a stated number of uses. It dies with the issuer's
/// or API key's row that vouched for its maker.
public struct Ticket: Sendable, Equatable {
    /// Identifier.
    public var id: UUID
    /// The public part of its text; unique.
    public var name: String
    /// SHA-256 of its text, 32 bytes.
    public var hash: [UInt8]
    /// Whom it speaks for.
    public var principal: Principal
    /// Groups that the maker's credential named.
    public var groups: [Principal]
    /// Claims that templates may use.
    public var claims: [String: String]
    /// The scope of the row that vouched for the maker: `issuer:…` or `apikey:…`; `nil` for the bootstrap key.
    public var issuedOn: PolicyScope?
    /// The bucket it is for.
    public var bucket: BucketName
    /// The keys it is for: a literal prefix.
    public var prefix: ExactText
    /// What it is for; never empty.
    public var actions: Set<Action>
    /// How often it may be used, at least 1.
    public var maxUses: Int64
    /// First instant at which it is no longer good.
    public var expiresAt: Date
    /// What credentials are encrypted with that are answered on it, 32 bytes; in the clear where absent.
    public var responseKey: Secret<[UInt8]>?
    /// Set by the store of rows.
    public var createdAt: Date

    /// Puts a ticket together.
    public init(
        id: UUID, name: String, hash: [UInt8], principal: Principal, groups: [Principal], claims: [String: String],
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
    /// Life of a ticket for which none was asked, in seconds: a working day of an app.
    public static let defaultLife = 43_200
    /// Longest life, in seconds.
    public static let maxLife = 604_800
    /// Uses of a ticket for which none were asked. SDKs refresh every 5 to 55 minutes, and one that cannot read the expiry
    /// asks before each of its requests.
    public static let defaultUses: Int64 = 1000
    /// Most uses.
    public static let maxUses: Int64 = 100_000
    /// Most tickets of one principal that are alive at a time.
    public static let maxLiveCount = 1000

    /// Whether the ticket is for an action on a key.
    func covers(_ action: Action, on key: ObjectKey, in bucket: BucketName) -> Bool {
        self.bucket == bucket && actions.contains(action)
            && KeyPrefix.literal(prefix).matchedByteCount(of: key, for: Subject(principal: principal)) != nil
    }

    /// One use, counted like a use of a quota: atomically, in the statement that records.
    public var charge: QuotaCharge {
        QuotaCharge(
            quota: Quota(
                id: id, principal: principal, bucket: bucket, action: nil, metric: .urls, period: .total,
                sharing: .shared, limit: maxUses, createdAt: createdAt),
            holder: principal, amount: 1)
    }
}

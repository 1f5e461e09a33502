public import FoundationEssentials
public import Signing

/// What may be signed, why, and what it costs.
///
/// A class for the reason that ``Caller`` gives.
public final class Permit: Sendable {
    /// The grant that decided. Its principal is the one that matched.
    public var grant: Grant { grantRow.grant }
    /// The bucket.
    public var bucket: Bucket { bucketRow.bucket }
    /// The credential to sign with.
    public var credential: StorageCredential { credentialRow.credential }
    /// Lifetime of the URL after ``decidedAt``, in seconds.
    public let expiresIn: Int
    /// What determined the lifetime.
    public let expiryOrigin: ExpiryOrigin
    /// Instant of signing: the beginning of the bucket's window of stable links, or ``decidedAt``.
    let signedAt: Date
    /// Seconds from the instant of signing to the expiry.
    let signedSeconds: Int
    /// The instant of the decision, rounded down to a whole second.
    let decidedAt: Date
    /// Headers that the signature binds and that the client must send.
    public let headers: [NamedValue]
    /// Parameters that the signature binds, decoded.
    public let query: [NamedValue]
    /// The address from which alone the URL works; `nil` if the bucket binds none.
    public let sourceAddress: IPAddress?
    /// Who enforces the size of the upload.
    public let enforcedBy: SizeEnforcement
    /// Largest number of bytes that can arrive; `nil` if nobody enforces a size.
    public let maxBytes: Int64?
    /// Charges to quotas. All of them are taken, or none.
    public let charges: [QuotaCharge]
    /// Number of bytes that byte quotas reserve; `nil` if no byte quota applies.
    public let reservedBytes: Int64?

    let grantRow: GrantRow
    let bucketRow: BucketRow
    let credentialRow: CredentialRow

    init(
        match: Match, bucket: BucketRow, credential: CredentialRow, life: LinkLife,
        decidedAt: Date, headers: [NamedValue], query: [NamedValue], sourceAddress: IPAddress?, size: SizeBinding?,
        charges: [QuotaCharge], reservedBytes: Int64?
    ) {
        grantRow = match.row
        bucketRow = bucket
        credentialRow = credential
        expiresIn = life.seconds
        expiryOrigin = life.origin
        signedAt = life.signedAt
        signedSeconds = life.signedSeconds
        self.decidedAt = decidedAt
        self.headers = headers
        self.query = query
        self.sourceAddress = sourceAddress
        enforcedBy = size?.enforcedBy ?? .none
        maxBytes = size?.maxBytes
        self.charges = charges
        self.reservedBytes = reservedBytes
    }

    /// When the URL expires, by the signing clock; not valid at this instant or later.
    public var expiresAt: Date { signedAt.addingTimeInterval(TimeInterval(signedSeconds)) }
}

/// What determined the lifetime of a URL: the request, the bucket's default, or the limit that shortened it.
public enum ExpiryOrigin: String, Sendable, CaseIterable {
    /// The lifetime that the request states.
    case request
    /// The bucket's default, because the request states none.
    case bucketDefault
    /// Shortened to the grant's `maxTTL`.
    case grantMaxTTL
    /// Shortened to the end of the grant's validity.
    case grantValidity
    /// Shortened to the beginning of a grant that denies it.
    case denyStart
    /// Shortened to the bucket's `maxTTL`.
    case bucketMaxTTL
    /// Shortened to the longest lifetime that the scheme can express.
    case scheme
    /// Shortened to the expiry of the storage credential.
    case credential
}

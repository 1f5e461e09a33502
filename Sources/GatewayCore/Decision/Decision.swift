public import FoundationEssentials
public import Signing

/// The result of ``decide(_:for:under:sourceAddress:now:)``.
public enum Decision: Sendable {
    /// The request may be signed as the permit states.
    case permit(Permit)
    /// The request is refused.
    indirect case refuse(Refusal)
}

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
    public let signedAt: Date
    /// Seconds from the instant of signing to the expiry.
    public let signedSeconds: Int
    /// The instant of the decision, rounded down to a whole second.
    public let decidedAt: Date
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
    /// Shortened to the bucket's `maxTTL`.
    case bucketMaxTTL
    /// Shortened to the longest lifetime that the scheme can express.
    case scheme
    /// Shortened to the expiry of the storage credential.
    case credential
}

/// The refusal of a request.
public struct Refusal: Sendable {
    /// The error that the caller receives.
    public var error: GatewayError
    /// The grant that denied, or whose condition failed; `nil` if no grant matched.
    public var grant: Grant?
    /// Whether the caller's ticket does not cover the request. No grant was asked then.
    var isOutsideTicket = false
    /// The protocol of the request, if the bucket does not open it. No grant was asked then.
    var closedProtocol: ClientProtocol?

    /// Creates a refusal.
    public init(_ error: GatewayError, grant: Grant? = nil) {
        self.error = error
        self.grant = grant
    }

    /// The refusal of a request by a protocol that the bucket does not open: the caller learns as little as of a bucket
    /// that does not exist.
    static func closed(_ clientProtocol: ClientProtocol) -> Refusal {
        var refusal = Refusal(.accessDenied)
        refusal.closedProtocol = clientProtocol
        return refusal
    }

    /// The refusal of a request that the caller's ticket does not cover.
    static var outsideTicket: Refusal {
        var refusal = Refusal(.accessDenied)
        refusal.isOutsideTicket = true
        return refusal
    }
}

extension GatewayError {
    /// Returns the error for a missing or expired storage credential. The caller can do nothing: an admin has to renew
    /// it.
    static func unusableCredential(of bucket: Bucket) -> GatewayError {
        .unavailable(retryAfter: 60, cause: "the storage credential of bucket \(bucket.name) is gone or has ended")
    }
}

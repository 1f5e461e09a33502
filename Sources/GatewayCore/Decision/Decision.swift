public import Foundation
public import Signing

/// The answer of ``decide(_:for:under:sourceAddress:now:)``.
public enum Decision: Sendable {
    /// The request may be signed, as the permit says.
    case permit(Permit)
    /// The request is refused.
    indirect case refuse(Refusal)
}

/// What may be signed, why, and what it costs.
///
/// A class, as it goes through many hands and nothing of it changes.
public final class Permit: Sendable {
    /// The grant that decided; its principal is the one that matched.
    public var grant: Grant { grantRow.grant }
    /// The bucket.
    public var bucket: Bucket { bucketRow.bucket }
    /// The credential to sign with.
    public var credential: StorageCredential { credentialRow.credential }
    /// Bytes of the key that the grant's prefix covers, variables filled in.
    public let matchedByteCount: Int
    /// Life of the URL in seconds.
    public let expiresIn: Int
    /// What the life was taken from.
    public let expiryOrigin: ExpiryOrigin
    /// Instant of signing: a whole second, not after the decision's.
    public let signedAt: Date
    /// Headers that are bound and that the client must send.
    public let headers: [NamedValue]
    /// Parameters that are bound, decoded.
    public let query: [NamedValue]
    /// Who enforces the size.
    public let enforcedBy: SizeEnforcement
    /// Most bytes that can arrive; `nil` where nobody enforces a size.
    public let maxBytes: Int64?
    /// What to charge; all of it or nothing.
    public let charges: [QuotaCharge]
    /// Bytes that byte quotas reserve; `nil` where none applies.
    public let reservedBytes: Int64?

    let grantRow: GrantRow
    let bucketRow: BucketRow
    let credentialRow: CredentialRow

    init(
        match: Match, bucket: BucketRow, credential: CredentialRow, life: (seconds: Int, origin: ExpiryOrigin),
        signedAt: Date, headers: [NamedValue], query: [NamedValue], size: SizeBinding?,
        charges: [QuotaCharge], reservedBytes: Int64?
    ) {
        grantRow = match.row
        bucketRow = bucket
        credentialRow = credential
        matchedByteCount = match.byteCount
        expiresIn = life.seconds
        expiryOrigin = life.origin
        self.signedAt = signedAt
        self.headers = headers
        self.query = query
        enforcedBy = size?.enforcedBy ?? .none
        maxBytes = size?.maxBytes
        self.charges = charges
        self.reservedBytes = reservedBytes
    }

    /// First instant at which the URL is dead, by the signing clock.
    public var expiresAt: Date { signedAt.addingTimeInterval(TimeInterval(expiresIn)) }
}

/// What fixes the life of a URL: the request or the bucket's default, or the limit that cut it.
public enum ExpiryOrigin: String, Sendable, CaseIterable {
    /// As asked.
    case request
    /// The bucket's default; none was asked for.
    case bucketDefault
    /// Cut to the grant's `maxTTL`.
    case grantMaxTTL
    /// Cut to the end of the grant's validity.
    case grantValidity
    /// Cut to the bucket's `maxTTL`.
    case bucketMaxTTL
    /// Cut to what the scheme can express.
    case scheme
    /// Cut to the end of the storage credential.
    case credential
}

/// Why a request is refused.
public struct Refusal: Sendable {
    /// What the caller is told.
    public var error: GatewayError
    /// The grant that denied, or whose condition failed; `nil` where none matched.
    public var grant: Grant?

    /// Puts a refusal together.
    public init(_ error: GatewayError, grant: Grant? = nil) {
        self.error = error
        self.grant = grant
    }
}

extension GatewayError {
    /// Nothing the caller can do: an admin has to renew the credential of the bucket.
    static func unusableCredential(of bucket: Bucket) -> GatewayError {
        .unavailable(retryAfter: 60, cause: "the storage credential of bucket \(bucket.name) is gone or has ended")
    }
}

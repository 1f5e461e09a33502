public import Foundation
public import Signing

/// The answer of ``decide(_:for:under:sourceAddress:now:)``.
public enum Decision: Sendable {
    /// The request may be signed, as the permit says.
    indirect case permit(Permit)
    /// The request is refused.
    case refuse(Refusal)
}

/// What may be signed, why, and what it costs.
public struct Permit: Sendable {
    /// The grant that decided; its principal is the one that matched.
    public var grant: Grant
    /// Bytes of the key that the grant's prefix covers, variables filled in.
    public var matchedByteCount: Int
    /// The bucket.
    public var bucket: Bucket
    /// The credential to sign with.
    public var credential: StorageCredential
    /// Life of the URL in seconds.
    public var expiresIn: Int
    /// What the life was taken from.
    public var expiryOrigin: ExpiryOrigin
    /// Instant of signing: a whole second, not after the decision's.
    public var signedAt: Date
    /// Headers that are bound and that the client must send.
    public var headers: [NamedValue]
    /// Parameters that are bound, decoded.
    public var query: [NamedValue]
    /// Who enforces the size.
    public var enforcedBy: SizeEnforcement
    /// What to charge; all of it or nothing.
    public var charges: [QuotaCharge]
    /// Bytes that byte quotas reserve; `nil` where none applies.
    public var reservedBytes: Int64?

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

/// Who refuses an upload of another size than was decided.
public enum SizeEnforcement: String, Sendable, CaseIterable, Codable {
    /// The store, by a signed `Content-Length`.
    case signature
    /// The store, by a range in a signed policy.
    case policy
    /// Nobody.
    case none
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

public import FoundationEssentials
public import Signing

/// Cookies that are recorded in the ledger and may leave the process.
public struct IssuedCookies: Sendable, CustomStringConvertible {
    /// Identifier of the ledger row.
    public let id: UUID
    /// The bucket.
    public let bucket: BucketName
    /// What the cookies open: all keys that begin with the prefix, or the one key that it is.
    public let prefix: ExactText
    /// Names and values of the cookies. Anyone who holds them can use them.
    public let cookies: Secret<[NamedValue]>
    /// The URL of the object, or what the URLs of all objects begin with; without a signature.
    public let url: String
    /// The host that must receive the cookies.
    public let host: String
    /// The percent-encoded path of the URL.
    public let path: String
    /// The instant from which the cookies are no longer valid, by the signing clock; a whole second.
    public let expiresAt: Date
    /// Lifetime in seconds.
    public let expiresIn: Int
    /// The quotas that were charged, and what remains of each.
    public let quotas: [QuotaBalance]

    /// The issuance id, without the cookies.
    public var description: String { "IssuedCookies(\(id))" }
}

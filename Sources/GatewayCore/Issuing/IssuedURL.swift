public import FoundationEssentials
public import Signing

/// A presigned URL that is recorded in the ledger and may leave the process.
///
/// This is a class because it is passed through many layers and never changes.
public final class IssuedURL: Sendable, CustomStringConvertible {
    /// Identifier of the ledger row.
    public let id: UUID
    /// The HTTP method that the URL is valid for.
    public let method: IssueRequest.Method
    /// The bucket of the object.
    public let bucket: BucketName
    /// The object key; set even if the gateway chose the name. For a listing, its prefix.
    public let key: ObjectKey
    /// What the URL lists; `nil` for the URL of an object.
    public let listing: Listing?
    /// The presigned URL. Anyone who holds it can use it.
    public let url: Secret<String>
    /// The headers that the client must send, byte for byte.
    public let headers: [NamedValue]
    /// The instant from which the URL is no longer valid, by the signing clock; a whole second.
    public let expiresAt: Date
    /// Lifetime in seconds.
    public let expiresIn: Int
    /// Whether the URL works only from the address that asked for it.
    public let isBoundToAddress: Bool
    /// The mechanism that refuses an upload of another size.
    public let enforcedBy: SizeEnforcement
    /// The quotas that were charged, and what remains of each.
    public let quotas: [QuotaBalance]

    init(
        id: UUID, method: IssueRequest.Method, bucket: BucketName, key: ObjectKey, listing: Listing?,
        url: Secret<String>, headers: [NamedValue], expiresAt: Date, expiresIn: Int, isBoundToAddress: Bool,
        enforcedBy: SizeEnforcement, quotas: [QuotaBalance]
    ) {
        self.id = id
        self.method = method
        self.bucket = bucket
        self.key = key
        self.listing = listing
        self.url = url
        self.headers = headers
        self.expiresAt = expiresAt
        self.expiresIn = expiresIn
        self.isBoundToAddress = isBoundToAddress
        self.enforcedBy = enforcedBy
        self.quotas = quotas
    }

    /// The issuance id, without the URL.
    public var description: String { "IssuedURL(\(id))" }
}

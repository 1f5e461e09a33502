public import Foundation
public import Signing

/// A presigned URL that is on record and may leave the process.
///
/// A class, as it goes through many hands and nothing of it changes.
public final class IssuedURL: Sendable, CustomStringConvertible {
    /// Identifier of the row in the ledger.
    public let id: UUID
    /// The method that it is for.
    public let method: IssueRequest.Method
    /// Where.
    public let bucket: BucketName
    /// On what; also where the gateway chose the name.
    public let key: ObjectKey
    /// The URL; whoever holds it may use it.
    public let url: Secret<String>
    /// Headers that the client must send, byte for byte.
    public let headers: [NamedValue]
    /// First instant at which it is dead, by the signing clock; a whole second.
    public let expiresAt: Date
    /// Its life in seconds.
    public let expiresIn: Int
    /// Who refuses an upload of another size.
    public let enforcedBy: SizeEnforcement
    /// The quotas that were charged, with what is left of each.
    public let quotas: [QuotaBalance]

    init(
        id: UUID, method: IssueRequest.Method, bucket: BucketName, key: ObjectKey, url: Secret<String>,
        headers: [NamedValue], expiresAt: Date, expiresIn: Int, enforcedBy: SizeEnforcement, quotas: [QuotaBalance]
    ) {
        self.id = id
        self.method = method
        self.bucket = bucket
        self.key = key
        self.url = url
        self.headers = headers
        self.expiresAt = expiresAt
        self.expiresIn = expiresIn
        self.enforcedBy = enforcedBy
        self.quotas = quotas
    }

    /// Names the issuance, never the URL.
    public var description: String { "IssuedURL(\(id))" }
}

public import FoundationEssentials
public import Signing

/// A signature that is recorded in the ledger and may leave the process.
public struct RemoteSignature: Sendable, CustomStringConvertible {
    /// Identifier of the ledger row.
    public let id: UUID
    /// The access key id that belongs to the signing secret. The client sends it with the signature.
    public let accessKeyID: String
    /// The signature: hexadecimal for version 4, otherwise base64.
    public let signature: Secret<String>
    /// The value of the `Authorization` header; `nil` for version 4, where the client builds it.
    public let authorization: Secret<String>?
    /// The headers that the client must send besides those of the request that it asked for, names in lower case.
    public let headers: [NamedValue]
    /// The last instant at which a store can be expected to accept the signature.
    public let expiresAt: Date
    /// The quotas that were charged, and what remains of each.
    public let quotas: [QuotaBalance]
    /// The multipart upload that the signature starts, if it starts one.
    let start: Start?

    /// A multipart upload that a client is about to start.
    struct Start: Sendable {
        let upload: RemoteUpload
        let contentType: String
    }

    /// The issuance id, without the signature.
    public var description: String { "RemoteSignature(\(id))" }
}

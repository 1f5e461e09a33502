public import Foundation
public import Signing

/// A browser form that is on record and may leave the process.
public struct IssuedPostPolicy: Sendable, CustomStringConvertible {
    /// Identifier of the row in the ledger.
    public let id: UUID
    /// Where.
    public let bucket: BucketName
    /// The form's field `key`; with `${filename}` where the client names the object.
    public let key: String
    /// Where to send the form, as `multipart/form-data`.
    public let url: String
    /// The fields, which go before the file in this order; whoever holds them may use them.
    public let fields: Secret<[NamedValue]>
    /// Content types of which the client puts one into the field `Content-Type`; empty where that field is given.
    public let contentTypes: [String]
    /// First instant at which it is dead, by the signing clock; a whole second.
    public let expiresAt: Date
    /// Its life in seconds.
    public let expiresIn: Int
    /// The quotas that were charged, with what is left of each.
    public let quotas: [QuotaBalance]

    /// Names the issuance, never the fields.
    public var description: String { "IssuedPostPolicy(\(id))" }
}

public import FoundationEssentials
public import Signing

/// A browser form that is recorded in the ledger and may leave the process.
public struct IssuedPostPolicy: Sendable, CustomStringConvertible {
    /// Identifier of the ledger row.
    public let id: UUID
    /// The bucket that receives the upload.
    public let bucket: BucketName
    /// Value of the form field `key`; contains `${filename}` if the client chooses the object's name.
    public let key: String
    /// The URL to send the form to, as `multipart/form-data`.
    public let url: String
    /// The form fields. They must precede the file, in this order. Anyone who holds them can use them.
    public let fields: Secret<[NamedValue]>
    /// The content types from which the client chooses; `nil` if `fields` has the only one.
    public let choice: TypeChoice?
    /// The instant from which the form is no longer valid, by the signing clock; a whole second.
    public let expiresAt: Date
    /// Lifetime in seconds.
    public let expiresIn: Int
    /// The quotas that were charged, and what remains of each.
    public let quotas: [QuotaBalance]

    /// A field that the client adds.
    public struct TypeChoice: Sendable {
        /// Name of the field.
        public let field: String
        /// The values that the store accepts.
        public let types: [String]
    }

    /// The issuance id, without the fields.
    public var description: String { "IssuedPostPolicy(\(id))" }
}

/// A browser form that a store will accept, and what its signature covers.
public struct SignedPostForm: Sendable, Hashable {
    /// Where to send it, as `multipart/form-data`.
    public let url: String
    /// Its percent-encoded path.
    public let path: String
    /// Its fields in the order to send them; the field `file` follows them as the last.
    public let fields: [NamedValue]
    /// The policy in base64, as it is signed; also the value of the field `policy`.
    public let policyBase64: String
    /// The signature, in hexadecimal or base64 as the scheme has it.
    public let signature: String
}

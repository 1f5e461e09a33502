/// A signed browser form.
public struct SignedPostForm: Sendable, Hashable {
    /// Where to send it, as `multipart/form-data`.
    public let url: String
    /// Its percent-encoded path.
    public let path: String
    /// Its fields in the order to send them. The field `file` follows as the last one.
    public let fields: [NamedValue]
    /// The signed policy in base64, which is also the value of the field `policy`.
    public let policyBase64: String
    /// The signature, in hexadecimal or base64, depending on the scheme.
    public let signature: String
}

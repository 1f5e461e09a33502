/// Who refuses an upload whose size differs from the size that was decided.
public enum SizeEnforcement: String, Sendable, CaseIterable, Codable {
    /// The store refuses it: the signature covers `Content-Length` or a header with a range.
    case signature
    /// The store refuses it: the signed policy states a range of sizes.
    case policy
    /// Nobody refuses it.
    case none
}

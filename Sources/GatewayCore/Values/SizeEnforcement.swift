/// Who refuses an upload of another size than was decided.
public enum SizeEnforcement: String, Sendable, CaseIterable, Codable {
    /// The store, by a signed `Content-Length`.
    case signature
    /// The store, by a range in a signed policy.
    case policy
    /// Nobody.
    case none
}

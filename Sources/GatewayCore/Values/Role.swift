/// A right that a caller has in addition to asking for URLs.
public enum Role: String, Sendable, Hashable, CaseIterable, Codable {
    /// Reads and changes everything under `/admin`.
    case admin
    /// Reads everything under `/admin`.
    case auditor
}

public import Foundation

/// How far a reader has read the log of policy changes.
///
/// A number alone would not do: after a failover numbers may repeat, tags do not.
public struct PolicyPosition: Hashable, Sendable {
    /// Number of the last change read; numbers have no gaps.
    public let sequence: Int64
    /// Random mark of that change.
    public let tag: UUID

    /// Names a position.
    public init(sequence: Int64, tag: UUID) {
        self.sequence = sequence
        self.tag = tag
    }

    /// Whether a reader who was here may have come to another position by reading on. Where a number repeats or is smaller, the
    /// log is another one, or memory began anew.
    func mayPrecede(_ later: PolicyPosition) -> Bool {
        self == later || sequence < later.sequence
    }
}

/// What a change of policy touches, and what a decision rests on.
public struct PolicyScope: ByteExact, CustomStringConvertible {
    /// The text in `policy_log.scopes`: `user:…`, `group:…`, `*`, `bucket:…`, `credential:…`, `issuer:…`, `apikey:…`,
    /// `ticket:…` or `all`.
    public let rawValue: String

    /// Everything: a change of more than 1,000 scopes.
    public static let all = PolicyScope(rawValue: "all")

    /// Takes a text that is already in the form.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Grants, memberships and quotas of a principal.
    public static func principal(_ principal: Principal) -> PolicyScope {
        PolicyScope(rawValue: principal.rawValue)
    }

    /// A bucket's row.
    public static func bucket(_ name: BucketName) -> PolicyScope {
        PolicyScope(rawValue: "bucket:" + name.rawValue)
    }

    /// A storage credential's row.
    public static func credential(_ id: UUID) -> PolicyScope {
        PolicyScope(rawValue: "credential:" + id.lowercaseText)
    }

    /// An issuer's row, by its `iss`.
    public static func issuer(_ issuer: String) -> PolicyScope {
        PolicyScope(rawValue: "issuer:" + issuer)
    }

    /// An API key's row, by its public prefix.
    public static func apiKey(prefix: String) -> PolicyScope {
        PolicyScope(rawValue: "apikey:" + prefix)
    }

    /// A ticket's row, by its public name.
    public static func ticket(name: String) -> PolicyScope {
        PolicyScope(rawValue: "ticket:" + name)
    }

    /// The text.
    public var description: String { rawValue }
}

public import FoundationEssentials

/// A part of the policy that a change touches, or that a decision rests on.
public struct PolicyScope: ByteExact, CustomStringConvertible {
    /// How the scope of a single row begins; the row's name follows. The scope of a principal is its own text.
    package enum Kind: String, CaseIterable, Sendable {
        case bucket = "bucket:"
        case credential = "credential:"
        case issuer = "issuer:"
        case apiKey = "apikey:"
        case ticket = "ticket:"
    }

    /// The text in `policy_log.scopes`: `user:…`, `group:…`, `*`, `bucket:…`, `credential:…`, `issuer:…`, `apikey:…`
    /// or `ticket:…`. In the line of a large change, also `all`, `buckets` and `callers`; see `append_policy_log`.
    public let rawValue: String

    /// Everything: the scope of a change that touches more than 1,000 scopes.
    public static let all = PolicyScope(rawValue: "all")

    /// Wraps a text that already has the form.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    private init(_ kind: Kind, _ name: String) {
        rawValue = kind.rawValue + name
    }

    /// Returns the scope of a principal's grants, memberships and quotas.
    public static func principal(_ principal: Principal) -> PolicyScope {
        PolicyScope(rawValue: principal.rawValue)
    }

    /// Returns the scope of a bucket's row.
    public static func bucket(_ name: BucketName) -> PolicyScope {
        PolicyScope(.bucket, name.rawValue)
    }

    /// Returns the scope of a storage credential's row.
    public static func credential(_ id: UUID) -> PolicyScope {
        PolicyScope(.credential, id.lowercaseText)
    }

    /// Returns the scope of an issuer's row, by its `iss`.
    public static func issuer(_ issuer: String) -> PolicyScope {
        PolicyScope(.issuer, issuer)
    }

    /// Returns the scope of an API key's row, by its public prefix.
    public static func apiKey(prefix: String) -> PolicyScope {
        PolicyScope(.apiKey, prefix)
    }

    /// Returns the scope of a ticket's row, by its public name.
    public static func ticket(name: String) -> PolicyScope {
        PolicyScope(.ticket, name)
    }

    /// Takes the scope of a single row apart; `nil` for any other.
    var row: (kind: Kind, name: String)? {
        for kind in Kind.allCases where rawValue.utf8.starts(with: kind.rawValue.utf8) {
            return (kind, String(Substring(rawValue.utf8.dropFirst(kind.rawValue.utf8.count))))
        }
        return nil
    }

    /// The text.
    public var description: String { rawValue }
}

public import FoundationEssentials

/// Identifies rows that belong together and change under one scope.
public enum PolicyKey: Hashable, Sendable {
    case principal(Principal)
    case bucket(BucketName)
    case credential(UUID)
    case issuer(ExactText)
    case apiKey(prefix: String)
    case ticket(name: String)

    /// The scope that a change of the rows touches.
    public var scope: PolicyScope {
        switch self {
        case .principal(let principal): .principal(principal)
        case .bucket(let name): .bucket(name)
        case .credential(let id): .credential(id)
        case .issuer(let issuer): .issuer(issuer.rawValue)
        case .apiKey(let prefix): .apiKey(prefix: prefix)
        case .ticket(let name): .ticket(name: name)
        }
    }

    /// The key whose rows change under a scope; `nil` if the scope names no key, as with ``PolicyScope/all``.
    package init?(_ scope: PolicyScope) {
        guard let (kind, name) = scope.row else {
            guard let principal = try? Principal(scope.rawValue) else { return nil }
            self = .principal(principal)
            return
        }
        switch kind {
        case .bucket:
            guard let bucket = try? BucketName(name) else { return nil }
            self = .bucket(bucket)
        case .credential:
            guard let id = UUID(uuidString: name) else { return nil }
            self = .credential(id)
        case .issuer: self = .issuer(ExactText(name))
        case .apiKey: self = .apiKey(prefix: name)
        case .ticket: self = .ticket(name: name)
        }
    }
}

public import Foundation

/// Reads policy rows, and the log of their changes, from where they are committed.
public protocol PolicySource: Sendable {
    /// Reads the rows of scopes and the position they are current at, in one statement; answers in the order asked.
    ///
    /// A principal with more than `literalGrantLimit` literal grants comes with its templates only and `isComplete` false.
    /// - Throws: ``GatewayError/unavailable(retryAfter:)``.
    func load(_ keys: [PolicyKey], literalGrantLimit: Int) async throws(GatewayError) -> PolicyLoad<[PolicyRows]>

    /// Reads the literal grants at exact places, in one statement; answers in the order asked.
    ///
    /// - Throws: ``GatewayError/unavailable(retryAfter:)``.
    func grants(at places: [GrantPlace]) async throws(GatewayError) -> PolicyLoad<[[Grant]]>

    /// Reads the literal grants of principals in a bucket whose prefix covers a prefix, or lies below it, in one statement.
    ///
    /// Of each kind and principal, `limit` are read at the most; whoever must know all of them asks for one more than would do.
    /// - Throws: ``GatewayError/unavailable(retryAfter:)``.
    func grants(
        of principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]>

    /// Reads which scopes changed after a position.
    ///
    /// - Throws: ``GatewayError/unavailable(retryAfter:)``.
    func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges
}

/// Names rows that belong together and change under one scope.
public enum PolicyKey: Hashable, Sendable {
    case principal(Principal)
    case bucket(BucketName)
    case credential(UUID)
    case issuer(ExactText)
    case apiKey(prefix: String)
    case ticket(name: String)

    /// The scope under which the rows change.
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
}

/// The rows of one ``PolicyKey``; `nil` where there is no such row.
public enum PolicyRows: Sendable {
    case principal(PrincipalRows)
    case bucket(Bucket?)
    case credential(StorageCredential?)
    case issuer(Issuer?)
    case apiKey(APIKey?)
    case ticket(Ticket?)
}

/// What rows say of one principal.
public struct PrincipalRows: Sendable {
    /// Groups that the principal is a member of.
    public var groups: [Principal]
    /// Live grants of the principal, in no order; without the literal ones where `isComplete` is false.
    public var grants: [Grant]
    /// Whether `grants` holds all of them.
    public var isComplete: Bool
    /// Quotas of the principal.
    public var quotas: [Quota]

    /// Puts rows together.
    public init(groups: [Principal] = [], grants: [Grant] = [], isComplete: Bool = true, quotas: [Quota] = []) {
        self.groups = groups
        self.grants = grants
        self.isComplete = isComplete
        self.quotas = quotas
    }
}

/// One place at which literal grants may stand.
public struct GrantPlace: Hashable, Sendable {
    /// Whose grants.
    public var principal: Principal
    /// In which bucket.
    public var bucket: BucketName
    /// At exactly this prefix.
    public var prefix: ExactText

    /// Names a place.
    public init(principal: Principal, bucket: BucketName, prefix: ExactText) {
        self.principal = principal
        self.bucket = bucket
        self.prefix = prefix
    }
}

/// Rows and the position at which they were read.
public struct PolicyLoad<Rows: Sendable>: Sendable {
    /// Current at this position.
    public var position: PolicyPosition
    /// The rows.
    public var rows: Rows

    /// Pairs them.
    public init(position: PolicyPosition, rows: Rows) {
        self.position = position
        self.rows = rows
    }
}

/// What happened to policy after a position.
public enum PolicyChanges: Sendable, Equatable {
    /// These scopes changed; the log is read up to here.
    case scopes(Set<PolicyScope>, upTo: PolicyPosition)
    /// The position is not in the log (none was given, it was pruned, or another server took over): forget everything.
    case restart(at: PolicyPosition)
}

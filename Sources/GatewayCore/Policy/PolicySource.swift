/// Reads committed policy rows and the log of their changes.
public protocol PolicySource: Sendable {
    /// Reads the rows of keys, and the position at which they are current, in one statement.
    ///
    /// A principal with more than `literalGrantLimit` literal grants is returned with its templates only and with
    /// `isComplete` set to `false`.
    /// - Parameters:
    ///   - keys: The keys to read.
    ///   - literalGrantLimit: Largest number of literal grants that are read for one principal.
    /// - Returns: One element per key, in the order of `keys`.
    /// - Throws: `slowDown`, `unavailable`.
    func load(_ keys: [PolicyKey], literalGrantLimit: Int) async throws(GatewayError) -> PolicyLoad<[PolicyRows]>

    /// Reads the literal grants at exact places, in one statement.
    ///
    /// - Returns: One element per place, in the order of `places`; `nil` where a grant cannot be read by this version.
    /// - Throws: `slowDown`, `unavailable`.
    func grants(at places: [GrantPlace]) async throws(GatewayError) -> PolicyLoad<[[Grant]?]>

    /// Reads, in one statement, the literal grants of principals in a bucket whose prefix covers a given prefix or lies
    /// below it.
    ///
    /// Reads at most `limit` grants of each kind and principal. To find out whether there are more than a number of
    /// grants, ask for one more.
    /// - Throws: `slowDown`; `unavailable`, also if this version cannot read one of the grants.
    func grants(
        of principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]>

    /// Reads, in one statement, literal grants of principals: in one bucket, those that cover a prefix or lie below it;
    /// without a bucket, where the prefix is empty, all.
    ///
    /// Reads the first `limit` grants in the order of bucket, prefix and identifier. To find out whether there are more
    /// than a number of grants, ask for one more.
    /// - Throws: `slowDown`; `unavailable`, also if this version cannot read one of the grants.
    func firstGrants(
        of principals: [Principal], in bucket: BucketName?, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]>

    /// Reads the scopes that changed after a position.
    ///
    /// - Parameter position: The position up to which the log was read; `nil` for none.
    /// - Throws: `slowDown`, `unavailable`.
    func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges
}

/// The rows of one ``PolicyKey``; `nil` or empty if there are none.
public enum PolicyRows: Sendable {
    case principal(PrincipalRows)
    case bucket(Bucket?)
    case credential(StorageCredential?)
    case issuer(Stored<Issuer>?)
    case apiKey(APIKey?)
    case ticket(Ticket?)
    /// There is an issuer or a ticket, but no master key here opens its secret.
    case unopened
    /// There are rows, but this version cannot read them. A later one may have written a member that limits what they
    /// permit, so nothing may rest on them.
    case unreadable
}

extension GatewayError {
    /// Something rests on rows that this version cannot read.
    package static func unreadable(_ key: PolicyKey) -> GatewayError {
        .unavailable(retryAfter: 60, cause: "this version cannot read the rows of \(key.scope.rawValue)")
    }
}

/// The rows of one principal.
public struct PrincipalRows: Sendable {
    /// Groups that the principal is a member of.
    public var groups: [Principal]
    /// Current grants of the principal, in no particular order. Literal grants are left out if `isComplete` is `false`.
    public var grants: [Grant]
    /// Whether `grants` holds all grants of the principal.
    public var isComplete: Bool
    /// Quotas of the principal.
    public var quotas: [Quota]

    /// Creates the rows of a principal.
    public init(groups: [Principal] = [], grants: [Grant] = [], isComplete: Bool = true, quotas: [Quota] = []) {
        self.groups = groups
        self.grants = grants
        self.isComplete = isComplete
        self.quotas = quotas
    }
}

/// A place in a bucket where a principal may have literal grants.
public struct GrantPlace: Hashable, Sendable {
    /// The principal of the grants.
    public var principal: Principal
    /// The bucket of the grants.
    public var bucket: BucketName
    /// The exact prefix of the grants.
    public var prefix: ExactText

    /// Creates a place.
    public init(principal: Principal, bucket: BucketName, prefix: ExactText) {
        self.principal = principal
        self.bucket = bucket
        self.prefix = prefix
    }
}

/// Rows with the position at which they were read.
public struct PolicyLoad<Rows: Sendable>: Sendable {
    /// Position at which the rows are current.
    public var position: PolicyPosition
    /// The rows.
    public var rows: Rows

    /// Creates a load from rows and their position.
    public init(position: PolicyPosition, rows: Rows) {
        self.position = position
        self.rows = rows
    }
}

/// The changes of the policy after a position.
public enum PolicyChanges: Sendable, Equatable {
    /// These scopes changed, and the log has been read up to `upTo`.
    case scopes(Set<PolicyScope>, upTo: PolicyPosition)
    /// The log does not contain the position: none was given, it was pruned, or another server took over. Discard all
    /// rows in memory.
    case restart(at: PolicyPosition)
}

import Bytes

/// How far an admin's or auditor's roles reach. A delegated admin's reach is limited to some scopes.
public enum AdminReach: Sendable, Equatable {
    /// Everything.
    case unlimited
    /// What lies inside one of these scopes; nothing if there are none.
    case limited([AdminScope])

    /// Whether everything is reached.
    public var isUnlimited: Bool { self == .unlimited }

    /// The scopes; `nil` if the reach is unlimited.
    public var scopes: [AdminScope]? {
        if case .limited(let scopes) = self { scopes } else { nil }
    }

    /// Adds up the reach of several roles. What is unlimited makes the sum unlimited.
    init(of roles: some Sequence<ConferredRole>) {
        var scopes: [AdminScope] = []
        for role in roles {
            guard let added = role.scopes else {
                self = .unlimited
                return
            }
            scopes += added.filter { !scopes.contains($0) }
        }
        self = .limited(scopes)
    }

    /// Whether a place lies inside, for at least one of the principals that it concerns. This is the one rule; SQL
    /// narrows lists by the same.
    ///
    /// - Parameters:
    ///   - place: A key, a literal prefix or a template. A scope's prefix has no variable, so that a template that
    ///     begins with it covers keys inside only.
    ///   - principals: The principals, by their texts.
    public func holds(bucket: String, place: String, principals: [String]) -> Bool {
        guard let scopes else { return true }
        return scopes.contains { scope in
            scope.bucket.rawValue.isSameBytes(as: bucket)
                && place.utf8.starts(with: scope.prefix.rawValue.utf8)
                && (scope.principals.map { patterns in
                    principals.contains { principal in patterns.contains { $0.matches(principal) } }
                } ?? true)
        }
    }

    /// Whether a place lies inside for at least one principal.
    func touches(bucket: BucketName, place: String) -> Bool {
        guard let scopes else { return true }
        return scopes.contains { $0.bucket == bucket && place.utf8.starts(with: $0.prefix.rawValue.utf8) }
    }

    /// Whether a principal is inside, at least in one place.
    func touches(_ principal: Principal) -> Bool {
        guard let scopes else { return true }
        return scopes.contains { $0.principals?.contains { $0.matches(principal.rawValue) } ?? true }
    }

    /// Whether a scope names a principal. A scope for all principals names none.
    public func names(_ principal: Principal) -> Bool {
        guard let scopes else { return true }
        return scopes.contains { $0.principals?.contains { $0.matches(principal.rawValue) } ?? false }
    }

    /// Throws unless everything is reached.
    ///
    /// - Throws: `outsideAdminScope`.
    public func requireAll() throws(GatewayError) {
        guard isUnlimited else { throw .outsideAdminScope }
    }
}

/// A role that a credential confers, with the scopes that limit it. Each role keeps its own scopes: an auditor of one
/// part who is the admin of another changes nothing in the first.
public struct ConferredRole: Sendable, Hashable {
    /// The role.
    public let role: Role
    /// The scopes; `nil` for a role without limits.
    public let scopes: [AdminScope]?

    /// Creates a role that reaches only into some scopes; with `nil`, everywhere.
    public init(_ role: Role, in scopes: [AdminScope]?) {
        self.role = role
        self.scopes = scopes
    }

    /// Creates a role without limits.
    public static func unlimited(_ role: Role) -> ConferredRole { ConferredRole(role, in: nil) }
}

/// What a caller may see and change over the admin API.
public struct AdminAuthority: Sendable, Equatable {
    /// What the caller may see: all that one of its roles reaches.
    public var sees: AdminReach
    /// What the caller may change: all that its roles `admin` reach.
    public var changes: AdminReach

    /// Everything.
    public static let unlimited = AdminAuthority(sees: .unlimited, changes: .unlimited)

    /// Creates an authority.
    public init(sees: AdminReach, changes: AdminReach) {
        self.sees = sees
        self.changes = changes
    }

    /// Adds up the roles of a credential.
    public init(of roles: [ConferredRole]) {
        sees = AdminReach(of: roles)
        changes = AdminReach(of: roles.filter { $0.role == .admin })
    }
}

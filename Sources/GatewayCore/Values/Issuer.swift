public import FoundationEssentials

/// An issuer whose JWTs are accepted. The JSON form of the configuration is that of the API.
public struct Issuer: Sendable, Equatable {
    /// The source of an issuer's keys.
    public enum Keys: Sendable, Equatable {
        /// A JWK set at an https URL.
        case url(String)
        /// A JWK set as text.
        case inline(String)
        /// A shared secret for HS256. It is sealed at rest and never shown again.
        case secret(Secret<String>)
    }

    /// A role, and the values of a claim that confer it.
    public struct RoleRule: Sendable, Hashable, Codable {
        /// The role.
        public var role: Role
        /// The values, compared by their bytes; one of them suffices. Never empty.
        public var values: [ExactText]
        /// The scopes to which the role is limited; `nil` for a role without limits.
        public var adminScopes: [AdminScope]?

        /// Creates a rule.
        public init(role: Role, values: [String], adminScopes: [AdminScope]? = nil) {
            self.role = role
            self.values = values.map { ExactText($0) }
            self.adminScopes = adminScopes
        }

        /// The role with its scopes.
        public var conferred: ConferredRole { ConferredRole(role, in: adminScopes) }
    }

    /// Unique identifier.
    public var id: UUID
    /// The `iss` claim, compared exactly; unique.
    public var issuer: String
    /// Accepted `aud` values; a token needs one of them. Never empty.
    public var audiences: [String]
    /// Accepted algorithms, by their JOSE names; never empty, never `none`.
    public var algorithms: [String]
    /// The source of the keys.
    public var keys: Keys
    /// Text before the subject in a principal, `user:<prefix><subject>`; unique among issuers.
    public var principalPrefix: String
    /// Text before the name of a group, `group:<prefix><name>`; unique among issuers.
    public var groupPrefix: String
    /// Claim that names the subject; `sub` by default. A dot in the name selects a member of an object.
    public var subjectClaim: String
    /// Claim that lists groups, as an array of strings or one string; `nil` for no groups.
    public var groupsClaim: String?
    /// Claims that templates and rules may use.
    public var usableClaims: [String]
    /// Claim that lists what ``roles`` are conferred by, as an array of strings or one string.
    public var rolesClaim: String?
    /// Which values of ``rolesClaim`` confer which roles; empty if this issuer confers none.
    public var roles: [RoleRule]
    /// How people sign in to the console at this issuer; `nil` if they do not.
    public var console: ConsoleSignIn?
    /// When the issuer was created. The store of rows sets it.
    public var createdAt: Date

    /// Creates an issuer.
    public init(
        id: UUID, issuer: String, audiences: [String], algorithms: [String], keys: Keys, principalPrefix: String,
        groupPrefix: String, subjectClaim: String = "sub", groupsClaim: String? = nil, usableClaims: [String] = [],
        rolesClaim: String? = nil, roles: [RoleRule] = [], console: ConsoleSignIn? = nil, createdAt: Date
    ) {
        self.id = id
        self.issuer = issuer
        self.audiences = audiences
        self.algorithms = algorithms
        self.keys = keys
        self.principalPrefix = principalPrefix
        self.groupPrefix = groupPrefix
        self.subjectClaim = subjectClaim
        self.groupsClaim = groupsClaim
        self.usableClaims = usableClaims
        self.rolesClaim = rolesClaim
        self.roles = roles
        self.console = console
        self.createdAt = createdAt
    }
}

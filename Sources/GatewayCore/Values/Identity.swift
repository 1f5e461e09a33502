public import Foundation

/// What a caller may do besides asking for URLs.
public enum Role: String, Sendable, Hashable, CaseIterable, Codable {
    /// Reads and changes everything under `/admin`.
    case admin
    /// Reads everything under `/admin`.
    case auditor
}

/// A party whose JWTs are accepted. The JSON form of the configuration is the API's.
public struct Issuer: Sendable, Equatable {
    /// Where the keys come from.
    public enum Keys: Sendable, Equatable {
        /// A JWK set behind an https URL.
        case url(String)
        /// A JWK set given as text.
        case inline(String)
        /// A shared secret for HS256; sealed at rest, never shown again.
        case secret(Secret<String>)
    }

    /// Identifier.
    public var id: UUID
    /// The `iss` claim, compared exactly; unique.
    public var issuer: String
    /// Accepted `aud` values; any of them; never empty.
    public var audiences: [String]
    /// Accepted algorithms, by their JOSE names; never empty, never `none`.
    public var algorithms: [String]
    /// Where the keys come from.
    public var keys: Keys
    /// Put before the subject: `user:<prefix><subject>`; unique among issuers.
    public var principalPrefix: String
    /// Put before each group: `group:<prefix><name>`; unique among issuers.
    public var groupPrefix: String
    /// Claim that names the subject; `sub` by default. Dots reach into objects.
    public var subjectClaim: String
    /// Claim that lists groups, an array of strings or one string; none where absent.
    public var groupsClaim: String?
    /// Claims that templates and rules may use.
    public var usableClaims: [String]
    /// Claim that lists roles; only looked at where `mayConferRoles` is not empty.
    public var rolesClaim: String?
    /// Roles that this issuer may confer.
    public var mayConferRoles: Set<Role>
    /// Set by the store of rows.
    public var createdAt: Date

    /// Puts an issuer together.
    public init(
        id: UUID, issuer: String, audiences: [String], algorithms: [String], keys: Keys, principalPrefix: String,
        groupPrefix: String, subjectClaim: String = "sub", groupsClaim: String? = nil, usableClaims: [String] = [],
        rolesClaim: String? = nil, mayConferRoles: Set<Role> = [], createdAt: Date
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
        self.mayConferRoles = mayConferRoles
        self.createdAt = createdAt
    }
}

/// An API key as it is kept: never the key itself.
///
/// The key given out reads `sluice_<prefix>_<secret>`: `prefix` is 12 characters of `a-z0-9`, public and unique; `secret` is
/// 256 random bits in base64url without padding.
public struct APIKey: Sendable, Equatable {
    /// Identifier.
    public var id: UUID
    /// The public part.
    public var prefix: String
    /// SHA-256 of the whole key's text, 32 bytes.
    public var hash: [UInt8]
    /// A name for people.
    public var name: String
    /// The user on whose behalf it speaks.
    public var principal: Principal
    /// Groups it belongs to besides those of the rows.
    public var groups: [Principal]
    /// Roles it carries.
    public var roles: Set<Role>
    /// When it ends, if ever.
    public var expiresAt: Date?
    /// Set by the store of rows.
    public var createdAt: Date
    /// The key that this one took the place of, if that may still be used for a while.
    public var previousKey: PreviousKey?

    /// A key that was replaced.
    public struct PreviousKey: Sendable, Equatable {
        /// The public part.
        public var prefix: String
        /// SHA-256 of the whole key's text, 32 bytes.
        public var hash: [UInt8]
        /// When it ends.
        public var expiresAt: Date

        /// Puts it together.
        public init(prefix: String, hash: [UInt8], expiresAt: Date) {
            self.prefix = prefix
            self.hash = hash
            self.expiresAt = expiresAt
        }
    }

    /// Puts a key together.
    public init(
        id: UUID, prefix: String, hash: [UInt8], name: String, principal: Principal, groups: [Principal] = [],
        roles: Set<Role> = [], expiresAt: Date? = nil, createdAt: Date
    ) {
        self.id = id
        self.prefix = prefix
        self.hash = hash
        self.name = name
        self.principal = principal
        self.groups = groups
        self.roles = roles
        self.expiresAt = expiresAt
        self.createdAt = createdAt
    }
}

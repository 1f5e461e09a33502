public import FoundationEssentials
public import LibCrypto

/// An API key as it is stored, without the key itself.
///
/// The key that its owner receives is `sluice_<prefix>_<secret>`. `prefix` is 12 characters of `a-z0-9`, public and
/// unique; `secret` is 256 random bits in base64url without padding.
public struct APIKey: Sendable, Equatable {
    /// Unique identifier.
    public var id: UUID
    /// Public part of the key.
    public var prefix: String
    /// SHA-256 of the whole key's text.
    public var hash: Digest
    /// A name for people.
    public var name: String
    /// The user that the key acts for.
    public var principal: Principal
    /// Groups of the key, in addition to the memberships stored as rows.
    public var groups: [Principal]
    private var authority: Rare<Authority>
    /// When the key expires; `nil` for never.
    public var expiresAt: Date?
    /// When the key was created. The store of rows sets it.
    public var createdAt: Date
    private var previous = Rare<PreviousKey>.none

    /// What a key may administer.
    private struct Authority: Sendable, Equatable {
        var roles: Set<Role>
        var scopes: [AdminScope]?
    }

    private static func authority(_ roles: Set<Role>, in scopes: [AdminScope]?) -> Rare<Authority> {
        Rare(roles.isEmpty && scopes == nil ? nil : Authority(roles: roles, scopes: scopes))
    }

    /// Roles of the key.
    public var roles: Set<Role> {
        get { authority.value?.roles ?? [] }
        set { authority = Self.authority(newValue, in: adminScopes) }
    }

    /// The scopes to which the roles are limited; `nil` for roles without limits.
    public var adminScopes: [AdminScope]? {
        get { authority.value?.scopes }
        set { authority = Self.authority(roles, in: newValue) }
    }

    /// The key that this one replaced, if it remains valid for a while.
    public var previousKey: PreviousKey? {
        get { previous.value }
        set { previous = Rare(newValue) }
    }

    /// The roles, each with the key's scopes.
    public var conferred: [ConferredRole] {
        roles.isEmpty ? [] : Role.allCases.filter(roles.contains).map { ConferredRole($0, in: adminScopes) }
    }

    /// A key that was replaced.
    public struct PreviousKey: Sendable, Equatable {
        /// Public part of the replaced key.
        public var prefix: String
        /// SHA-256 of the whole key's text.
        public var hash: Digest
        /// When the replaced key expires.
        public var expiresAt: Date

        /// Creates the record of a replaced key.
        public init(prefix: String, hash: Digest, expiresAt: Date) {
            self.prefix = prefix
            self.hash = hash
            self.expiresAt = expiresAt
        }
    }

    /// Creates an API key.
    public init(
        id: UUID, prefix: String, hash: Digest, name: String, principal: Principal, groups: [Principal] = [],
        roles: Set<Role> = [], adminScopes: [AdminScope]? = nil, expiresAt: Date? = nil, createdAt: Date
    ) {
        self.id = id
        self.prefix = prefix
        self.hash = hash
        self.name = name
        self.principal = principal
        self.groups = groups
        authority = Self.authority(roles, in: adminScopes)
        self.expiresAt = expiresAt
        self.createdAt = createdAt
    }
}

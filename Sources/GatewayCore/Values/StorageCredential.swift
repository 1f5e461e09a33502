public import FoundationEssentials

/// A credential that a store issued to the gateway for signing.
public struct StorageCredential: Sendable, Equatable {
    /// Kinds of secrets.
    public enum Kind: String, Sendable, CaseIterable, Codable {
        /// An access key ID and its secret text.
        case accessKey = "access-key"
        /// A service account of Google Cloud: its e-mail address, and its private RSA key in PEM.
        case serviceAccount = "service-account"
        /// A key pair of Amazon CloudFront: the identifier of its public key, and the private RSA key in PEM.
        case keyPair = "key-pair"
    }

    /// Unique identifier.
    public var id: UUID
    /// Unique name for people.
    public var name: String
    /// The kind of its secret.
    public var kind: Kind
    /// Public part: the access key ID, the e-mail address of the service account, or the identifier of the key pair.
    public var accessKeyID: String
    /// Secret part. It is sealed at rest and never shown again.
    public var secretAccessKey: Secret<String>
    /// Session token, if the credential is temporary.
    public var sessionToken: Secret<String>?
    /// When temporary credentials expire. A URL signed with them expires no later.
    public var expiresAt: Date?
    /// The role that the credential assumes to open sessions for app users, if any.
    public var sessionRole: SessionRole?
    /// When the credential was created. The store of rows sets it.
    public var createdAt: Date
    /// The key that this one replaced, if any. The store of rows sets it.
    public var previousKey: PreviousKey?

    /// A key that was replaced.
    public struct PreviousKey: Sendable, Equatable {
        /// Public part of the replaced key. The keys of a service account have the same one.
        public var accessKeyID: String
        /// Instant after which no URL signed with this key can be alive.
        public var neededUntil: Date

        /// Creates the record of a replaced key.
        public init(accessKeyID: String, neededUntil: Date) {
            self.accessKeyID = accessKeyID
            self.neededUntil = neededUntil
        }
    }

    /// Creates a storage credential.
    public init(
        id: UUID, name: String, kind: Kind = .accessKey, accessKeyID: String, secretAccessKey: Secret<String>,
        sessionToken: Secret<String>? = nil, expiresAt: Date? = nil, sessionRole: SessionRole? = nil, createdAt: Date
    ) {
        self.id = id
        self.name = name
        self.kind = kind
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiresAt = expiresAt
        self.sessionRole = sessionRole
        self.createdAt = createdAt
    }
}

public import FoundationEssentials

/// What an admin enters for a storage credential: all of a new one, or what replaces the parts of an existing one.
///
/// An access key and its secret are entered together, so that a change never signs with half of an old key. A role's
/// endpoint receives requests that the secret signs, so a new endpoint requires the secret again.
public struct CredentialEntry: Sendable {
    /// The key of a service account, as Google Cloud exports it.
    public struct ServiceAccount: Sendable {
        /// The account's e-mail address.
        public var email: String
        /// The private RSA key in PEM.
        public var privateKey: Secret<String>

        /// Creates a key.
        public init(email: String, privateKey: Secret<String>) {
            self.email = email
            self.privateKey = privateKey
        }
    }

    /// A key pair of Amazon CloudFront.
    public struct KeyPair: Sendable {
        /// Identifier of the public key.
        public var id: String
        /// The private RSA key in PEM.
        public var privateKey: Secret<String>

        /// Creates a key pair.
        public init(id: String, privateKey: Secret<String>) {
            self.id = id
            self.privateKey = privateKey
        }
    }

    /// The name for people.
    public var name: String
    /// The access key ID, new or repeated.
    public var accessKeyID: String?
    /// The secret of that access key.
    public var secretAccessKey: Secret<String>?
    /// The key of a service account, in place of an access key.
    public var serviceAccount: ServiceAccount?
    /// A key pair, in place of an access key.
    public var keyPair: KeyPair?
    /// The session token of a temporary key.
    public var sessionToken: Secret<String>?
    /// When a temporary key expires.
    public var expiresAt: Date?
    /// The role for sessions.
    public var sessionRole: SessionRole?

    /// Creates an entry.
    public init(
        name: String, accessKeyID: String?, secretAccessKey: Secret<String>?, serviceAccount: ServiceAccount?,
        keyPair: KeyPair?, sessionToken: Secret<String>?, expiresAt: Date?, sessionRole: SessionRole?
    ) {
        self.name = name
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.serviceAccount = serviceAccount
        self.keyPair = keyPair
        self.sessionToken = sessionToken
        self.expiresAt = expiresAt
        self.sessionRole = sessionRole
    }

    /// Makes a new credential.
    ///
    /// - Throws: `invalidArgument` with the member that is missing, or that contradicts another.
    public func credential(id: UUID, createdAt: Date) throws(GatewayError) -> StorageCredential {
        credential(id: id, key: try enteredKey(), token: sessionToken, createdAt: createdAt)
    }

    /// Makes the credential that replaces another. It keeps the key of the old one if no key was entered.
    ///
    /// - Throws: `invalidArgument` with the member that is missing, or that must not change.
    public func credential(over old: StorageCredential) throws(GatewayError) -> StorageCredential {
        var new: StorageCredential
        if let key = try newKey(over: old) {
            new = credential(id: old.id, key: key, token: sessionToken, createdAt: old.createdAt)
        } else {
            try require(
                sessionToken == nil, "secretAccessKey", "A new session token requires its 'secretAccessKey'.")
            try require(
                sessionRole == nil || sessionRole?.endpoint == old.sessionRole?.endpoint, "secretAccessKey",
                "A new endpoint of the role requires 'secretAccessKey'.")
            let key = Key(kind: old.kind, accessKeyID: old.accessKeyID, secret: old.secretAccessKey)
            new = credential(id: old.id, key: key, token: old.sessionToken, createdAt: old.createdAt)
        }
        new.previousKey = old.previousKey
        return new
    }

    private struct Key {
        var kind: StorageCredential.Kind
        var accessKeyID: String
        var secret: Secret<String>
    }

    private func credential(id: UUID, key: Key, token: Secret<String>?, createdAt: Date) -> StorageCredential {
        StorageCredential(
            id: id, name: name, kind: key.kind, accessKeyID: key.accessKeyID, secretAccessKey: key.secret,
            sessionToken: token, expiresAt: expiresAt, sessionRole: sessionRole, createdAt: createdAt)
    }

    private func enteredKey() throws(GatewayError) -> Key {
        if let key = keyOfPrivateKey {
            for (field, isAbsent) in [
                ("accessKeyID", accessKeyID == nil), ("secretAccessKey", secretAccessKey == nil),
                ("keyPair", keyPair == nil || serviceAccount == nil),
            ] {
                try require(isAbsent, field, "Send only one of an access key, a service account and a key pair.")
            }
            return key
        }
        guard let accessKeyID else { throw .missing("accessKeyID") }
        guard let secretAccessKey else { throw .missing("secretAccessKey") }
        return Key(kind: .accessKey, accessKeyID: accessKeyID, secret: secretAccessKey)
    }

    /// The entered key, if it is a private key with its name.
    private var keyOfPrivateKey: Key? {
        if let serviceAccount {
            return Key(kind: .serviceAccount, accessKeyID: serviceAccount.email, secret: serviceAccount.privateKey)
        }
        return keyPair.map { Key(kind: .keyPair, accessKeyID: $0.id, secret: $0.privateKey) }
    }

    /// Returns the key that was entered in place of another of the same kind; `nil` if the old key stays.
    private func newKey(over old: StorageCredential) throws(GatewayError) -> Key? {
        var entry = self
        let repeatsName = accessKeyID == nil || accessKeyID == old.accessKeyID
        if old.kind != .accessKey {
            try require(repeatsName, "accessKeyID", "The name of a private key can change only together with the key.")
            // A client may repeat the name as it read it. A new key brings its own.
            entry.accessKeyID = nil
        }
        guard entry.keyOfPrivateKey != nil || entry.secretAccessKey != nil else {
            try require(repeatsName, "secretAccessKey", "A new access key requires its 'secretAccessKey'.")
            return nil
        }
        let key = try entry.enteredKey()
        try require(
            key.kind == old.kind, key.kind == .keyPair ? "keyPair" : "serviceAccount",
            "The kind of a credential cannot change; create another credential.")
        return key
    }
}

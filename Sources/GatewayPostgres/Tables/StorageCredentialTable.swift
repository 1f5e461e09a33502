import FoundationEssentials
import GatewayCore
import LibPQ

/// The table `storage_credentials`. Statements of an instance open sealed secrets.
struct StorageCredentialTable: Sendable {
    /// The values that a row is written with.
    struct Writing: Sendable {
        var credential: StorageCredential
        var sealed: SealedBytes
        /// JSON.
        var role: String?
    }

    /// The columns that signing needs, in the order in which ``SealedStorageCredential/init(_:)`` reads them.
    static let columns = Columns<Writing>(
        Column("id", as: "id") { $0.credential.id },
        Column("name", as: "name") { $0.credential.name },
        Column("access_key_id", as: "accessKeyID") { $0.credential.accessKeyID },
        Column("sealed") { $0.sealed.bytes },
        Column("key_id") { $0.sealed.keyID },
        Column("expires_at", as: "expiresAt") { $0.credential.expiresAt },
        Column("kind", as: "kind", isFixed: true) { $0.credential.kind.rawValue },
        Column("session_role", as: "sessionRole", .json) { $0.role },
        Column("created_at", as: "createdAt"))

    /// These columns and those that only admins see. The database keeps the previous key.
    private static let all = columns.adding(
        Column("previous_access_key_id", as: "previousAccessKeyID"),
        Column("previous_needed_until", as: "previousNeededUntil"))

    static let listing = PagedList(
        of: .storageCredential,
        filters: [
            .text("name", is: "c.name"), .text("kind", is: "c.kind"),
            .instant("expiresBefore") { "c.expires_at < \($0)" },
        ],
        order: [.uuid("c.id")], isDescending: true)

    let read: Statement<String, Stored<StorageCredential>>
    let page: Statement<PageRequest, StorageCredential>

    init(keys: MasterKeyRing) {
        let open = SealedStorageCredential.decoder(keys)
        let decode: @Sendable (inout PostgresRow) throws(PostgresError) -> StorageCredential = {
            row throws(PostgresError) in
            var credential = try open(&row)
            credential.previousKey = try StorageCredential.PreviousKey(&row)
            return credential
        }
        read = AdminStatements.read(
            "c.revision", Self.all.selected(of: "c"), from: "storage_credentials c WHERE c.id = $1::text::uuid", decode)
        page = AdminStatements.page(
            of: Self.listing, Self.all.selected(of: "c"), from: "storage_credentials c", decode)
    }

    static let insert = columns.insert(into: "storage_credentials")

    /// Updates a credential. If the key changes, the row keeps the previous key and the time until which URLs signed
    /// with it may live at most: no bucket tells how long the URLs were that it signed before.
    ///
    /// A service account keeps its address when it gets another private key. Any other identifier is that of one key,
    /// so another secret under it corrects the row.
    static let update: Statement<(writing: Writing, hasNewPrivateKey: Bool), Void> = {
        let written = columns.updated
        let isNewKey = "(c.access_key_id <> \(written.parameter(of: "access_key_id")) OR \(written.nextParameter))"
        return Statement(
            """
            UPDATE storage_credentials c SET \(written.assignments),
                previous_access_key_id = CASE WHEN \(isNewKey) THEN c.access_key_id ELSE c.previous_access_key_id END,
                previous_needed_until = CASE WHEN \(isNewKey) THEN clock_timestamp() + \(LedgerLife.longest)
                    ELSE c.previous_needed_until END,
                rotated_change = CASE WHEN \(isNewKey) THEN current_policy_change() ELSE c.rotated_change END,
                revision = gen_random_uuid()
            WHERE c.\(written.isIdentified)
            """
        ) { written.parameters(of: $0.writing) + [$0.hasNewPrivateKey] }
    }()

    static let lock = AdminStatements.lock(
        scope: PolicyScope.sql(.credential, "c.id::text"), revision: "c.revision",
        from: "storage_credentials c WHERE c.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM storage_credentials c WHERE c.id = $1::text::uuid") {
        [$0]
    }

    static let document = AdminStatements.document(
        all.document, from: "storage_credentials r WHERE r.id = $1::text::uuid")
}

extension StorageCredentialTable.Writing {
    /// Seals the secret half of a credential.
    fileprivate init(_ credential: StorageCredential, sealedWith keys: MasterKeyRing) throws {
        self.credential = credential
        let secrets = SealedStorageCredential.Secrets(
            secretAccessKey: credential.secretAccessKey.reveal(), sessionToken: credential.sessionToken?.reveal())
        sealed = try keys.seal(Array(JSONEncoder().encode(secrets)), in: .storageCredential(credential.id))
        role = try credential.sessionRole.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
    }
}

/// A storage credential as its row holds it.
struct SealedStorageCredential: SealedRow {
    /// The sealed half, encoded as JSON.
    fileprivate struct Secrets: Codable {
        var secretAccessKey: String
        var sessionToken: String?
    }

    let id: UUID
    private let name: String
    private let accessKeyID: String
    private let sealed: SealedBytes
    private let expiresAt: Date?
    private let kind: StorageCredential.Kind
    private let sessionRole: SessionRole?
    private let createdAt: Date

    /// Reads the columns of ``StorageCredentialTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        id = try row.next()
        name = try row.next()
        accessKeyID = try row.next()
        sealed = SealedBytes(bytes: try row.next(), keyID: try row.next())
        expiresAt = try row.next()
        kind = try row.nextWord()
        sessionRole = try row.nextJSON(in: "credential \(id.lowercaseText)")
        createdAt = try row.next()
    }

    /// Opens the sealed half.
    func opened(with keys: MasterKeyRing) throws(MasterKeyError) -> StorageCredential {
        let bytes = try keys.open(sealed, in: .storageCredential(id))
        guard let secrets = try? JSONDecoder().decode(Secrets.self, from: Data(bytes)) else {
            throw .doesNotOpen(keyID: sealed.keyID)
        }
        return StorageCredential(
            id: id, name: name, kind: kind, accessKeyID: accessKeyID,
            secretAccessKey: Secret(secrets.secretAccessKey),
            sessionToken: secrets.sessionToken.map { Secret($0) }, expiresAt: expiresAt, sessionRole: sessionRole,
            createdAt: createdAt)
    }
}

extension StorageCredential.PreviousKey {
    /// Reads the columns of the previous key. Returns `nil` if there is none.
    fileprivate init?(_ row: inout PostgresRow) throws(PostgresError) {
        let accessKeyID: String? = try row.next()
        let neededUntil: Date? = try row.next()
        guard let accessKeyID, let neededUntil else { return nil }
        self.init(accessKeyID: accessKeyID, neededUntil: neededUntil)
    }
}

extension AdminTable<StorageCredential> {
    static func storageCredentials(keys: MasterKeyRing) -> Self {
        let table = StorageCredentialTable(keys: keys)
        return AdminTable(
            kind: .storageCredential, listing: StorageCredentialTable.listing,
            position: { [$0.id.lowercaseText] }, identifier: { $0.id.lowercaseText },
            isIdentifier: isLowerCaseUUID, referenceConflict: "A bucket uses the credential.",
            insert: { credential, transaction in
                try transaction.perform(StorageCredentialTable.insert, .init(credential, sealedWith: keys))
            },
            read: table.read, page: table.page, lockRow: StorageCredentialTable.lock,
            update: { change, transaction in
                let writing = try StorageCredentialTable.Writing(change.row, sealedWith: keys)
                let hasNewPrivateKey = change.row.kind == .serviceAccount && !change.changedSecrets.isEmpty
                try transaction.perform(StorageCredentialTable.update, (writing, hasNewPrivateKey))
            },
            delete: { removal, transaction in
                try transaction.perform(StorageCredentialTable.delete, removal.id)
            },
            document: StorageCredentialTable.document, changedSecrets: { old, new in new.changedSecrets(from: old) })
    }
}

extension StorageCredential {
    /// The members, as requests name them, whose secrets another state has not or has differently.
    fileprivate func changedSecrets(from old: StorageCredential) -> [String] {
        let secret =
            switch kind {
            case .accessKey: "secretAccessKey"
            case .serviceAccount: "serviceAccount.private_key"
            case .keyPair: "keyPair.privateKey"
            }
        return (secretAccessKey == old.secretAccessKey ? [] : [secret])
            + (sessionToken == old.sessionToken ? [] : ["sessionToken"])
    }
}

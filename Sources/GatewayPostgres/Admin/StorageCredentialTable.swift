import Foundation
import GatewayCore
import LibPQ

/// Statements about credentials of stores; those that read open what is sealed.
struct StorageCredentialStatements: Sendable {
    let read: Statement<String, Stored<StorageCredential>>
    let page: Statement<PageRequest, StorageCredential>

    /// What admins see besides what signing takes.
    private static let columns = """
        c.previous_access_key_id, c.previous_needed_until, \(StorageCredentialRow.columns)
        """

    init(keys: MasterKeyRing) {
        let decode: @Sendable (borrowing PostgresRow, Int) throws(PostgresError) -> StorageCredential = {
            row, first throws(PostgresError) in
            let stored = try StorageCredentialRow(row, from: first + 2)
            let previous = try StorageCredential.PreviousKey(row, from: first)
            do throws(MasterKeyError) {
                var credential = try stored.opened(with: keys)
                credential.previousKey = previous
                return credential
            } catch {
                throw .decoding(column: first + 5, reason: "credential \(stored.id): \(error)")
            }
        }
        read = AdminStatements.read(
            "c.revision", Self.columns, from: "storage_credentials c WHERE c.id = $1::text::uuid", decode)
        page = Statement(
            """
            SELECT \(Self.columns) FROM storage_credentials c
            WHERE ($1::text IS NULL OR c.name = $1) AND ($2::text IS NULL OR c.kind = $2)
                AND ($3::text IS NULL OR c.id > $3::text::uuid)
            ORDER BY c.id LIMIT $4
            """, onlyReads: true
        ) {
            $0.parameters
        } decode: { row throws(PostgresError) in
            try decode(row, 0)
        }
    }

    static let insert = Statement<(credential: StorageCredential, sealed: SealedBytes, role: String?), Void>(
        """
        INSERT INTO storage_credentials (id, name, access_key_id, sealed, key_id, expires_at, kind, session_role)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb)
        """
    ) {
        [
            $0.credential.id, $0.credential.name, $0.credential.accessKeyID, $0.sealed.bytes, $0.sealed.keyID,
            $0.credential.expiresAt, $0.credential.secretKind.rawValue, $0.role,
        ]
    }

    /// Where the key changes, remembers the former one and until when URLs may live that it signed: as long as the longest
    /// life on any bucket that uses the credential.
    static let update = Statement<(credential: StorageCredential, sealed: SealedBytes, role: String?), Void>(
        """
        UPDATE storage_credentials c SET name = $2, access_key_id = $3, sealed = $4, key_id = $5, expires_at = $6,
            session_role = $7::text::jsonb,
            previous_access_key_id = CASE WHEN c.access_key_id <> $3 THEN c.access_key_id ELSE c.previous_access_key_id END,
            previous_needed_until = CASE WHEN c.access_key_id <> $3 THEN clock_timestamp() + make_interval(secs => (
                SELECT coalesce(max(b.max_ttl), 0) FROM buckets b WHERE b.credential_id = c.id
            )) ELSE c.previous_needed_until END,
            rotated_change = CASE WHEN c.access_key_id <> $3 THEN current_policy_change() ELSE c.rotated_change END,
            revision = gen_random_uuid()
        WHERE c.id = $1
        """
    ) {
        [
            $0.credential.id, $0.credential.name, $0.credential.accessKeyID, $0.sealed.bytes, $0.sealed.keyID,
            $0.credential.expiresAt, $0.role,
        ]
    }

    static let lock = AdminStatements.lock(
        scope: "'credential:' || c.id::text", revision: "c.revision",
        from: "storage_credentials c WHERE c.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM storage_credentials c WHERE c.id = $1::text::uuid") {
        [$0]
    }

    static let document = AdminStatements.document(
        """
        'id', r.id, 'name', r.name, 'kind', r.kind, 'accessKeyID', r.access_key_id, 'expiresAt', r.expires_at,
        'previousAccessKeyID', r.previous_access_key_id, 'previousNeededUntil', r.previous_needed_until,
        'sessionRole', r.session_role, 'createdAt', r.created_at
        """,
        from: "storage_credentials r WHERE r.id = $1::text::uuid")
}

extension StorageCredential.PreviousKey {
    fileprivate init?(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        guard let accessKeyID = try row.decode(first, as: String?.self),
            let neededUntil = try row.decode(first + 1, as: Date?.self)
        else { return nil }
        self.init(accessKeyID: accessKeyID, neededUntil: neededUntil)
    }
}

extension AdminTable<StorageCredential> {
    static func storageCredentials(keys: MasterKeyRing) -> Self {
        let statements = StorageCredentialStatements(keys: keys)
        return AdminTable(
            kind: .storageCredential, filters: [.text("name"), .text("kind")], order: [.uuid("id")],
            position: { [$0.id.uuidString.lowercased()] }, identifier: { $0.id.uuidString.lowercased() },
            isIdentifier: AdminColumn.isLowerCaseUUID,
            referenceConflict: "A bucket uses the credential.",
            insert: { credential, transaction in
                let sealed = try StorageCredentialRow.seal(credential, with: keys)
                try transaction.perform(
                    StorageCredentialStatements.insert, (credential, sealed, role(of: credential)))
            }, read: statements.read, page: statements.page, lockRow: StorageCredentialStatements.lock,
            update: { change, transaction in
                let sealed = try StorageCredentialRow.seal(change.row, with: keys)
                try transaction.perform(StorageCredentialStatements.update, (change.row, sealed, role(of: change.row)))
            },
            delete: { removal, transaction in
                try transaction.perform(StorageCredentialStatements.delete, removal.id)
            }, document: StorageCredentialStatements.document)
    }

    private static func role(of credential: StorageCredential) throws -> String? {
        try credential.sessionRole.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
    }
}

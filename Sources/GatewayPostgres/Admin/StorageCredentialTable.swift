import Foundation
import GatewayCore
import LibPQ

/// Statements about credentials of stores; those that read open what is sealed.
struct StorageCredentialStatements: Sendable {
    let read: Statement<String, StorageCredential>
    let page: Statement<PageRequest, StorageCredential>

    init(keys: MasterKeyRing) {
        let decode: @Sendable (borrowing PostgresRow) throws(PostgresError) -> StorageCredential = {
            row throws(PostgresError) in
            let stored = try StorageCredentialRow(row, from: 0)
            do throws(MasterKeyError) {
                return try stored.opened(with: keys)
            } catch {
                throw .decoding(column: 3, reason: "credential \(stored.id): \(error)")
            }
        }
        read = Statement(
            "SELECT \(StorageCredentialRow.columns) FROM storage_credentials c WHERE c.id = $1::text::uuid",
            encode: { [$0] }, decode: decode)
        page = Statement(
            """
            SELECT \(StorageCredentialRow.columns) FROM storage_credentials c
            WHERE ($1::text IS NULL OR c.name = $1) AND ($2::text IS NULL OR c.id > $2::text::uuid)
            ORDER BY c.id LIMIT $3
            """, encode: \.parameters, decode: decode)
    }

    static let insert = Statement<(credential: StorageCredential, sealed: SealedBytes, role: String?), Date>(
        """
        INSERT INTO storage_credentials (id, name, access_key_id, sealed, key_id, expires_at, kind, session_role)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb)
        RETURNING created_at
        """
    ) {
        [
            $0.credential.id, $0.credential.name, $0.credential.accessKeyID, $0.sealed.bytes, $0.sealed.keyID,
            $0.credential.expiresAt, $0.credential.secretKind.rawValue, $0.role,
        ]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let lock = AdminStatements.lock(
        scope: "'credential:' || c.id::text", from: "storage_credentials c WHERE c.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM storage_credentials c WHERE c.id = $1::text::uuid") {
        [$0]
    }

    static let audit = AdminStatements.audit(
        "StorageCredential",
        members: """
            'id', r.id, 'name', r.name, 'kind', r.kind, 'accessKeyID', r.access_key_id, 'expiresAt', r.expires_at,
            'sessionRole', r.session_role, 'createdAt', r.created_at
            """,
        from: "storage_credentials r WHERE r.id = $3::text::uuid")
}

extension AdminTable<StorageCredential> {
    static func storageCredentials(keys: MasterKeyRing) -> Self {
        let statements = StorageCredentialStatements(keys: keys)
        return AdminTable(
            kind: .storageCredential, filters: [.text("name")], order: [.uuid("id")],
            position: { [$0.id.uuidString.lowercased()] }, identifier: { $0.id.uuidString.lowercased() },
            isIdentifier: AdminColumn.isLowerCaseUUID, createdAt: \.createdAt,
            referenceConflict: "A bucket uses the credential.",
            insert: { credential, transaction in
                let sealed = try StorageCredentialRow.seal(credential, with: keys)
                let role = try credential.sessionRole.map {
                    String(decoding: try JSONEncoder().encode($0), as: UTF8.self)
                }
                return try transaction.execute(StorageCredentialStatements.insert, (credential, sealed, role))
            }, read: statements.read, page: statements.page, lockRow: StorageCredentialStatements.lock,
            delete: { removal, transaction in
                try transaction.perform(StorageCredentialStatements.delete, removal.id)
            }, audit: StorageCredentialStatements.audit)
    }
}

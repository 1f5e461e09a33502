import Foundation
import GatewayCore
import LibPQ

/// Statements about API keys.
enum APIKeyStatements {
    private static let columns = WrittenColumns(
        "id", "prefix", "hash", "name", "principal", "groups", "roles", "expires_at", "previous_prefix",
        "previous_hash", "previous_expires_at")

    private static func values(of key: APIKey) -> [any PostgresValue] {
        [
            key.id, key.prefix, key.hash, key.name, key.principal.rawValue, key.groups.map(\.rawValue),
            key.roles.map(\.rawValue).sorted(), key.expiresAt, key.previousKey?.prefix, key.previousKey?.hash,
            key.previousKey?.expiresAt,
        ]
    }

    /// What admins see besides what is checked.
    private static let columnsForAdmins = """
        k.previous_prefix, k.previous_hash, k.previous_expires_at, \(APIKey.columns)
        """

    static let insert = Statement<APIKey, Void>("INSERT INTO api_keys \(columns.insertion)", encode: values)

    static let update = Statement<APIKey, Void>("UPDATE api_keys \(columns.assignment)", encode: values)

    static let read = AdminStatements.read(
        "k.revision", columnsForAdmins, from: "api_keys k WHERE k.id = $1::text::uuid"
    ) { row, first throws(PostgresError) in try APIKey(forAdmins: row, from: first) }

    static let page = Statement<PageRequest, APIKey>(
        """
        SELECT \(columnsForAdmins) FROM api_keys k
        WHERE ($1::text IS NULL OR k.principal = $1) AND ($2::text IS NULL OR k.prefix = $2)
            AND ($3::text IS NULL OR k.roles @> ARRAY[$3::text])
            AND ($4::text IS NULL OR coalesce(k.expires_at > $4::text::timestamptz, true))
            AND ($5::text IS NULL OR k.id > $5::text::uuid)
        ORDER BY k.id LIMIT $6
        """, onlyReads: true
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try APIKey(forAdmins: row, from: 0)
    }

    static let lock = AdminStatements.lock(
        scopes: "array_remove(ARRAY['apikey:' || k.prefix, 'apikey:' || k.previous_prefix], NULL)",
        revision: "k.revision", from: "api_keys k WHERE k.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM api_keys k WHERE k.id = $1::text::uuid") { [$0] }

    static let document = AdminStatements.document(
        """
        'id', r.id, 'prefix', r.prefix, 'name', r.name, 'principal', r.principal, 'groups', r.groups,
        'roles', r.roles, 'expiresAt', r.expires_at, 'createdAt', r.created_at, 'previousPrefix', r.previous_prefix,
        'previousExpiresAt', r.previous_expires_at
        """,
        from: "api_keys r WHERE r.id = $1::text::uuid")
}

extension APIKey {
    fileprivate init(forAdmins row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        try self.init(row, from: first + 3)
        if let prefix = try row.decode(first, as: String?.self),
            let hash = try row.decode(first + 1, as: [UInt8]?.self),
            let expiresAt = try row.decode(first + 2, as: Date?.self)
        {
            previousKey = PreviousKey(prefix: prefix, hash: hash, expiresAt: expiresAt)
        }
    }
}

extension AdminTable<APIKey> {
    static var apiKeys: Self {
        AdminTable(
            kind: .apiKey, filters: [.text("principal"), .text("prefix"), .text("role"), .instant("activeAt")],
            order: [.uuid("id")],
            position: { [$0.id.uuidString.lowercased()] }, identifier: { $0.id.uuidString.lowercased() },
            isIdentifier: AdminColumn.isLowerCaseUUID,
            referenceConflict: "Something refers to the key.",
            insert: { key, transaction in try transaction.perform(APIKeyStatements.insert, key) },
            read: APIKeyStatements.read, page: APIKeyStatements.page, lockRow: APIKeyStatements.lock,
            update: { change, transaction in try transaction.perform(APIKeyStatements.update, change.row) },
            delete: { removal, transaction in try transaction.perform(APIKeyStatements.delete, removal.id) },
            document: APIKeyStatements.document)
    }
}

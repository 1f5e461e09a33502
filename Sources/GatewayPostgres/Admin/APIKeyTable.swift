import Foundation
import GatewayCore
import LibPQ

/// Statements about API keys.
enum APIKeyStatements {
    private static let columns = WrittenColumns(
        "id", "prefix", "hash", "name", "principal", "groups", "roles", "expires_at")

    private static func values(of key: APIKey) -> [any PostgresValue] {
        [
            key.id, key.prefix, key.hash, key.name, key.principal.rawValue, key.groups.map(\.rawValue),
            key.roles.map(\.rawValue).sorted(), key.expiresAt,
        ]
    }

    static let insert = Statement<APIKey, Void>("INSERT INTO api_keys \(columns.insertion)", encode: values)

    static let update = Statement<APIKey, Void>("UPDATE api_keys \(columns.assignment)", encode: values)

    static let read = AdminStatements.read(
        "k.revision", APIKey.columns, from: "api_keys k WHERE k.id = $1::text::uuid"
    ) { row, first throws(PostgresError) in try APIKey(row, from: first) }

    static let page = Statement<PageRequest, APIKey>(
        """
        SELECT \(APIKey.columns) FROM api_keys k
        WHERE ($1::text IS NULL OR k.principal = $1) AND ($2::text IS NULL OR k.prefix = $2)
            AND ($3::text IS NULL OR k.roles @> ARRAY[$3::text])
            AND ($4::text IS NULL OR coalesce(k.expires_at > $4::text::timestamptz, true))
            AND ($5::text IS NULL OR k.id > $5::text::uuid)
        ORDER BY k.id LIMIT $6
        """
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try APIKey(row, from: 0)
    }

    static let lock = AdminStatements.lock(
        scope: "'apikey:' || k.prefix", revision: "k.revision", from: "api_keys k WHERE k.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM api_keys k WHERE k.id = $1::text::uuid") { [$0] }

    static let document = AdminStatements.document(
        """
        'id', r.id, 'prefix', r.prefix, 'name', r.name, 'principal', r.principal, 'groups', r.groups,
        'roles', r.roles, 'expiresAt', r.expires_at, 'createdAt', r.created_at
        """,
        from: "api_keys r WHERE r.id = $1::text::uuid")
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

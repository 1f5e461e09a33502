import Foundation
import GatewayCore
import LibPQ

/// Statements about API keys.
enum APIKeyStatements {
    static let insert = Statement<APIKey, Date>(
        """
        INSERT INTO api_keys (id, prefix, hash, name, principal, groups, roles, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        RETURNING created_at
        """
    ) {
        [
            $0.id, $0.prefix, $0.hash, $0.name, $0.principal.rawValue, $0.groups.map(\.rawValue),
            $0.roles.map(\.rawValue).sorted(), $0.expiresAt,
        ]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let read = Statement<String, APIKey>(
        "SELECT \(APIKey.columns) FROM api_keys k WHERE k.id = $1::text::uuid"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try APIKey(row, from: 0)
    }

    static let page = Statement<PageRequest, APIKey>(
        """
        SELECT \(APIKey.columns) FROM api_keys k
        WHERE ($1::text IS NULL OR k.principal = $1) AND ($2::text IS NULL OR k.id > $2::text::uuid)
        ORDER BY k.id LIMIT $3
        """
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try APIKey(row, from: 0)
    }

    static let lock = AdminStatements.lock(
        scope: "'apikey:' || k.prefix", from: "api_keys k WHERE k.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM api_keys k WHERE k.id = $1::text::uuid") { [$0] }

    static let audit = AdminStatements.audit(
        "APIKey",
        members: """
            'id', r.id, 'prefix', r.prefix, 'name', r.name, 'principal', r.principal, 'groups', r.groups,
            'roles', r.roles, 'expiresAt', r.expires_at, 'createdAt', r.created_at
            """,
        from: "api_keys r WHERE r.id = $3::text::uuid")
}

extension AdminTable<APIKey> {
    static var apiKeys: Self {
        AdminTable(
            kind: .apiKey, filters: [.text("principal")], order: [.uuid("id")],
            position: { [$0.id.uuidString.lowercased()] }, identifier: { $0.id.uuidString.lowercased() },
            isIdentifier: AdminColumn.isLowerCaseUUID, createdAt: \.createdAt,
            referenceConflict: "Something refers to the key.",
            insert: { key, transaction in try transaction.execute(APIKeyStatements.insert, key) },
            read: APIKeyStatements.read, page: APIKeyStatements.page, lockRow: APIKeyStatements.lock,
            delete: { removal, transaction in try transaction.perform(APIKeyStatements.delete, removal.id) },
            audit: APIKeyStatements.audit)
    }
}

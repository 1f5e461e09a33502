import FoundationEssentials
import GatewayCore
import LibCrypto
import LibPQ

/// The table `api_keys`.
enum APIKeyTable {
    /// The columns that checks need, in the order in which ``APIKey/init(_:)`` reads them.
    static let columns = Columns<APIKey>(
        Column("id", as: "id") { $0.id },
        Column("prefix", as: "prefix") { $0.prefix },
        Column("hash") { $0.hash.bytes },
        Column("name", as: "name") { $0.name },
        Column("principal", as: "principal") { $0.principal.rawValue },
        Column("groups", as: "groups") { $0.groups.map(\.rawValue) },
        Column("roles", as: "roles") { $0.roles.map(\.rawValue).sorted() },
        Column("admin_scopes", as: "adminScopes", .json) { $0.adminScopes.map { jsonText($0) } },
        Column("expires_at", as: "expiresAt") { $0.expiresAt },
        Column("created_at", as: "createdAt"))

    /// These columns and those that only admins see, in the order in which ``APIKey/init(forAdmins:)`` reads them.
    private static let all = columns.adding(
        Column("previous_prefix", as: "previousPrefix") { $0.previousKey?.prefix },
        Column("previous_hash") { $0.previousKey?.hash.bytes },
        Column("previous_expires_at", as: "previousExpiresAt") { $0.previousKey?.expiresAt })

    /// Finds the key with a prefix, either its current or its previous one.
    ///
    /// - Parameter prefix: An SQL expression.
    static func named(_ prefix: String) -> String {
        let former = columns.selected(
            of: "r",
            replacing: [
                "prefix": "r.previous_prefix", "hash": "r.previous_hash", "admin_scopes": "r.admin_scopes",
                "expires_at": "least(r.expires_at, r.previous_expires_at)",
            ])
        return """
            SELECT \(columns.stored(of: "r")) FROM api_keys r WHERE r.prefix = \(prefix)
            UNION ALL
            SELECT \(former) FROM api_keys r WHERE r.previous_prefix = \(prefix)
            LIMIT 1
            """
    }

    static let insert = all.insert(into: "api_keys")

    static let update = all.update("api_keys")

    static let read = AdminStatements.read(
        "k.revision", all.selected(of: "k"), from: "api_keys k WHERE k.id = $1::text::uuid"
    ) { row throws(PostgresError) in try APIKey(forAdmins: &row) }

    static let listing = PagedList(
        of: .apiKey,
        filters: [
            .text("principal", is: "k.principal"), .text("prefix", is: "k.prefix"),
            .text("role") { "k.roles @> ARRAY[\($0)::text]" },
            .instant("activeAt") { "coalesce(k.expires_at > \($0), true)" },
            .instant("expiresBefore") { "k.expires_at < \($0)" },
        ],
        order: [.uuid("k.id")], isDescending: true)

    static let page = AdminStatements.page(
        of: listing, all.selected(of: "k"), from: "api_keys k"
    ) { row throws(PostgresError) in try APIKey(forAdmins: &row) }

    static let lock = AdminStatements.lock(
        scopes: """
            array_remove(ARRAY[
                \(PolicyScope.sql(.apiKey, "k.prefix")), \(PolicyScope.sql(.apiKey, "k.previous_prefix"))
            ], NULL)
            """,
        revision: "k.revision", from: "api_keys k WHERE k.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM api_keys k WHERE k.id = $1::text::uuid") { [$0] }

    static let document = AdminStatements.document(all.document, from: "api_keys r WHERE r.id = $1::text::uuid")
}

extension APIKey {
    /// Reads the columns of ``APIKeyTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        let id: UUID = try row.next()
        self.init(
            id: id, prefix: try row.next(), hash: try row.nextDigest(), name: try row.next(),
            principal: try row.nextParsed(Principal.init(_:)), groups: try row.nextList(Principal.init(_:)),
            roles: Set(try row.nextWords()), adminScopes: try row.nextJSON(in: "API key \(id.lowercaseText)"),
            expiresAt: try row.next(), createdAt: try row.next())
    }

    fileprivate init(forAdmins row: inout PostgresRow) throws(PostgresError) {
        try self.init(&row)
        let prefix: String? = try row.next()
        let hash = try row.nextDigestIfAny()
        let expiresAt: Date? = try row.next()
        if let prefix, let hash, let expiresAt {
            previousKey = PreviousKey(prefix: prefix, hash: hash, expiresAt: expiresAt)
        }
    }
}

extension AdminTable<APIKey> {
    static var apiKeys: Self {
        AdminTable(
            kind: .apiKey, listing: APIKeyTable.listing, position: { [$0.id.lowercaseText] },
            identifier: { $0.id.lowercaseText }, isIdentifier: isLowerCaseUUID,
            referenceConflict: "Something refers to the key.",
            insert: { key, transaction in try transaction.perform(APIKeyTable.insert, key) },
            read: APIKeyTable.read, page: APIKeyTable.page, lockRow: APIKeyTable.lock,
            update: { change, transaction in try transaction.perform(APIKeyTable.update, change.row) },
            delete: { removal, transaction in try transaction.perform(APIKeyTable.delete, removal.id) },
            document: APIKeyTable.document)
    }
}

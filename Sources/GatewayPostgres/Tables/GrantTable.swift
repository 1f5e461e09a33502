import FoundationEssentials
import GatewayCore
import LibPQ

/// The table `grants`. Statements for admins see only live grants.
enum GrantTable {
    /// The values that a row is written with.
    struct Writing: Sendable {
        var grant: Grant
        /// JSON.
        var conditions: String
        /// When the grant was created, if this is a new version of it; `nil` if the database sets the time.
        var createdAt: Date?
    }

    /// The columns, in the order in which ``UnparsedGrant`` reads them.
    static let columns = Columns<Writing>(
        Column("id") { $0.grant.id },
        Column("principal") { $0.grant.principal.rawValue },
        Column("bucket") { $0.grant.bucket.rawValue },
        Column("prefix") { $0.grant.prefix.text },
        Column("is_template") { $0.grant.prefix.isTemplate },
        Column("actions", .joinedWords) { $0.grant.actions.map(\.rawValue).sorted() },
        Column("effect") { $0.grant.effect.rawValue },
        Column("conditions", .sparseJSON) { $0.conditions },
        Column("not_before") { $0.grant.notBefore },
        Column("not_after") { $0.grant.notAfter },
        Column("note") { $0.grant.note },
        Column("created_by") { $0.grant.createdBy },
        Column("created_at", ColumnForm(write: { "coalesce(\($0), clock_timestamp())" })) { $0.createdAt })

    /// The columns whose values differ between the grants of one principal, in the order in which ``Grant/list(_:of:)``
    /// reads them.
    static let columnsOfPrincipal = columns.without("principal")

    /// Maximum number of templates of one principal in one bucket. Templates are expanded and compared one by one.
    static let maxTemplates: Int64 = 64
    static let tooManyTemplates = "A principal can have at most \(maxTemplates) templates in one bucket."

    static let insert = columns.insert(into: "grants")

    /// Locks the bucket against removal until the grant is committed. Returns no row if the bucket is gone.
    static let lockBucket = Statement<String, Bool>("SELECT true FROM buckets b WHERE b.name = $1 FOR KEY SHARE") {
        [$0]
    }

    /// Lets one transaction after another add templates for a principal and bucket.
    static let lockTemplates = Statement<(principal: String, bucket: String), Void>(
        "SELECT pg_advisory_xact_lock(\(AdvisoryLock.templatesForOne.key))"
    ) { [$0.principal, $0.bucket] }

    /// Keeps out transactions that add many templates, for many principals and buckets.
    static let shareTemplateLock = Statement<Void, Void>(
        "SELECT pg_advisory_xact_lock_shared(\(AdvisoryLock.templates.key))")

    /// Counts the live templates of a principal in a bucket. It is a separate statement, so that it sees templates
    /// committed by transactions that held the lock before.
    static let countTemplates = Statement<(principal: String, bucket: String), Int64>(
        """
        SELECT count(*) FROM grants g
        WHERE g.principal = $1 AND g.bucket = $2 AND g.is_template AND g.removed_at IS NULL
        """
    ) {
        [$0.principal, $0.bucket]
    }

    static let read: Statement<String, Stored<Grant>> = AdminStatements.read(
        "g.created_change", columns.selected(of: "g"),
        from: "grants g WHERE g.id = $1::text::uuid AND g.removed_at IS NULL")

    static let lock = AdminStatements.lock(
        scope: "g.principal", revision: "g.created_change",
        from: "grants g WHERE g.id = $1::text::uuid AND g.removed_at IS NULL")

    /// Ends a grant. Its row stays, to explain later why something was permitted.
    static let remove = Statement<Removal, Void>(
        """
        UPDATE grants
        SET removed_at = clock_timestamp(), removed_by = $2, removed_change = current_policy_change()
        WHERE id = $1::text::uuid AND removed_at IS NULL
        """
    ) { [$0.id, $0.actor] }

    static let document = Statement<String, String>(
        "SELECT grant_document(r)::text FROM grants r WHERE r.id = $1::text::uuid AND r.removed_at IS NULL"
    ) {
        [$0]
    }

    /// Finds another live grant that says the same, whatever its note, by the index that allows only one.
    static let twin: Statement<Grant, String> = {
        let sameActions = Action.allCases.indices.map { index in
            "('\(Action.allCases[index].rawValue)' = ANY (g.actions)) = $\(9 + index)"
        }
        return Statement(
            """
            SELECT g.id::text FROM grants g
            WHERE g.removed_at IS NULL AND g.id <> $1 AND g.principal = $2 AND g.bucket = $3 AND g.prefix = $4
                AND g.effect = $5 AND md5(g.conditions::text)::uuid = md5(($6::text::jsonb)::text)::uuid
                AND g.not_before IS NOT DISTINCT FROM $7::timestamptz AND g.not_after IS NOT DISTINCT FROM $8::timestamptz
                AND \(sameActions.joined(separator: " AND "))
            """, onlyReads: true
        ) { grant in
            let conditions = (try? JSONEncoder().encode(grant.conditions)).map { String(decoding: $0, as: UTF8.self) }
            let rest: [any PostgresValue] = [
                grant.id, grant.principal.rawValue, grant.bucket.rawValue, grant.prefix.text, grant.effect.rawValue,
                conditions ?? "{}", grant.notBefore, grant.notAfter,
            ]
            return rest + Action.allCases.map { action -> any PostgresValue in grant.actions.contains(action) }
        }
    }()

    /// The key of a grant `g`: principal, bucket, prefix, kind of prefix and effect. See `grant_key`.
    static let key = "grant_key(g.principal, g.bucket, g.prefix, g.is_template, g.effect)"

    /// The fingerprint of a grant `g`, over all its content. See `grant_fingerprint`.
    static let fingerprint = """
        grant_fingerprint(g.principal, g.bucket, g.prefix, g.is_template, g.effect, g.actions, g.conditions, g.not_before,
            g.not_after, g.note)
        """

    /// The rule of a grant `g`: the fingerprint of all but its note. No two live grants have the same.
    static let rule = """
        grant_fingerprint(g.principal, g.bucket, g.prefix, g.is_template, g.effect, g.actions, g.conditions, g.not_before,
            g.not_after, '')
        """
}

/// A grant as its row holds it.
private struct UnparsedGrant {
    var id: UUID
    var bucket: String
    var prefix: String
    var isTemplate: Bool
    /// Separated by commas.
    var actions: String
    var effect: String
    /// JSON; `nil` if there are none.
    var conditions: String?
    var notBefore: Date?
    var notAfter: Date?
    var note: String
    var createdBy: String
    var createdAt: Date

    /// Parses the grant.
    ///
    /// - Parameter column: The column that errors name if a member does not parse.
    func grant(of principal: Principal, column: Int) throws(PostgresError) -> Grant {
        var actions: Set<Action> = []
        for name in self.actions.utf8.split(separator: UInt8(ascii: ",")) {
            guard let action = Action(rawValue: String(Substring(name))) else {
                throw .decoding(column: column, reason: "\(row): an action that this version does not know")
            }
            actions.insert(action)
        }
        guard let effect = Grant.Effect(rawValue: effect) else {
            throw .decoding(column: column, reason: "\(row): malformed effect")
        }
        guard let bucket = try? BucketName(self.bucket) else {
            throw .decoding(column: column, reason: "\(row): malformed bucket")
        }
        let prefix: KeyPrefix
        if isTemplate {
            // A variable of a later version would pass for a literal segment, and a deny below it would deny nothing.
            guard let template = try? KeyPrefix(template: self.prefix) else {
                throw .decoding(column: column, reason: "\(row): a template that this version cannot fill in")
            }
            prefix = template
        } else {
            // A literal was checked when the grant was created.
            prefix = .literal(ExactText(self.prefix))
        }
        return Grant(
            id: id, principal: principal, bucket: bucket, prefix: prefix, actions: actions, effect: effect,
            conditions: try readConditions(column), notBefore: notBefore, notAfter: notAfter, note: note,
            createdBy: createdBy, createdAt: createdAt)
    }

    private func readConditions(_ column: Int) throws(PostgresError) -> GrantConditions {
        guard let conditions else { return GrantConditions() }
        return try PostgresRow.readJSON(conditions, of: column, in: row)
    }

    /// What errors call the row.
    private var row: String { "grant \(id.lowercaseText)" }
}

extension Grant: RowReadable {
    /// Reads the columns of ``GrantTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        let column = row.place
        let id: UUID = try row.next()
        let principal = try row.nextParsed(Principal.init(_:))
        let grant = UnparsedGrant(
            id: id, bucket: try row.next(), prefix: try row.next(), isTemplate: try row.next(),
            actions: try row.next(), effect: try row.next(), conditions: try row.next(), notBefore: try row.next(),
            notAfter: try row.next(), note: try row.next(), createdBy: try row.next(), createdAt: try row.next())
        self = try grant.grant(of: principal, column: column)
    }

    /// Reads the grants of a principal. The row holds each column of ``GrantTable/columnsOfPrincipal`` as an array.
    static func list(_ row: inout PostgresRow, of principal: Principal) throws(PostgresError) -> [Grant] {
        let column = row.place
        guard let ids = try row.next(as: [UUID]?.self) else {
            row.skip(GrantTable.columnsOfPrincipal.count - 1)
            return []
        }
        let buckets: [String] = try row.next()
        let prefixes: [String] = try row.next()
        let areTemplates: [Bool] = try row.next()
        let actions: [String] = try row.next()
        let effects: [String] = try row.next()
        let conditions: [String?] = try row.next()
        let notBefore: [Date?] = try row.next()
        let notAfter: [Date?] = try row.next()
        let notes: [String] = try row.next()
        let createdBy: [String] = try row.next()
        let createdAt: [Date] = try row.next()
        var grants: [Grant] = []
        grants.reserveCapacity(ids.count)
        for index in ids.indices {
            let grant = UnparsedGrant(
                id: ids[index], bucket: buckets[index], prefix: prefixes[index], isTemplate: areTemplates[index],
                actions: actions[index], effect: effects[index], conditions: conditions[index],
                notBefore: notBefore[index], notAfter: notAfter[index], note: notes[index],
                createdBy: createdBy[index], createdAt: createdAt[index])
            grants.append(try grant.grant(of: principal, column: column))
        }
        return grants
    }
}

extension AdminTable<Grant> {
    static var grants: Self {
        AdminTable(
            kind: .grant, listing: GrantTable.listing,
            position: { [$0.principal.rawValue, $0.bucket.rawValue, $0.prefix.text, $0.id.lowercaseText] },
            identifier: { $0.id.lowercaseText }, isIdentifier: isLowerCaseUUID,
            referenceConflict: "The bucket does not exist.",
            insert: { grant, transaction in try insert(grant, createdAt: nil, in: transaction) },
            read: GrantTable.read, page: GrantTable.page, lockRow: GrantTable.lock,
            update: { change, transaction in
                try transaction.perform(GrantTable.remove, Removal(id: change.id, actor: change.actor))
                try insert(change.row, createdAt: change.row.createdAt, in: transaction)
            },
            delete: { removal, transaction in try transaction.perform(GrantTable.remove, removal) },
            document: GrantTable.document, twin: GrantTable.twin,
            narrowPage: (filter: "covers", statement: GrantTable.pageCovering),
            pageWithin: { reach in
                let scopes = reach.scopes ?? []
                if scopes.allSatisfy({ $0.principals != nil }) { return GrantTable.pageOfPrincipals }
                return scopes.contains { $0.prefix.rawValue.isEmpty }
                    ? GrantTable.pageWithinBuckets : GrantTable.pageWithin
            })
    }

    private static func insert(
        _ grant: Grant, createdAt: Date?, in transaction: borrowing PostgresTransaction
    ) throws {
        guard try transaction.execute(GrantTable.lockBucket, grant.bucket.rawValue).first == true else {
            throw GatewayError.conflict(reason: "The bucket does not exist.")
        }
        if grant.prefix.isTemplate {
            let place = (grant.principal.rawValue, grant.bucket.rawValue)
            try transaction.perform(GrantTable.shareTemplateLock, ())
            try transaction.perform(GrantTable.lockTemplates, place)
            let count = try transaction.execute(GrantTable.countTemplates, place).first ?? 0
            guard count < GrantTable.maxTemplates else {
                throw GatewayError.conflict(reason: GrantTable.tooManyTemplates)
            }
        }
        let conditions = String(decoding: try JSONEncoder().encode(grant.conditions), as: UTF8.self)
        try transaction.perform(
            GrantTable.insert, .init(grant: grant, conditions: conditions, createdAt: createdAt))
    }
}

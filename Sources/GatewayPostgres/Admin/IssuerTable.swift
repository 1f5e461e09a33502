import Foundation
import GatewayCore
import LibPQ

/// Statements about issuers; those that read open what is sealed.
struct IssuerStatements: Sendable {
    let read: Statement<String, Stored<Issuer>>
    let page: Statement<PageRequest, Issuer>

    init(keys: MasterKeyRing) {
        let decode: @Sendable (borrowing PostgresRow, Int) throws(PostgresError) -> Issuer = {
            row, first throws(PostgresError) in
            let stored = try IssuerRow(row, from: first)
            do throws(MasterKeyError) {
                return try stored.opened(with: keys)
            } catch {
                throw .decoding(column: first + 6, reason: "issuer \(stored.id): \(error)")
            }
        }
        read = AdminStatements.read(
            "i.revision", IssuerRow.columns, from: "issuers i WHERE i.id = $1::text::uuid", decode)
        page = Statement(
            """
            SELECT \(IssuerRow.columns) FROM issuers i
            WHERE ($1::text IS NULL OR i.issuer = $1) AND ($2::text IS NULL OR i.id > $2::text::uuid)
            ORDER BY i.id LIMIT $3
            """, onlyReads: true
        ) {
            $0.parameters
        } decode: { row throws(PostgresError) in
            try decode(row, 0)
        }
    }

    private static let columns = WrittenColumns(
        "id", "issuer", "audiences", "algorithms", "keys_url", "keys_inline", "keys_sealed", "key_id",
        "principal_prefix", "group_prefix", "subject_claim", "groups_claim", "usable_claims", "roles_claim",
        "may_confer_roles")

    private static func values(of issuer: Issuer, _ keys: StoredKeys) -> [any PostgresValue] {
        [
            issuer.id, issuer.issuer, issuer.audiences, issuer.algorithms, keys.url, keys.inline, keys.sealed?.bytes,
            keys.sealed?.keyID, issuer.principalPrefix, issuer.groupPrefix, issuer.subjectClaim, issuer.groupsClaim,
            issuer.usableClaims, issuer.rolesClaim, issuer.mayConferRoles.map(\.rawValue).sorted(),
        ]
    }

    static let insert = Statement<(issuer: Issuer, keys: StoredKeys), Void>("INSERT INTO issuers \(columns.insertion)")
    { values(of: $0.issuer, $0.keys) }

    static let update = Statement<(issuer: Issuer, keys: StoredKeys), Void>("UPDATE issuers \(columns.assignment)") {
        values(of: $0.issuer, $0.keys)
    }

    /// Lets one issuer after another be created or changed.
    static let lockAll = Statement<Void, Void>("SELECT pg_advisory_xact_lock(\(AdvisoryLock.issuers.key))")

    /// A statement of its own, so that it sees the issuers of those who had the lock before.
    static let readOthers = Statement<UUID, IssuerPrefixes>(
        "SELECT issuer, principal_prefix, group_prefix FROM issuers WHERE id <> $1"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        IssuerPrefixes(issuer: try row.decode(0), principal: try row.decode(1), group: try row.decode(2))
    }

    static let lock = AdminStatements.lock(
        scope: "'issuer:' || i.issuer", revision: "i.revision", from: "issuers i WHERE i.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM issuers i WHERE i.id = $1::text::uuid") { [$0] }

    static let document = AdminStatements.document(
        """
        'id', r.id, 'issuer', r.issuer, 'audiences', r.audiences, 'algorithms', r.algorithms, 'keys',
        CASE WHEN r.keys_url IS NOT NULL THEN jsonb_build_object('url', r.keys_url)
            WHEN r.keys_inline IS NOT NULL THEN jsonb_build_object('inline', r.keys_inline)
            ELSE jsonb_build_object('hasSecret', true) END,
        'principalPrefix', r.principal_prefix, 'groupPrefix', r.group_prefix, 'subjectClaim', r.subject_claim,
        'groupsClaim', r.groups_claim, 'usableClaims', r.usable_claims, 'rolesClaim', r.roles_claim,
        'mayConferRoles', r.may_confer_roles, 'createdAt', r.created_at
        """,
        from: "issuers r WHERE r.id = $1::text::uuid")
}

/// Keys of an issuer as columns, of which one is filled.
struct StoredKeys: Sendable {
    var url: String?
    var inline: String?
    var sealed: SealedBytes?

    init(_ keys: Issuer.Keys, of issuer: UUID, sealedWith ring: MasterKeyRing) throws(MasterKeyError) {
        switch keys {
        case .url(let url): self.url = url
        case .inline(let text): inline = text
        case .secret(let secret): sealed = try ring.seal(Array(secret.reveal().utf8), in: .issuer(issuer))
        }
    }
}

/// What an issuer puts before names.
struct IssuerPrefixes: Sendable {
    var issuer: String
    var principal: String
    var group: String

    /// Whether one prefix begins with the other, so that two issuers could come to the same name: `a` and `bc` read like
    /// `ab` and `c`. The empty prefix begins every other.
    static func collide(_ left: String, _ right: String) -> Bool {
        left.utf8.starts(with: right.utf8) || right.utf8.starts(with: left.utf8)
    }
}

extension AdminTable<Issuer> {
    static func issuers(keys: MasterKeyRing) -> Self {
        let statements = IssuerStatements(keys: keys)
        return AdminTable(
            kind: .issuer, filters: [.text("issuer")], order: [.uuid("id")],
            position: { [$0.id.uuidString.lowercased()] }, identifier: { $0.id.uuidString.lowercased() },
            isIdentifier: AdminColumn.isLowerCaseUUID,
            referenceConflict: "Something refers to the issuer.",
            insert: { issuer, transaction in
                try refuseCollision(of: issuer, in: transaction)
                let stored = try StoredKeys(issuer.keys, of: issuer.id, sealedWith: keys)
                try transaction.perform(IssuerStatements.insert, (issuer, stored))
            }, read: statements.read, page: statements.page, lockRow: IssuerStatements.lock,
            update: { change, transaction in
                try refuseCollision(of: change.row, in: transaction)
                let stored = try StoredKeys(change.row.keys, of: change.row.id, sealedWith: keys)
                try transaction.perform(IssuerStatements.update, (change.row, stored))
            },
            delete: { removal, transaction in try transaction.perform(IssuerStatements.delete, removal.id) },
            document: IssuerStatements.document)
    }

    private static func refuseCollision(
        of issuer: Issuer, in transaction: borrowing PostgresTransaction
    ) throws {
        _ = try transaction.perform(IssuerStatements.lockAll, ())
        let others = try transaction.execute(IssuerStatements.readOthers, issuer.id)
        guard !others.contains(where: { $0.issuer.utf8.elementsEqual(issuer.issuer.utf8) }) else {
            throw GatewayError.alreadyExists(.issuer)
        }
        let fields = [
            ("principalPrefix", issuer.principalPrefix, others.map(\.principal)),
            ("groupPrefix", issuer.groupPrefix, others.map(\.group)),
        ]
        for (field, prefix, taken) in fields where taken.contains(where: { IssuerPrefixes.collide($0, prefix) }) {
            throw GatewayError.conflict(
                reason: """
                    The \(field) begins with that of another issuer, or the other way round, so that both could give \
                    the same name; the empty prefix is for an only issuer.
                    """)
        }
    }
}

import Bytes
import FoundationEssentials
import GatewayCore
import LibPQ

/// The table `issuers`. Statements of an instance open sealed secrets.
struct IssuerTable: Sendable {
    /// The values that a row is written with. The keys of an issuer are a URL, a text or a secret.
    struct Writing: Sendable {
        var issuer: Issuer
        var keysURL: String?
        var inlineKeys: String?
        var sealed: SealedBytes?
        var console: String?
    }

    /// The columns, in the order in which ``SealedIssuer/init(_:)`` reads them.
    static let columns = Columns<Writing>(
        Column("id", as: "id") { $0.issuer.id },
        Column("issuer", as: "issuer") { $0.issuer.issuer },
        Column("audiences", as: "audiences") { $0.issuer.audiences },
        Column("algorithms", as: "algorithms") { $0.issuer.algorithms },
        Column("keys_url") { $0.keysURL },
        Column("keys_inline") { $0.inlineKeys },
        Column("keys_sealed") { $0.sealed?.bytes },
        Column("key_id") { $0.sealed?.keyID },
        Column("principal_prefix", as: "principalPrefix") { $0.issuer.principalPrefix },
        Column("group_prefix", as: "groupPrefix") { $0.issuer.groupPrefix },
        Column("subject_claim", as: "subjectClaim") { $0.issuer.subjectClaim },
        Column("groups_claim", as: "groupsClaim") { $0.issuer.groupsClaim },
        Column("usable_claims", as: "usableClaims") { $0.issuer.usableClaims },
        Column("roles_claim", as: "rolesClaim") { $0.issuer.rolesClaim },
        Column("roles", as: "roles", .json) { jsonText($0.issuer.roles) },
        Column("console", as: "console", .json) { $0.console },
        Column("created_at", as: "createdAt"))

    static let listing = PagedList(
        of: .issuer, filters: [.text("issuer", is: "i.issuer")], order: [.uuid("i.id")], isDescending: true)

    let read: Statement<String, Stored<Issuer>>
    let page: Statement<PageRequest, Issuer>

    init(keys: MasterKeyRing) {
        let decode = SealedIssuer.decoder(keys)
        read = AdminStatements.read(
            "i.revision", Self.columns.selected(of: "i"), from: "issuers i WHERE i.id = $1::text::uuid", decode)
        page = AdminStatements.page(of: Self.listing, Self.columns.selected(of: "i"), from: "issuers i", decode)
    }

    static let insert = columns.insert(into: "issuers")

    static let update = columns.update("issuers")

    /// Lets one issuer after another be created or changed.
    static let lockAll = Statement<Void, Void>("SELECT pg_advisory_xact_lock(\(AdvisoryLock.issuers.key))")

    /// Reads the prefixes of the other issuers. It is a separate statement, so that it sees issuers committed by
    /// transactions that held the lock before.
    static let readOthers = Statement<UUID, IssuerPrefixes>(
        "SELECT issuer, principal_prefix, group_prefix FROM issuers WHERE id <> $1"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        IssuerPrefixes(issuer: try row.next(), principal: try row.next(), group: try row.next())
    }

    static let lock = AdminStatements.lock(
        scope: PolicyScope.sql(.issuer, "i.issuer"), revision: "i.revision",
        from: "issuers i WHERE i.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM issuers i WHERE i.id = $1::text::uuid") { [$0] }

    static let document = AdminStatements.document(
        columns.document + """
            , 'keys',
            CASE WHEN r.keys_url IS NOT NULL THEN jsonb_build_object('url', r.keys_url)
                WHEN r.keys_inline IS NOT NULL THEN jsonb_build_object('inline', r.keys_inline::jsonb)
                ELSE jsonb_build_object('hasSecret', true) END
            """,
        from: "issuers r WHERE r.id = $1::text::uuid")
}

extension IssuerTable.Writing {
    /// Seals the keys of an issuer if they are a secret.
    fileprivate init(_ issuer: Issuer, sealedWith ring: MasterKeyRing) throws {
        self.issuer = issuer
        console = try issuer.console.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        switch issuer.keys {
        case .url(let url): keysURL = url
        case .inline(let text): inlineKeys = text
        case .secret(let secret): sealed = try ring.seal(Array(secret.reveal().utf8), in: .issuer(issuer.id))
        }
    }
}

/// An issuer as its row holds it.
struct SealedIssuer: SealedRow {
    /// The issuer. If its keys are a secret, they are still missing.
    private let issuer: Issuer
    private let sealed: SealedBytes?

    var id: UUID { issuer.id }

    /// Reads the columns of ``IssuerTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        let id: UUID = try row.next()
        let name: String = try row.next()
        let audiences: [String] = try row.next()
        let algorithms: [String] = try row.next()
        let url: String? = try row.next()
        let inline: String? = try row.next()
        sealed = try SealedBytes(&row)
        issuer = Issuer(
            id: id, issuer: name, audiences: audiences, algorithms: algorithms,
            keys: url.map { .url($0) } ?? inline.map { .inline($0) } ?? .secret(Secret("")),
            principalPrefix: try row.next(), groupPrefix: try row.next(), subjectClaim: try row.next(),
            groupsClaim: try row.next(), usableClaims: try row.next(), rolesClaim: try row.next(),
            roles: try row.nextJSON(in: "issuer \(id.lowercaseText)") ?? [],
            console: try row.nextJSON(in: "issuer \(id.lowercaseText)"), createdAt: try row.next())
    }

    /// Opens the secret, if there is one.
    func opened(with keys: MasterKeyRing) throws(MasterKeyError) -> Issuer {
        guard let sealed else { return issuer }
        let bytes = try keys.open(sealed, in: .issuer(issuer.id))
        var issuer = issuer
        issuer.keys = .secret(Secret(String(decoding: bytes, as: UTF8.self)))
        return issuer
    }
}

/// The prefixes that an issuer adds to the names of principals and groups.
struct IssuerPrefixes: Sendable {
    var issuer: String
    var principal: String
    var group: String

    /// Tests whether one prefix begins with the other. Two issuers could then make the same name: `a` and `bc` read
    /// like `ab` and `c`. Every prefix begins with the empty one.
    static func collide(_ left: String, _ right: String) -> Bool {
        left.utf8.starts(with: right.utf8) || right.utf8.starts(with: left.utf8)
    }
}

extension AdminTable<Issuer> {
    static func issuers(keys: MasterKeyRing) -> Self {
        let table = IssuerTable(keys: keys)
        return AdminTable(
            kind: .issuer, listing: IssuerTable.listing, position: { [$0.id.lowercaseText] },
            identifier: { $0.id.lowercaseText }, isIdentifier: isLowerCaseUUID,
            referenceConflict: "Something refers to the issuer.",
            insert: { issuer, transaction in
                try refuseCollision(of: issuer, in: transaction)
                try transaction.perform(IssuerTable.insert, .init(issuer, sealedWith: keys))
            },
            read: table.read, page: table.page, lockRow: IssuerTable.lock,
            update: { change, transaction in
                try refuseCollision(of: change.row, in: transaction)
                try transaction.perform(IssuerTable.update, .init(change.row, sealedWith: keys))
            },
            delete: { removal, transaction in try transaction.perform(IssuerTable.delete, removal.id) },
            document: IssuerTable.document,
            changedSecrets: { old, new in
                // The document shows whether the keys are a secret at all.
                guard case .secret(let before) = old.keys, case .secret(let after) = new.keys else { return [] }
                return before == after ? [] : ["keys.secret"]
            })
    }

    private static func refuseCollision(
        of issuer: Issuer, in transaction: borrowing PostgresTransaction
    ) throws {
        _ = try transaction.perform(IssuerTable.lockAll, ())
        let others = try transaction.execute(IssuerTable.readOthers, issuer.id)
        guard !others.contains(where: { $0.issuer.isSameBytes(as: issuer.issuer) }) else {
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

import FoundationEssentials
import GatewayCore
import LibCrypto
import LibPQ

/// The table `tickets`. Statements of an instance open sealed keys.
struct TicketTable: Sendable {
    /// The values that a row is written with.
    struct Writing: Sendable {
        var ticket: Ticket
        /// JSON.
        var claims: String
        var sealed: SealedBytes?
    }

    /// The columns, in the order in which ``SealedTicket/init(_:)`` reads them.
    static let columns = Columns<Writing>(
        Column("id", as: "id") { $0.ticket.id },
        Column("name", as: "name") { $0.ticket.name },
        Column("hash") { $0.ticket.hash.bytes },
        Column("principal", as: "principal") { $0.ticket.principal.rawValue },
        Column("groups", as: "groups") { $0.ticket.groups.map(\.rawValue) },
        Column("claims", .json) { $0.claims },
        Column("issued_on") { $0.ticket.issuedOn?.rawValue },
        Column("bucket", as: "bucket") { $0.ticket.bucket.rawValue },
        Column("prefix", as: "prefix") { $0.ticket.prefix.rawValue },
        Column("actions", as: "actions") { $0.ticket.actions.map(\.rawValue).sorted() },
        Column("max_uses", as: "maxUses") { $0.ticket.maxUses },
        Column("expires_at", as: "expiresAt") { $0.ticket.expiresAt },
        Column("sealed") { $0.sealed?.bytes },
        Column("key_id") { $0.sealed?.keyID },
        Column("created_at", as: "createdAt"))

    /// Names and values of the audit members of a row `r`.
    private static let members = columns.document + ", 'encryptsResponses', r.sealed IS NOT NULL"

    static let listing = PagedList(
        of: .ticket,
        filters: [
            .text("principal", is: "t.principal"), .text("bucket", is: "t.bucket"),
            .instant("activeAt") { "t.expires_at > \($0)" },
        ],
        order: [.uuid("t.id")], isDescending: true)

    let read: Statement<String, Stored<Ticket>>
    let page: Statement<PageRequest, Ticket>

    init(keys: MasterKeyRing) {
        let decode = SealedTicket.decoder(keys)
        read = AdminStatements.read(
            "t.revision", Self.columns.selected(of: "t"), from: "tickets t WHERE t.id = $1::text::uuid", decode)
        page = AdminStatements.page(of: Self.listing, Self.columns.selected(of: "t"), from: "tickets t", decode)
    }

    /// Lets one ticket after another be added for a principal. It is a separate statement, so that ``insert`` counts
    /// those that transactions before committed.
    static let lockPrincipal = Statement<Principal, Void>(
        "SELECT pg_advisory_xact_lock(\(AdvisoryLock.tickets.key))"
    ) { [$0.rawValue] }

    /// Inserts a ticket, unless its principal already has `maxLive` live ones.
    static let insert: Statement<(writing: Writing, maxLive: Int64), Void> = {
        let written = columns.inserted
        let maxLive = written.nextParameter
        return Statement(
            """
            INSERT INTO tickets (\(written.names))
            SELECT \(written.values)
            WHERE \(maxLive) > (
                SELECT count(*) FROM (
                    SELECT FROM tickets t
                    WHERE t.principal = \(written.parameter(of: "principal")) AND t.expires_at > clock_timestamp()
                    LIMIT \(maxLive)
                ) alive
            )
            """
        ) { written.parameters(of: $0.writing) + [$0.maxLive] }
    }()

    static let lock = AdminStatements.lock(
        scope: PolicyScope.sql(.ticket, "t.name"), revision: "t.revision",
        from: "tickets t WHERE t.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM tickets t WHERE t.id = $1::text::uuid") { [$0] }

    /// Removes the tickets of a principal that a gateway may still accept: its clock may be behind by
    /// ``ClockDifference/longest``.
    static let revoke = Statement<String, RemovedRow>(
        """
        DELETE FROM tickets r
        WHERE r.principal = $1 AND r.expires_at > clock_timestamp() - \(ClockDifference.longestInterval)
        RETURNING \(PolicyScope.sql(.ticket, "r.name")), jsonb_build_object(\(members))::text
        """
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        RemovedRow(scope: try row.next(), document: try row.next())
    }

    /// Notes that all tickets of a principal are revoked. Committed before they are looked up.
    ///
    /// The row stays: a token from before may be valid for as long as its issuer likes.
    static let noteRevocation = Statement<(principal: Principal, change: ChangeContext), Void>(
        """
        INSERT INTO ticket_revocations AS r (principal, revoked_at)
        SELECT $1, clock_timestamp() FROM \(PolicyLogTable.proof("$2")) WHERE p.is_proved
        ON CONFLICT (principal) DO UPDATE SET revoked_at = greatest(r.revoked_at, excluded.revoked_at)
        """
    ) { [$0.principal.rawValue, $0.change.proof?.json] }

    static let lastRevocation = Statement<String, Date>(
        "SELECT r.revoked_at FROM ticket_revocations r WHERE r.principal = $1", onlyReads: true
    ) {
        [$0]
    }

    static let document = AdminStatements.document(members, from: "tickets r WHERE r.id = $1::text::uuid")
}

extension TicketTable.Writing {
    /// Seals the key that encrypts the ticket's answers, if it has one.
    fileprivate init(_ ticket: Ticket, sealedWith keys: MasterKeyRing) throws {
        self.ticket = ticket
        claims = String(decoding: try JSONEncoder().encode(ticket.claims), as: UTF8.self)
        sealed = try ticket.responseKey.map { try keys.seal($0.reveal(), in: .ticket(ticket.id)) }
    }
}

/// A ticket as its row holds it.
struct SealedTicket: SealedRow {
    /// The ticket. If it has a key for its answers, that is still missing.
    private let ticket: Ticket
    private let sealed: SealedBytes?

    var id: UUID { ticket.id }

    /// Reads the columns of ``TicketTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        let id: UUID = try row.next()
        let name: String = try row.next()
        let hash = try row.nextDigest()
        let principal = try row.nextParsed(Principal.init(_:))
        let groups = try row.nextList(Principal.init(_:))
        guard let claims: [String: String] = try row.nextJSON(in: "ticket \(id.lowercaseText)") else {
            throw .decoding(column: row.place - 1, reason: "no claims")
        }
        let issuedOn: String? = try row.next()
        let bucket = try row.nextParsed(BucketName.init(_:))
        let prefix = ExactText(try row.next())
        let actions = Set<Action>(try row.nextWords())
        let maxUses: Int64 = try row.next()
        let expiresAt: Date = try row.next()
        sealed = try SealedBytes(&row)
        ticket = Ticket(
            id: id, name: name, hash: hash, principal: principal, groups: groups, claims: claims,
            issuedOn: issuedOn.map { PolicyScope(rawValue: $0) }, bucket: bucket, prefix: prefix, actions: actions,
            maxUses: maxUses, expiresAt: expiresAt, createdAt: try row.next())
    }

    /// Opens the key, if there is one.
    func opened(with keys: MasterKeyRing) throws(MasterKeyError) -> Ticket {
        guard let sealed else { return ticket }
        var ticket = ticket
        ticket.responseKey = Secret(try keys.open(sealed, in: .ticket(ticket.id)))
        return ticket
    }
}

extension AdminTable<Ticket> {
    static func tickets(keys: MasterKeyRing) -> Self {
        let table = TicketTable(keys: keys)
        return AdminTable(
            kind: .ticket, listing: TicketTable.listing, position: { [$0.id.lowercaseText] },
            identifier: { $0.id.lowercaseText }, isIdentifier: isLowerCaseUUID,
            referenceConflict: "Something refers to the ticket.",
            insert: { ticket, transaction in
                let writing = try TicketTable.Writing(ticket, sealedWith: keys)
                _ = try transaction.perform(TicketTable.lockPrincipal, ticket.principal)
                let count = try transaction.perform(TicketTable.insert, (writing, Int64(Ticket.maxLiveCount)))
                guard count == 1 else {
                    throw GatewayError.conflict(
                        reason: "A user can have at most \(Ticket.maxLiveCount) live tickets; revoke some.")
                }
            },
            read: table.read, page: table.page, lockRow: TicketTable.lock,
            delete: { removal, transaction in try transaction.perform(TicketTable.delete, removal.id) },
            document: TicketTable.document, isLoggedWhenCreated: false)
    }
}

import Foundation
public import GatewayCore
import LibPQ

/// Statements about tickets; those that read open what is sealed.
struct TicketStatements: Sendable {
    let read: Statement<String, Stored<Ticket>>
    let page: Statement<PageRequest, Ticket>

    init(keys: MasterKeyRing) {
        let decode: @Sendable (borrowing PostgresRow, Int) throws(PostgresError) -> Ticket = {
            row, first throws(PostgresError) in
            let stored = try TicketRow(row, from: first)
            do throws(MasterKeyError) {
                return try stored.opened(with: keys)
            } catch {
                throw .decoding(column: first + 12, reason: "ticket \(stored.id): \(error)")
            }
        }
        read = AdminStatements.read(
            "t.revision", TicketRow.columns, from: "tickets t WHERE t.id = $1::text::uuid", decode)
        page = Statement(
            """
            SELECT \(TicketRow.columns) FROM tickets t
            WHERE ($1::text IS NULL OR t.principal = $1) AND ($2::text IS NULL OR t.bucket = $2)
                AND ($3::text IS NULL OR t.expires_at > $3::text::timestamptz)
                AND ($4::text IS NULL OR t.id > $4::text::uuid)
            ORDER BY t.id LIMIT $5
            """, onlyReads: true
        ) {
            $0.parameters
        } decode: { row throws(PostgresError) in
            try decode(row, 0)
        }
    }

    /// Inserts a ticket, unless so many of its principal are alive already.
    static let insert = Statement<(ticket: Ticket, claims: String, sealed: SealedBytes?, maxLive: Int64), Void>(
        """
        INSERT INTO tickets (id, name, hash, principal, groups, claims, issued_on, bucket, prefix, actions, max_uses,
            expires_at, sealed, key_id)
        SELECT $1, $2, $3, $4, $5, $6::text::jsonb, $7, $8, $9, $10, $11, $12, $13, $14
        WHERE $15 > (
            SELECT count(*) FROM (
                SELECT FROM tickets t WHERE t.principal = $4 AND t.expires_at > clock_timestamp() LIMIT $15
            ) alive
        )
        """
    ) {
        [
            $0.ticket.id, $0.ticket.name, $0.ticket.hash, $0.ticket.principal.rawValue,
            $0.ticket.groups.map(\.rawValue), $0.claims, $0.ticket.issuedOn?.rawValue, $0.ticket.bucket.rawValue,
            $0.ticket.prefix.rawValue, $0.ticket.actions.map(\.rawValue).sorted(), $0.ticket.maxUses,
            $0.ticket.expiresAt, $0.sealed?.bytes, $0.sealed?.keyID, $0.maxLive,
        ]
    }

    static let lock = AdminStatements.lock(
        scope: "'ticket:' || t.name", revision: "t.revision", from: "tickets t WHERE t.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM tickets t WHERE t.id = $1::text::uuid") { [$0] }

    /// Removes the live tickets of a principal; of each the audit holds what it was for.
    static let revoke = Statement<String, RemovedRow>(
        """
        DELETE FROM tickets r WHERE r.principal = $1 AND r.expires_at > clock_timestamp()
        RETURNING 'ticket:' || r.name, jsonb_build_object(
            'id', r.id, 'bucket', r.bucket, 'prefix', r.prefix, 'actions', r.actions, 'expiresAt', r.expires_at)::text
        """
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        RemovedRow(scope: try row.decode(0), document: try row.decode(1))
    }

    static let document = AdminStatements.document(
        """
        'id', r.id, 'name', r.name, 'principal', r.principal, 'groups', r.groups, 'bucket', r.bucket,
        'prefix', r.prefix, 'actions', r.actions, 'maxUses', r.max_uses, 'expiresAt', r.expires_at,
        'encryptsResponses', r.sealed IS NOT NULL, 'createdAt', r.created_at
        """,
        from: "tickets r WHERE r.id = $1::text::uuid")

    /// Inserts a ticket; none where there are too many.
    static func insert(
        _ ticket: Ticket, with keys: MasterKeyRing, in transaction: borrowing PostgresTransaction
    ) throws {
        let claims = String(decoding: try JSONEncoder().encode(ticket.claims), as: UTF8.self)
        let sealed = try TicketRow.seal(ticket, with: keys)
        let count = try transaction.perform(insert, (ticket, claims, sealed, Int64(Ticket.maxLiveCount)))
        guard count == 1 else {
            throw GatewayError.conflict(
                reason: "At most \(Ticket.maxLiveCount) tickets of a user live at a time; revoke some.")
        }
    }
}

extension AdminTable<Ticket> {
    static func tickets(keys: MasterKeyRing) -> Self {
        let statements = TicketStatements(keys: keys)
        return AdminTable(
            kind: .ticket, filters: [.text("principal"), .text("bucket"), .instant("activeAt")],
            order: [.uuid("id")],
            position: { [$0.id.uuidString.lowercased()] }, identifier: { $0.id.uuidString.lowercased() },
            isIdentifier: AdminColumn.isLowerCaseUUID,
            referenceConflict: "Something refers to the ticket.",
            insert: { ticket, transaction in try TicketStatements.insert(ticket, with: keys, in: transaction) },
            read: statements.read, page: statements.page, lockRow: TicketStatements.lock,
            delete: { removal, transaction in try transaction.perform(TicketStatements.delete, removal.id) },
            document: TicketStatements.document, isLoggedWhenCreated: false)
    }
}

extension PostgresAdminStore<Ticket>: TicketRevocation {
    /// Removes the live tickets of a principal.
    public func revokeTickets(of principal: Principal, by change: ChangeContext) async throws(GatewayError) -> Int {
        try await deleteAll(TicketStatements.revoke, of: principal.rawValue, by: change)
    }
}

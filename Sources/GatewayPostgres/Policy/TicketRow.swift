import Foundation
import GatewayCore
import LibPQ

/// A ticket as it is kept.
struct TicketRow: Sendable {
    /// What ``init(_:from:)`` reads, of a row `t`.
    static let columns = """
        t.id, t.name, t.hash, t.principal, t.groups, t.claims::text, t.issued_on, t.bucket, t.prefix, t.actions, t.max_uses,
        t.expires_at, t.sealed, t.key_id, t.created_at
        """

    /// The ticket; the key of its answers, if it has one, is still missing.
    private let ticket: Ticket
    private let sealed: SealedBytes?

    var id: UUID { ticket.id }

    /// Reads a row, the columns of which begin at a place.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        var groups: [Principal] = []
        for group in try row.decode(first + 4, as: [String].self) {
            groups.append(try parsed(first + 4) { () throws(GatewayError) in try Principal(group) })
        }
        var actions: Set<Action> = []
        for name in try row.decode(first + 9, as: [String].self) {
            guard let action = Action(rawValue: name) else {
                throw .decoding(column: first + 9, reason: "malformed action")
            }
            actions.insert(action)
        }
        let claims: String = try row.decode(first + 5)
        guard let claims = try? JSONDecoder().decode([String: String].self, from: Data(claims.utf8)) else {
            throw .decoding(column: first + 5, reason: "malformed claims")
        }
        let bucket: String = try row.decode(first + 7)
        let bytes: [UInt8]? = try row.decode(first + 12)
        let keyID: String? = try row.decode(first + 13)
        sealed = bytes.map { SealedBytes(bytes: $0, keyID: keyID ?? "") }
        ticket = Ticket(
            id: try row.decode(first), name: try row.decode(first + 1), hash: try row.decode(first + 2),
            principal: try row.principal(first + 3), groups: groups, claims: claims,
            issuedOn: try row.decode(first + 6, as: String?.self).map { PolicyScope(rawValue: $0) },
            bucket: try parsed(first + 7) { () throws(GatewayError) in try BucketName(bucket) },
            prefix: ExactText(try row.decode(first + 8)), actions: actions, maxUses: try row.decode(first + 10),
            expiresAt: try row.decode(first + 11), createdAt: try row.decode(first + 14))
    }

    /// Seals the key of a ticket's answers, if it has one.
    static func seal(_ ticket: Ticket, with keys: MasterKeyRing) throws(MasterKeyError) -> SealedBytes? {
        guard let key = ticket.responseKey else { return nil }
        return try keys.seal(key.reveal(), in: .ticket(ticket.id))
    }

    /// Opens the key, if there is one.
    func opened(with keys: MasterKeyRing) throws(MasterKeyError) -> Ticket {
        guard let sealed else { return ticket }
        var ticket = ticket
        ticket.responseKey = Secret(try keys.open(sealed, in: .ticket(ticket.id)))
        return ticket
    }
}

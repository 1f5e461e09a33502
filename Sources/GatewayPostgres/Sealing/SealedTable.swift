import FoundationEssentials
import GatewayCore
import LibPQ

/// A table with a column of sealed bytes.
struct SealedTable: Sendable {
    let name: String
    /// Locks and reads sealed rows.
    let read: Statement<(after: UUID, limit: Int64), (id: UUID, sealed: SealedBytes)>
    let write: Statement<(id: UUID, sealed: SealedBytes), Void>
    /// Reads some rows of each key in use, newest first.
    let sample: Statement<Int64, (id: UUID, sealed: SealedBytes)>
    /// Adds an audit line for a resealed row.
    let audit: Statement<Resealing, Void>

    static let all = [
        SealedTable("storage_credentials", column: "sealed", kind: "StorageCredential"),
        SealedTable("issuers", column: "keys_sealed", kind: "Issuer"),
        SealedTable("tickets", column: "sealed", kind: "Ticket"),
    ]

    private init(_ name: String, column: String, kind: String) {
        self.name = name
        read = Statement(
            """
            SELECT id, \(column), key_id FROM \(name)
            WHERE \(column) IS NOT NULL AND id > $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE
            """, encode: { [$0.after, $0.limit] }, decode: Self.sealedRow)
        write = Statement("UPDATE \(name) SET \(column) = $2, key_id = $3 WHERE id = $1") {
            [$0.id, $0.sealed.bytes, $0.sealed.keyID]
        }
        sample = Statement(
            """
            SELECT s.id, s.bytes, k.key_id
            FROM (SELECT DISTINCT key_id FROM \(name) WHERE \(column) IS NOT NULL) k
            CROSS JOIN LATERAL (
                SELECT t.id, t.\(column) AS bytes FROM \(name) t
                WHERE t.key_id = k.key_id AND t.\(column) IS NOT NULL ORDER BY t.id DESC LIMIT $1
            ) s
            ORDER BY k.key_id COLLATE "C", s.id
            """, onlyReads: true, encode: { [$0] }, decode: Self.sealedRow)
        audit = Statement(
            """
            INSERT INTO admin_audit (id, actor, request_id, operation, kind, resource_id, before, after)
            VALUES ($1, 'rotate-master-key', $2, '\(AuditOperation.update.rawValue)', '\(kind)', $3,
                jsonb_build_object('masterKeyID', $4::text), jsonb_build_object('masterKeyID', $5::text))
            """
        ) { [$0.id, $0.requestID, $0.row.uuidString.lowercased(), $0.before, $0.after] }
    }

    @Sendable private static func sealedRow(
        _ row: inout PostgresRow
    ) throws(PostgresError) -> (id: UUID, sealed: SealedBytes) {
        (try row.next(), SealedBytes(bytes: try row.next(), keyID: try row.next()))
    }
}

/// The audit line of a row that was sealed with another key.
struct Resealing: Sendable {
    /// Identifier of the line.
    var id: UUID
    var row: UUID
    var requestID: String
    /// Identifier of the old key.
    var before: String
    /// Identifier of the new key.
    var after: String
}

public import Foundation
public import LibPQ

/// Seals every secret of the database with the current master key, so that older keys can go.
///
/// What is sealed stays the same, so that no gateway has to read anything anew; both keys must be known to all of them first.
public struct MasterKeyRotation: Sendable {
    /// What a rotation did.
    public struct Outcome: Sendable, Equatable {
        /// Rows that were sealed anew.
        public var resealed = 0
        /// Rows that no key of the ring opens; they are as they were.
        public var unopened: [UnopenedRow] = []
    }

    /// A row that could not be opened.
    public struct UnopenedRow: Sendable, Equatable {
        /// Name of the table.
        public var table: String
        /// The row.
        public var id: UUID
        /// Why.
        public var reason: MasterKeyError
    }

    private let connection: PostgresConnection
    private let keys: MasterKeyRing
    private let batch: Int64

    /// Makes a rotation.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway.
    ///   - keys: The new key first, and those that rows are sealed with.
    ///   - batch: Rows in one transaction, 1 or more.
    public init(connection: PostgresConnection, keys: MasterKeyRing, batch: Int = 100) {
        self.connection = connection
        self.keys = keys
        self.batch = Int64(max(1, batch))
    }

    /// Goes through all rows; may be repeated, and run beside gateways.
    ///
    /// Those of the current key are opened too: another key may go by the same name.
    /// - Throws: ``PostgresError``, or ``MasterKeyError/sealingFailed``; batches before that are done.
    public func run() async throws -> Outcome {
        var outcome = Outcome()
        for table in SealedTable.all {
            var last = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
            while true {
                let after = last
                let step = try await connection.withTransaction { transaction in
                    try reseal(table, after: after, in: transaction)
                }
                outcome.resealed += step.outcome.resealed
                outcome.unopened += step.outcome.unopened
                guard let next = step.last else { break }
                last = next
            }
        }
        return outcome
    }

    private func reseal(
        _ table: SealedTable, after: UUID, in transaction: borrowing PostgresTransaction
    ) throws -> (outcome: Outcome, last: UUID?) {
        try transaction.runScript("SET LOCAL lock_timeout = '2s'")
        let rows = try transaction.execute(table.read, (after, batch))
        var outcome = Outcome()
        for row in rows {
            let place = SealedPlace(table: table.name, row: row.id)
            let secret: [UInt8]
            do throws(MasterKeyError) {
                secret = try keys.open(row.sealed, in: place)
            } catch {
                outcome.unopened.append(UnopenedRow(table: table.name, id: row.id, reason: error))
                continue
            }
            guard row.sealed.keyID != keys.currentID else { continue }
            try transaction.perform(table.write, (row.id, keys.seal(secret, in: place)))
            outcome.resealed += 1
        }
        return (outcome, rows.last?.id)
    }
}

/// A table with a column of sealed bytes.
struct SealedTable: Sendable {
    let name: String
    /// Locks and reads rows that are sealed.
    let read: Statement<(after: UUID, limit: Int64), (id: UUID, sealed: SealedBytes)>
    let write: Statement<(id: UUID, sealed: SealedBytes), Void>

    static let all = [
        SealedTable(
            name: "storage_credentials",
            read: """
                SELECT id, sealed, key_id FROM storage_credentials
                WHERE id > $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE
                """,
            write: "UPDATE storage_credentials SET sealed = $2, key_id = $3 WHERE id = $1"),
        SealedTable(
            name: "issuers",
            read: """
                SELECT id, keys_sealed, key_id FROM issuers
                WHERE keys_sealed IS NOT NULL AND id > $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE
                """,
            write: "UPDATE issuers SET keys_sealed = $2, key_id = $3 WHERE id = $1"),
    ]

    private init(name: String, read: String, write: String) {
        self.name = name
        self.read = Statement(read) {
            [$0.after, $0.limit]
        } decode: { row throws(PostgresError) in
            (try row.decode(0), SealedBytes(bytes: try row.decode(1), keyID: try row.decode(2)))
        }
        self.write = Statement(write) { [$0.id, $0.sealed.bytes, $0.sealed.keyID] }
    }
}

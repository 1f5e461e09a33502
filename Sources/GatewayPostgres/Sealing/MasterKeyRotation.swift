public import Foundation
import GatewayCore
import LibCrypto
public import LibPQ

/// Seals every secret of the database with the current master key, so that older keys can go.
///
/// What is sealed stays the same, so that no gateway has to read anything anew; both keys must be known to all of them
/// first. Each row that is sealed anew leaves a line in the audit.
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
    private let now: @Sendable () -> Date
    private let batch: Int64

    /// Makes a rotation.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway.
    ///   - keys: The new key first, and those that rows are sealed with.
    ///   - now: The clock of the audit's identifiers.
    ///   - batch: Rows in one transaction, 1 or more.
    public init(
        connection: PostgresConnection, keys: MasterKeyRing, now: @escaping @Sendable () -> Date, batch: Int = 100
    ) {
        self.connection = connection
        self.keys = keys
        self.now = now
        self.batch = Int64(max(1, batch))
    }

    /// Goes through all rows; may be repeated, and run beside gateways.
    ///
    /// Those of the current key are opened too: another key may go by the same name.
    /// - Parameter requestID: What the audit knows the run by.
    /// - Throws: ``PostgresError``, or ``MasterKeyError/sealingFailed``; batches before that are done.
    public func run(requestID: String) async throws -> Outcome {
        var outcome = Outcome()
        for table in SealedTable.all {
            var last = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
            while true {
                let after = last
                let step = try await connection.withTransaction { transaction in
                    try reseal(table, after: after, requestID, in: transaction)
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
        _ table: SealedTable, after: UUID, _ requestID: String, in transaction: borrowing PostgresTransaction
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
            try transaction.perform(
                table.audit,
                Resealing(
                    id: .version7(at: now(), randomBytes: randomBytes(count: 10)), row: row.id, requestID: requestID,
                    before: row.sealed.keyID, after: keys.currentID))
            outcome.resealed += 1
        }
        return (outcome, rows.last?.id)
    }
}

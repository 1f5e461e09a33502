public import FoundationEssentials
import GatewayCore
import LibCrypto
public import LibPQ

/// Seals every secret in the database with the current master key, so that older keys can be retired.
///
/// The secrets themselves stay the same, so no gateway that holds them has to read them again. One that has the new key
/// alone could not open a row until then, and reads it again when it reloads. All gateways must seal with the new key
/// beforehand: the rotation seals nothing while a gateway runs that does not. Each resealed row adds a line to the
/// audit.
public struct MasterKeyRotation: Sendable {
    /// The result of a rotation.
    public struct Outcome: Sendable, Equatable {
        /// Number of rows sealed with the current key.
        public var resealed = 0
        /// Rows that no key of the ring opens. They are unchanged.
        public var unopened: [UnopenedRow] = []
    }

    /// A row that could not be opened.
    public struct UnopenedRow: Sendable, Equatable {
        /// Name of the table.
        public var table: String
        /// Identifier of the row.
        public var id: UUID
        /// Why it could not be opened.
        public var reason: MasterKeyError
    }

    private let connection: PostgresConnection
    private let keys: MasterKeyRing
    private let now: @Sendable () -> Date
    private let batch: Int64

    /// Creates a rotation.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway.
    ///   - keys: The new key first, then those that currently seal rows.
    ///   - now: Returns the current time, for the identifiers of audit lines.
    ///   - batch: Number of rows per transaction, at least 1.
    public init(
        connection: PostgresConnection, keys: MasterKeyRing, now: @escaping @Sendable () -> Date, batch: Int = 100
    ) {
        self.connection = connection
        self.keys = keys
        self.now = now
        self.batch = Int64(max(1, batch))
    }

    /// Reseals all rows. It may be repeated, and may run while gateways serve.
    ///
    /// Rows sealed with the current key are opened too, because another key may use the same identifier.
    /// - Parameter requestID: Identifies the run in the audit.
    /// - Throws: ``MasterKeyError/doesNotOpen(keyID:)`` if the current key opens none of the rows under its identifier:
    ///   nothing is sealed then, since the identifier would stand for two keys. ``Refusal`` if a gateway runs that does
    ///   not seal with the current key, ``PostgresError``, or ``MasterKeyError/sealingFailed``; earlier batches stay
    ///   committed.
    public func run(requestID: String) async throws -> Outcome {
        let isNamesake = MasterKeyError.doesNotOpen(keyID: keys.currentID)
        if try await MasterKeyCheck(connection: connection, keys: keys).run().flaws.contains(isNamesake) {
            throw isNamesake
        }
        var outcome = Outcome()
        for table in SealedTable.all {
            var last = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
            while true {
                let after = last
                let resealed = outcome.resealed
                let step = try await connection.withTransaction { transaction in
                    // Asked for each batch, as a gateway may start meanwhile.
                    let lacking = try transaction.execute(Self.lackingGateways, keys.currentFingerprint)
                    guard lacking.isEmpty else {
                        throw Refusal(key: keys.currentFingerprint, gateways: lacking, resealed: resealed)
                    }
                    return try reseal(table, after: after, requestID, in: transaction)
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

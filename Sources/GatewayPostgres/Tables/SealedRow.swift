import FoundationEssentials
import GatewayCore
import LibPQ

/// A row with a sealed secret, as its table holds it.
protocol SealedRow: RowReadable {
    /// The row with its secret.
    associatedtype Opened: Sendable

    var id: UUID { get }

    /// Opens the secret, if there is one.
    func opened(with keys: MasterKeyRing) throws(MasterKeyError) -> Opened
}

extension SealedRow {
    /// Makes the decoder of a statement that opens secrets.
    static func decoder(
        _ keys: MasterKeyRing
    ) -> @Sendable (inout PostgresRow) throws(PostgresError) -> Opened {
        { row throws(PostgresError) in
            let column = row.place
            let stored = try Self(&row)
            do throws(MasterKeyError) {
                return try stored.opened(with: keys)
            } catch {
                throw .decoding(column: column, reason: "\(Opened.self) \(stored.id.lowercaseText): \(error)")
            }
        }
    }
}

public import LibPQ

/// Checks that the given master keys open the secrets in the database.
public struct MasterKeyCheck: Sendable {
    private let connection: PostgresConnection
    private let keys: MasterKeyRing

    /// Number of rows tried for each key. A single row might have been altered and would say nothing about the others.
    private static let rowsPerKey: Int64 = 10

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway.
    ///   - keys: The given keys.
    public init(connection: PostgresConnection, keys: MasterKeyRing) {
        self.connection = connection
        self.keys = keys
    }

    /// Tries some rows of each key in use.
    ///
    /// - Returns: One error for each key identifier with a fault: no such key is given, or the key opens none of its
    ///   rows.
    public func run() async throws(PostgresError) -> [MasterKeyError] {
        var flaws: [String: MasterKeyError] = [:]
        var fitting: Set<String> = []
        for table in SealedTable.all {
            for row in try await connection.execute(table.sample, Self.rowsPerKey) {
                do throws(MasterKeyError) {
                    _ = try keys.open(row.sealed, in: SealedPlace(table: table.name, row: row.id))
                    fitting.insert(row.sealed.keyID)
                } catch {
                    flaws[row.sealed.keyID] = error
                }
            }
        }
        return flaws.filter { !fitting.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value)
    }
}

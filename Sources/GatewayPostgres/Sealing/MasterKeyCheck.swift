public import LibPQ

/// Looks whether the keys given are those that the database's secrets are sealed with.
public struct MasterKeyCheck: Sendable {
    private let connection: PostgresConnection
    private let keys: MasterKeyRing

    /// Rows of one key that are tried: more than one, so that a row that somebody changed does not speak for all.
    private static let rowsPerKey: Int64 = 10

    /// Makes a check.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the gateway.
    ///   - keys: The keys given.
    public init(connection: PostgresConnection, keys: MasterKeyRing) {
        self.connection = connection
        self.keys = keys
    }

    /// Looks at some rows of each key in use.
    ///
    /// - Returns: What is wrong, once for each identifier: no such key is given, or one that opens none of those rows.
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

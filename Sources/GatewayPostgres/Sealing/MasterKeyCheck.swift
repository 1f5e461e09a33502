public import LibPQ

/// Checks that the given master keys open the secrets in the database.
public struct MasterKeyCheck: Sendable {
    private let connection: PostgresConnection
    private let keys: MasterKeyRing

    /// How the given keys fit the sealed rows that were tried.
    public struct Outcome: Sendable, Equatable {
        /// One error for each key identifier with a fault: no such key is given, or the key opens none of its rows.
        public var flaws: [MasterKeyError]
        /// Identifiers of the keys that open some of their rows and not others.
        public var partial: [String]
    }

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
    /// - Returns: The flaws and the identifiers, each in the order of the identifiers. A row that does not open beside
    ///   others that do is no flaw: it may have been changed, and it takes a gateway that serves to delete the row and
    ///   make another one.
    public func run() async throws(PostgresError) -> Outcome {
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
        return Outcome(
            flaws: flaws.filter { !fitting.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value),
            partial: fitting.filter { flaws[$0] != nil }.sorted())
    }
}

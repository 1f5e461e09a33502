public import LibPQ
import Testing

extension PostgresConnection {
    /// Reads one number.
    ///
    /// - Parameter sql: A query of one row and one column, or an expression.
    public func number(_ sql: String) async throws -> Int64 {
        let numbers = try await execute(
            Statement<Void, Int64>("SELECT (\(sql))::bigint") { row throws(PostgresError) in try row.decode(0) })
        return try #require(numbers.first)
    }

    /// Reads texts, one per row.
    public func texts(_ sql: String) async throws -> [String] {
        try await execute(Statement<Void, String>(sql) { row throws(PostgresError) in try row.decode(0) })
    }
}

import LibPQ
import Logging
import PostgresTesting
import Testing

@Suite(.database)
struct StatementTests {
    @Test func executesAStatement() async throws {
        let connection = PostgresConnection(
            try TestDatabase.current.configuration(sessionSettings: [("statement_timeout", "5s")]),
            logger: Logger(label: "test"))
        let statement = Statement<Int64, Int64>("SELECT $1 + 1") {
            [$0]
        } decode: { row throws(PostgresError) in
            try row.decode(0)
        }
        #expect(try await connection.execute(statement, 41) == [42])
    }
}

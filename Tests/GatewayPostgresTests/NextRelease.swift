import FoundationEssentials
import LibPQ
import Testing

@testable import GatewayPostgres

/// The program of the next version: it adds a column to the ledger, records single issuances by a function with another
/// contract, and in the end demands what gateways of this version do not write.
enum NextRelease {
    /// The migration that expands.
    static let expand = Migration(
        version: SchemaState.carried.version + 1, name: "add_client",
        sql: Array("-- Kind: expand\n\nALTER TABLE issuances ADD COLUMN client text;\n".utf8))

    /// The migration that contracts. It runs while nothing is recorded, so it counts what was recorded before.
    static let contract = Migration(
        version: SchemaState.carried.version + 2, name: "demand_client",
        sql: Array(
            """
            -- Kind: contract, serves from \(SchemaState.carried.version + 1)

            CREATE TABLE counted AS SELECT count(*)::bigint AS issuances FROM issuances;
            """.utf8))

    static let migrations = Migration.all + [expand, contract]

    /// Without `record_issuance`, and with `record_issuance_v2`, which has one argument more.
    static func functions() throws -> [SchemaFunction] {
        let old = try #require(SchemaFunction.all.first { $0.name == "record_issuance" })
        let text = String(decoding: old.sql, as: UTF8.self)
            .replacing("FUNCTION record_issuance(", with: "FUNCTION record_issuance_v2(")
            .replacing("p_reserves boolean\n)", with: "p_reserves boolean, p_client text\n)")
        #expect(text.contains("p_client"))
        return SchemaFunction.all.filter { $0.name != old.name }
            + [SchemaFunction(name: "record_issuance_v2", sql: Array(text.utf8))]
    }

    static func migrator(_ connection: PostgresConnection) throws -> Migrator {
        Migrator(
            connection: connection, migrations: migrations, functions: try functions(), program: "1.1.0",
            logger: .silent)
    }
}

extension PostgresConnection {
    /// Writes down a gateway that was built for a schema.
    func announce(_ id: UUID, version: String = "1.0.0", _ state: SchemaState = .carried) async throws {
        try await perform(
            Statement<SchemaState, Void>(
                """
                SELECT note_gateway('\(id)', '\(version)', now(), clock_timestamp(), NULL, NULL, '{k1}', $1, $2)
                """
            ) { [$0.version, $0.functionSet] }, state)
    }

    /// Makes all heartbeats older.
    func age(by seconds: Int) async throws {
        try await runScript("UPDATE gateways SET last_seen_at = last_seen_at - interval '\(seconds) s'")
    }
}

extension Migrator {
    /// Makes one of this version, or of a later one with further migrations or other functions.
    init(
        connection: PostgresConnection, migrations: [Migration] = Migration.all,
        functions: [SchemaFunction] = SchemaFunction.all, program: String = "1.0.0"
    ) {
        self.init(
            connection: connection, migrations: migrations, functions: functions, program: program, logger: .silent)
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Locks on the days of the ledger, of which PostgreSQL has room for a certain number.
@Suite(.timeLimit(.minutes(2))) struct LedgerLockTests {
    @Test(.database(.migrated)) func `one issuance and one upload are found without a lock on other days`()
        async throws
    {
        let world = try LedgerWorld()
        let far = LedgerWorld.Row(at: LedgerWorld.noon.addingTimeInterval(-20 * 86_400))
        let id = try await world.write([LedgerWorld.Row(), far])[0]
        let database = try TestDatabase.current
        let settings = PostgresAdminStores.sessionSettings + [("role", "sluice_gateway")]
        let pool = PostgresPool(try database.configuration(sessionSettings: settings), size: 1, logger: .silent)
        let uploads = PostgresUploads(pool: pool, ledgerPool: pool, logger: .silent, now: { Date() })

        let holder = try PostgresConnection(testing: database.connectionString)
        let partition = try #require(
            try await holder.texts("SELECT min(p.partition::text) FROM issuances_partitions() p").first)
        try await holder.runScript("BEGIN; LOCK TABLE \(partition) IN ACCESS EXCLUSIVE MODE")
        // Unless told otherwise, PostgreSQL considers a plan for any values at the sixth time.
        for _ in 0..<8 {
            #expect(try await world.reader.issuance(id).id == id)
            #expect(try await uploads.upload(id)?.record.id == id)
        }
        try await holder.runScript("ROLLBACK")
    }

    @Test(.database(.migrated)) func `the locks that all days take are counted`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let room = try await DatabaseDiagnosis(connection: connection).lockRoom()
        try await connection.runScript("BEGIN; SELECT FROM issuances WHERE id = gen_random_uuid()")
        let taken = try await connection.number(
            """
            SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
            WHERE l.pid = pg_backend_pid() AND c.relname ~ '^issuances_[0-9]{8}'
            """)
        try await connection.runScript("ROLLBACK")
        #expect(room.ofLedger == taken && taken > room.days)
        #expect(try await connection.number("SELECT count(*) FROM issuances_partitions()") == room.days)
        #expect(try await connection.number("SELECT current_setting('max_connections')") <= room.transactions)
    }

    @Test(arguments: [(228, false), (229, true), (1508, true)])
    func `PostgreSQL's own settings are too small for a year`(days: Int, isShort: Bool) {
        var room = LockRoom(setting: 64, transactions: 100, days: Int64(days), ofLedger: 7 * Int64(days))
        #expect(room.isShort == isShort)
        room.setting = room.sufficientSetting
        room.ofLedger += 7 * 365
        #expect(!room.isShort, "\(room)")
    }
}

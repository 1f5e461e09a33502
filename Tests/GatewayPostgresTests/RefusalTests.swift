import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Single refusals in the database: complete, sampled, bounded, and found by the request.
@Suite struct RefusalTests {
    private static func record(
        _ id: String, of user: String? = "alice", from address: String? = "192.0.2.7", at time: Date = .now,
        subject: String? = "contentTypes"
    ) throws -> RefusalRecord {
        RefusalRecord(
            requestID: id, at: Date(timeIntervalSince1970: time.timeIntervalSince1970.rounded(.down)), method: "POST",
            route: "/v1/presigned-urls", status: 403,
            note: RefusalNote(
                code: "AccessDenied", .conditionFailed, subject: subject,
                target: RefusalTarget(.putObject, on: "team/secret-name", in: try BucketName("demo")),
                grantID: LedgerWorld.id(7)),
            principal: try user.map { try .user($0) }, sourceAddress: address.flatMap { IPAddress($0) })
    }

    /// A journal that writes and reads with the rights of the gateway only.
    private func journal(
        _ limits: RefusalSampler.Limits = .init()
    ) throws -> (journal: PostgresRefusals, connection: PostgresConnection) {
        let database = try TestDatabase.current
        let settings: [(name: String, value: String)] = [("role", "sluice_gateway")]
        let pool = PostgresPool(try database.configuration(sessionSettings: settings), size: 1, logger: .silent)
        let gateway = PostgresConnection(try database.configuration(sessionSettings: settings), logger: .silent)
        let journal = PostgresRefusals(
            connection: gateway, pool: pool, interval: .seconds(3600), limits: limits, logger: .silent)
        return (journal, try PostgresConnection(testing: database.connectionString))
    }

    @Test(.database(.migrated)) func `what is kept is found again as it was, before and after it is written`()
        async throws
    {
        let (journal, connection) = try journal()
        let full = try Self.record("request-full")
        let bare = RefusalRecord(
            requestID: "request-bare", at: full.at, method: "GET", route: "/v1/access", status: 401,
            note: RefusalNote(code: "Unauthenticated", .noCredential), principal: nil, sourceAddress: nil)
        let version6 = try Self.record("request-six", from: "2001:db8:0:0:1::7")
        for row in [full, bare, version6] { #expect(journal.keep(row)) }
        #expect(try await journal.refusals(ofRequest: "request-full", around: nil).rows == [full])
        await journal.flush()
        #expect(try await connection.number("SELECT count(*) FROM refusals") == 3)
        for row in [full, bare, version6] {
            let found = try await journal.refusals(ofRequest: row.requestID, around: .now)
            #expect(found.rows == [row] && found.keptSince == full.at && found.droppedNearby == 0)
        }
        #expect(try await journal.refusals(ofRequest: "request-none", around: .now).rows.isEmpty)
        #expect(
            try await connection.number("SELECT count(*) FROM refusals r WHERE r::text LIKE '%secret-name%'") == 0)
    }

    @Test(.database(.migrated)) func `what is being written is found as well`() async throws {
        let (journal, connection) = try journal()
        let row = try Self.record("request-leaving")
        #expect(journal.keep(row))
        // Writers wait for this lock, and readers do not.
        try await connection.runScript("BEGIN; LOCK TABLE refusals IN EXCLUSIVE MODE")
        async let flush: Void = journal.flush()
        try await connection.waitForBlocked(on: "relation")
        let found = try await journal.refusals(ofRequest: row.requestID, around: .now)
        #expect(found.rows == [row] && found.keptSince == row.at)
        try await connection.runScript("COMMIT")
        await flush
        #expect(try await journal.refusals(ofRequest: row.requestID, around: .now).rows == [row])
        #expect(try await connection.number("SELECT count(*) FROM refusals") == 1)
    }

    @Test(.database(.migrated)) func `a flood is sampled by its origin and in all, and the answer says so`()
        async throws
    {
        let (journal, connection) = try journal(.init(perBatch: 10, perOrigin: 3))
        // One principal from many addresses, one network of version 6 without a principal, then many principals.
        let one = try (0..<20).map { try Self.record("request-\($0)", from: "198.51.100.\($0)") }
        let network = try (1...20).map { try Self.record("network-\($0)", of: nil, from: "2001:db8:1:2::\($0)") }
        let many = try (0..<20).map { try Self.record("others-\($0)", of: "user-\($0)") }
        #expect(one.filter { journal.keep($0) }.count == 3)
        #expect(network.filter { journal.keep($0) }.count == 3)
        #expect(many.filter { journal.keep($0) }.count == 4)
        #expect(try await journal.refusals(ofRequest: "request-9", around: .now).droppedNearby == 50)
        await journal.flush()
        #expect(try await connection.number("SELECT count(*) FROM refusals") == 10)
        #expect(try await connection.number("SELECT sum(dropped) FROM refusal_gaps") == 50)
        let later = Date.now.addingTimeInterval(600)
        #expect(try await journal.refusals(ofRequest: "request-9", around: .now).droppedNearby == 50)
        #expect(try await journal.refusals(ofRequest: "request-9", around: later).droppedNearby == 0)
        #expect(try await journal.refusals(ofRequest: "request-9", around: nil).droppedNearby == 50)
        // The next batch has room again, and what it drops is added.
        let next = one.filter { journal.keep($0) }.count
        #expect(next == 3)
        await journal.flush()
        #expect(try await connection.number("SELECT count(*) FROM refusals") == 13)
        #expect(try await connection.number("SELECT sum(dropped) FROM refusal_gaps") == 67)
    }

    @Test(.database(.migrated)) func `a batch that the database refuses is counted, one that it misses is kept`()
        async throws
    {
        let (journal, connection) = try journal(.init(perBatch: 1))
        #expect(journal.keep(try Self.record("request-bad-\u{0}")))
        #expect(try !journal.keep(Self.record("request-too-many")))
        await journal.flush()
        #expect(journal.keep(try Self.record("request-good")))
        try await connection.runScript("ALTER TABLE refusals RENAME TO elsewhere")
        await journal.flush()
        try await connection.runScript("ALTER TABLE elsewhere RENAME TO refusals")
        await journal.flush()
        #expect(try await connection.number("SELECT count(*) FROM refusals WHERE request_id = 'request-good'") == 1)
        #expect(try await connection.number("SELECT count(*) FROM refusals") == 1)
        #expect(try await connection.number("SELECT sum(dropped) FROM refusal_gaps") == 2)
    }

    @Test(.database(.migrated)) func `upkeep removes what is too old and the oldest of what is too much`() async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript(
            """
            INSERT INTO refusals (request_id, refused_at, method, route, status, code, reason)
            SELECT 'old-' || n, now() - interval '8 days', 'GET', '/', 401, 'c', 'noCredential'
            FROM generate_series(1, 2500) n;
            INSERT INTO refusals (request_id, refused_at, method, route, status, code, reason)
            SELECT 'new-' || n, now() - interval '6 days', 'GET', '/', 401, 'c', 'noCredential'
            FROM generate_series(1, 50) n;
            INSERT INTO refusal_gaps VALUES (now() - interval '8 days', 5), (now() - interval '6 days', 6);
            """)
        func prune(rows: Int) async {
            await PartitionUpkeep(
                connection: connection, sums: connection, schedule: .init(keepRefusalsDays: 7, keepRefusals: rows),
                clock: .right, logger: .silent
            ).runRound()
        }
        await prune(rows: 1_000_000)
        #expect(try await connection.number("SELECT count(*) FROM refusals") == 50)
        #expect(try await connection.number("SELECT sum(dropped) FROM refusal_gaps") == 6)
        await prune(rows: 20)
        #expect(try await connection.number("SELECT count(*) FROM refusals") == 20)
        #expect(try await connection.number("SELECT count(*) FROM refusals WHERE request_id = 'new-31'") == 1)
        #expect(try await connection.number("SELECT count(*) FROM refusals WHERE request_id = 'new-30'") == 0)
    }

    @Test(.database(.migrated)) func `issuances are found by request within its time, by the primary key`() async throws
    {
        let world = try LedgerWorld()
        let ids = try await world.write([.init(), .init(), .init()])
        try await world.connection.runScript(
            "UPDATE issuances SET request_id = 'request-2' WHERE id IN ('\(ids[0])', '\(ids[2])')")
        let noon = LedgerWorld.noon
        let (from, to) = (noon.addingTimeInterval(-10), noon.addingTimeInterval(60))
        let found = try await world.reader.issuances(ofRequest: "request-2", from: from, to: to)
        #expect(Set(found.map(\.id)) == [ids[0], ids[2]])
        let later = noon.addingTimeInterval(3600)
        #expect(try await world.reader.issuances(ofRequest: "request-2", from: to, to: later).isEmpty)
    }

    @Test(.database(.migrated)) func `the gateway's role adds refusals by the function only`() async throws {
        let database = try TestDatabase.current
        let settings: [(name: String, value: String)] = [("role", "sluice_gateway")]
        let gateway = PostgresConnection(try database.configuration(sessionSettings: settings), logger: .silent)
        for statement in [
            "DELETE FROM refusals", "UPDATE refusals SET code = ''", "DELETE FROM refusal_gaps",
            "INSERT INTO refusal_gaps VALUES (now(), 1)",
        ] {
            await #expect(throws: PostgresError.self) { try await gateway.runScript(statement) }
        }
    }
}

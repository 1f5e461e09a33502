import Foundation
import GatewayCore
import LibPQ
import Logging
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayPostgres

@Suite(.timeLimit(.minutes(2))) struct DatabaseFiguresTests {
    /// Figures as a gateway of version 7 reads them that has read the policy log up to a line.
    private func figures(
        readUpTo sequence: Int64?, keepDays: Int? = nil, now: Date = Date(timeIntervalSince1970: 1000)
    ) throws -> DatabaseFigures {
        let settings = PostgresIssuances.sessionSettings + [("role", "sluice_gateway")]
        let pool = try PostgresPool(
            TestDatabase.current.configuration(sessionSettings: settings), size: 1,
            logger: .silent)
        return DatabaseFigures(
            pool: pool, version: "7", keepDays: keepDays, logger: .silent, now: { now },
            policySequence: { sequence })
    }

    @Test(.database(.migrated)) func `figures are what the tables say; partitions count up to a gap`() async throws {
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await owner.runScript(
            """
            SELECT prepare_issuances_partitions(9);
            DO $$ BEGIN
                EXECUTE 'DROP TABLE issuances_'
                    || to_char((clock_timestamp() AT TIME ZONE 'UTC')::date + 4, 'YYYYMMDD');
            END $$;
            \(HeldBytes.ofNobody("10 * n", deadAt: "now() + n * interval '1 hour'", from: "generate_series(1, 3) n"));
            UPDATE reservations SET dead_at = now() - interval '15 minutes' - amount * interval '10 seconds'
            WHERE amount < 30;
            INSERT INTO gateways (id, version, started_at, last_seen_at, clock_difference, key_ids)
            SELECT gen_random_uuid(), v, now(), now() - age * interval '1 second', 0, '{}'
            FROM (VALUES ('7', 0), ('7', 1), ('8', 2), ('6', 3), ('6', 4), ('7', 31), ('7', -3600)) AS g (v, age);
            """)
        let last = try await owner.position().sequence
        let figures = try figures(readUpTo: last - 1)
        #expect(figures.reading == DatabaseFigures.Reading())
        await figures.read()
        let reading = figures.reading
        #expect(reading.partitionsAhead == 3)
        #expect(reading.aliveReservations == 1 && reading.dueReservations == 2 && reading.reservedBytes == 60)
        #expect(abs(reading.dueSeconds - 200) < 20)
        #expect(reading.gateways == 2 && reading.otherGateways == 3)
        #expect(reading.schemaVersion == DatabaseFigures.expectedSchemaVersion && reading.schemaVersion > 0)
        #expect(reading.policySequence == Int(last) && reading.policyLag == 1)
        #expect(reading.readAt == 1000 && reading.reservationsReadAt == 1000)
    }

    @Test(.database(.migrated)) func `a day whose table is detached is a gap, today too`() async throws {
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await owner.runScript("SELECT prepare_issuances_partitions(9)")
        let figures = try figures(readUpTo: 0)
        for (day, ahead) in [(2, 1), (0, -1)] {
            try await owner.runScript(
                """
                DO $$ BEGIN
                    EXECUTE 'ALTER TABLE issuances DETACH PARTITION issuances_'
                        || to_char((clock_timestamp() AT TIME ZONE 'UTC')::date + \(day), 'YYYYMMDD');
                END $$
                """)
            await figures.read()
            #expect(figures.reading.partitionsAhead == ahead)
        }
    }

    /// A day counts that upkeep would drop: one that is old by both clocks.
    @Test(.database(.migrated)) func `days past retention count while they are there`() async throws {
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await owner.runScript(
            "SELECT create_issuances_partition('2020-01-01'), create_issuances_partition('2020-01-02')")
        let longAgo = Date(timeIntervalSince1970: 1_577_923_200)
        for (keepDays, now, expired) in [(nil, Date(), 0), (40, longAgo, 0), (40, Date(), 2)] as [(Int?, Date, Int)] {
            let figures = try figures(readUpTo: 0, keepDays: keepDays, now: now)
            await figures.read()
            #expect(figures.reading.partitionsExpired == expired && figures.reading.readAt > 0)
        }
        try await owner.runScript("DROP TABLE issuances_20200101")
        let figures = try figures(readUpTo: 0, keepDays: 40, now: Date())
        await figures.read()
        #expect(figures.reading.partitionsExpired == 1)
    }

    /// What became of these uploads, nobody can tell yet: a gigabyte takes hours at 64 KiB a second, and a part lies
    /// nowhere before its upload is completed.
    @Test(.database(.migrated)) func `a reservation is due once the store can tell what arrived`() async throws {
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        for (bytes, state, expectedDue) in [
            (10, nil, true), (1 << 30, nil, false), (10, "open", false), (10, "completed", true),
            (1 << 30, "aborted", false), (10, "expired", true),
        ] as [(Int, String?, Bool)] {
            try await owner.runScript(
                """
                TRUNCATE reservations, multipart_uploads CASCADE;
                \(HeldBytes.ofNobody("\(bytes)", deadAt: "now() - interval '2 hours'"));
                """)
            if let state {
                let isOver = state == "expired"
                try await owner.runScript(
                    """
                    INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state,
                        store_upload_id, expires_at, check_at)
                    VALUES (gen_random_uuid(), 'user:a', 'b', 'k', 'text/plain', '\(isOver ? "open" : state)', 'X',
                        now() + interval '\(isOver ? -1 : 1) hours', now());
                    INSERT INTO multipart_parts (upload_id, part_number, issuance_id)
                    SELECT u.id, 1, r.issuance_id FROM multipart_uploads u CROSS JOIN reservations r;
                    """)
            }
            let figures = try figures(readUpTo: 0)
            await figures.read()
            #expect(figures.reading.dueReservations == (expectedDue ? 1 : 0), "\(bytes) \(state ?? "")")
            #expect(figures.reading.aliveReservations == (expectedDue ? 0 : 1), "\(bytes) \(state ?? "")")
            let wanted = expectedDue ? (state == "expired" ? 2700.0 : 6300.0) : 0
            #expect(abs(figures.reading.dueSeconds - wanted) < 20, "\(bytes) \(state ?? "")")
        }
    }

    @Test(.database(.migrated)) func `reservations that take long to read are seldom read`() async throws {
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let reserve = HeldBytes.ofNobody("10")
        let quick = try figures(readUpTo: 0)
        let begin = ContinuousClock.now
        await quick.read()
        let took = ContinuousClock.now - begin
        // Several times as slow, as with a large table.
        let slow = try figures(readUpTo: 0)
        try await owner.runScript("BEGIN; LOCK TABLE reservations")
        async let first: Void = slow.read()
        try await owner.waitForBlocked(on: "relation")
        let waits = ContinuousClock.now
        try await eventually { ContinuousClock.now - waits > took * 5 }
        let pauseEnd = ContinuousClock.now + took * 5 * 100
        try await owner.runScript("COMMIT")
        await first
        try await owner.runScript(
            """
            \(reserve);
            INSERT INTO gateways (id, version, started_at, last_seen_at, clock_difference, key_ids)
            VALUES (gen_random_uuid(), '7', now(), now(), 0, '{}');
            """)
        try await eventually {
            // On a busy machine the turn of the reservations comes late, and the gateway must be alive then.
            try await owner.runScript("UPDATE gateways SET last_seen_at = now()")
            await quick.read()
            await slow.read()
            return quick.reading.reservedBytes == 10
        }
        #expect(slow.reading.gateways == 1)
        // Where the machine was held up, the turn of the reservations may have come.
        if ContinuousClock.now < pauseEnd { #expect(slow.reading.reservedBytes == 0) }
    }

    @Test(.database(.migrated)) func `a gateway that reads while the log grows lags behind nothing`() async throws {
        let figures = try figures(readUpTo: 1_000_000)
        await figures.read()
        #expect(figures.reading.policyLag == 0 && figures.reading.dueSeconds == 0 && figures.reading.readAt > 0)
    }

    @Test(.database(.migrated)) func `a gateway that has read no policy lags behind nothing`() async throws {
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try #require(try await owner.position().sequence > 0)
        let figures = try figures(readUpTo: nil)
        await figures.read()
        #expect(figures.reading.policyLag == 0 && figures.reading.policySequence > 0)
    }

    @Test(.database(.migrated)) func `a reading that fails leaves the last one`() async throws {
        let figures = try figures(readUpTo: 0)
        await figures.read()
        let reading = figures.reading
        let owner = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await owner.runScript("REVOKE SELECT ON gateways FROM sluice_gateway")
        await figures.read()
        #expect(figures.reading == reading && reading.readAt == 1000)
    }
}

import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import TestSupport
import Testing

@testable import GatewayPostgres

/// Partitions that come and go while the ledger is in use.
@Suite struct UpkeepTests {
    /// Prepares a ledger with a partition of 2020 that holds a charge to a total.
    private func prepare(_ connection: PostgresConnection) async throws {
        let quota = Quota.sample(limit: 100, period: .total)
        try await connection.insert(quota)
        let proposal = try IssuanceProposal.sample(at: await connection.position(), charges: [quota.charge(3)])
        _ = try await connection.record([proposal])
        try await connection.runScript(
            """
            SELECT create_issuances_partition('2020-01-01');
            UPDATE issuances SET issued_at = '2020-01-01 12:00:00+00';
            """)
    }

    private func upkeep(
        _ connection: PostgresConnection, keepDays: Int? = 40, clock: LedgerClock = .right
    ) -> PartitionUpkeep {
        PartitionUpkeep(
            connection: connection, sums: connection, schedule: .init(keepDays: keepDays), clock: clock,
            logger: .silent)
    }

    /// PostgreSQL would otherwise go on, with its locks, until the statement ends, which may take an hour.
    @Test(
        .database,
        arguments: [
            UsageUpkeep.sessionSettings, IndexUpkeep.sessionSettings, BulkConnections.sessionSettings,
        ])
    func longStatementsEndWithTheirGateway(_ settings: [(name: String, value: String)]) async throws {
        let connection = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: settings)
        #expect(try await connection.texts("SHOW client_connection_check_interval") == ["1s"])
    }

    /// A day too large to be emptied in time blocks nothing else.
    @Test(.database(.migrated)) func removesExpiredRowsAlsoWhereADayCannotBeDropped() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let hurried = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("statement_timeout", "1ms")])
        try await prepare(connection)
        try await connection.runScript(
            """
            INSERT INTO deletions (principal, issuance_id, bucket, object_key, dead_at)
            VALUES ('user:a', gen_random_uuid(), 'demo', 'k', now() - interval '400 days')
            """)
        await PartitionUpkeep(
            connection: connection, sums: hurried, schedule: .init(keepDays: 40), clock: .right, logger: .silent
        ).runRound()
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 1)
        #expect(try await connection.number("SELECT count(*) FROM deletions") == 0)
        await upkeep(connection).runRound()
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
    }

    /// As if the database's clock had been set forward: only the database finds that the rows are old.
    @Test(.database(.migrated)) func keepsWhatIsOldByTheDatabasesClockAlone() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await prepare(connection)
        let daily = Quota.sample(limit: 100, period: .day)
        try await connection.insert(daily)
        try await connection.runScript(
            """
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            VALUES ('\(daily.id)', 'user:a', '2020-01-01', false, 1);
            INSERT INTO tickets (id, name, hash, principal, groups, claims, bucket, prefix, actions, max_uses, expires_at)
            VALUES (gen_random_uuid(), 'abcdefghijkl', sha256(''), 'user:a', '{}', '{}', 'demo', '', '{PutObject}', 1,
                '2020-01-01');
            INSERT INTO deletions (principal, issuance_id, bucket, object_key, dead_at)
            VALUES ('user:a', gen_random_uuid(), 'demo', 'k', '2020-01-01');
            INSERT INTO denials (principal, code, minute, count) VALUES ('user:a', 'AccessDenied', '2020-01-01', 1);
            INSERT INTO refusals (request_id, refused_at, method, route, status, code, reason)
            VALUES ('a-request', '2020-01-01', 'POST', '/v1/presigned-urls', 403, 'AccessDenied', 'none');
            INSERT INTO refusal_gaps (minute, dropped) VALUES ('2020-01-01', 1);
            INSERT INTO idempotency_keys (id, caller, route, key_digest, body_digest, attempt, claimed_until, created_at)
            VALUES (gen_random_uuid(), 'user:a', 'POST /v1/presigned-urls', sha256(''), sha256(''), gen_random_uuid(),
                '2020-01-01', '2020-01-01');
            INSERT INTO store_events (bucket, object_key, made_at, received_at)
            VALUES ('demo', 'k', '2020-01-01', '2020-01-01');
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at)
            VALUES (gen_random_uuid(), 'user:a', 'demo', 'k', 'a/b', 'aborted', '2020-01-01', '2020-01-01');
            """)
        let tables = [
            "issuances", "quota_usage WHERE period_start = '2020-01-01'", "tickets", "deletions", "denials", "refusals",
            "refusal_gaps", "idempotency_keys", "store_events", "multipart_uploads",
        ]
        func counts(after clock: LedgerClock) async throws -> [Int64] {
            await upkeep(connection, clock: clock).runRound()
            await MultipartUpkeep(connection: connection, clock: clock, logger: .silent) { _ in }.runRound()
            var counts: [Int64] = []
            for table in tables { counts.append(try await connection.number("SELECT count(*) FROM \(table)")) }
            return counts
        }
        let then = LedgerClock(maxDifference: 5, logger: .silent) { Date(timeIntervalSince1970: 1_577_923_200) }
        #expect(try await counts(after: then) == tables.map { _ in 1 })
        #expect(try await counts(after: .right) == tables.map { _ in 0 })
    }

    /// The other way round: only the gateway finds that what is new is old.
    @Test(.database(.migrated)) func keepsWhatIsOldByTheGatewaysClockAlone() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let quota = Quota.sample(limit: 100, period: .day)
        try await connection.insert(quota)
        let proposal = try IssuanceProposal.sample(at: await connection.position(), charges: [quota.charge(3)])
        _ = try await connection.record([proposal])
        try await connection.runScript(
            """
            INSERT INTO deletions (principal, issuance_id, bucket, object_key, dead_at)
            VALUES ('user:a', gen_random_uuid(), 'demo', 'k', now());
            INSERT INTO denials (principal, code, minute, count) VALUES ('user:a', 'AccessDenied', now(), 1);
            """)
        await upkeep(connection, clock: .ahead(500 * 86_400)).runRound()
        for table in ["issuances", "quota_usage", "deletions", "denials"] {
            #expect(try await connection.number("SELECT count(*) FROM \(table)") == 1, "\(table)")
        }
    }

    @Test(.database(.migrated)) func dropsWhatIsPastRetentionAndKeepsTotals() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await prepare(connection)
        await upkeep(connection, keepDays: nil).runRound()
        // The first round may be for today, from which the row was moved away.
        for _ in 0..<2 { await UsageUpkeep(connection: connection, logger: .silent).runRound() }
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 1)
        #expect(try await connection.number("SELECT sum(urls) FROM issuance_sums") == 1)
        try await connection.runScript(
            """
            INSERT INTO landing_sums SELECT d, 'demo', 'PutObject', 'presigned-url', gen_random_uuid(), 1
            FROM unnest('{2020-01-01 00:00+00,2020-01-01 23:59+00,2019-12-31 23:59+00}'::timestamptz[]) d
            """)
        await upkeep(connection).runRound()
        #expect(try await connection.number("SELECT count(*) FROM landing_sums") == 1)
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
        #expect(try await connection.number("SELECT count(*) FROM issuance_sums") == 0)
        #expect(try await connection.number("SELECT count(*) FROM summed_days WHERE starts_at < '2020-02-01'") == 0)
        #expect(try await connection.number("SELECT count(to_regclass('issuances_20200101'))") == 0)
        #expect(try await connection.number("SELECT archived FROM quota_usage") == 3)
        #expect(try await QuotaAuditor(connection: connection).audit() == [])
    }

    /// While the archive is written, recordings that charge its counters wait.
    @Test(.database(.migrated)) func archivesTheChargesOfManyHoldersSoon() async throws {
        let connection = try PostgresConnection(
            testing: TestDatabase.current.connectionString,
            settings: [("plan_cache_mode", "force_generic_plan"), ("statement_timeout", "5s")])
        let quota = Quota.sample(limit: 100, period: .total)
        try await connection.insert(quota)
        try await connection.runScript(
            """
            SELECT create_issuances_partition('2020-01-01');
            INSERT INTO issuances (id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id,
                delivery, action, method, bucket, object_key, expires_at, request_id, quota_ids, quota_amounts)
            SELECT gen_random_uuid(), '2020-01-01 12:00+00', 1, 'user:' || n, '*', gen_random_uuid(), gen_random_uuid(),
                'presigned-url', 'GetObject', 'GET', 'demo', 'k', '2020-01-01 13:00+00', '', '{\(quota.id)}', '{3}'
            FROM generate_series(1, 5000) n;
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            SELECT '\(quota.id)', i.principal, 'epoch', false, 3 FROM issuances i;
            SELECT empty_issuances_partition('2020-01-01', 40, now())
            """)
        #expect(try await connection.number("SELECT count(*) FROM quota_usage WHERE archived = 3") == 5000)
    }

    /// Another gateway may drop a day between two steps.
    @Test(.database(.migrated)) func leavesADayThatHasGone() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await prepare(connection)
        await upkeep(connection).runRound()
        try await connection.runScript("SELECT empty_issuances_partition('2020-01-01', 40, now())")
        let drop = "SELECT drop_issuances_partition('2020-01-01', 40, now())::text"
        #expect(try await connection.texts(drop) == ["false"])
    }

    /// With statistics, the planner reads tables in another order.
    @Test(.database(.migrated)) func dropsWhateverThePlannerKnowsOfTheCatalogue() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await prepare(connection)
        try await connection.runScript("ANALYZE")
        await upkeep(connection).runRound()
        #expect(try await connection.number("SELECT count(to_regclass('issuances_20200101'))") == 0)
    }

    /// A session that is idle in a transaction would otherwise stop retention unnoticed. The first of these holds locks
    /// of the days, the second one of the whole ledger.
    @Test(
        .database(.migrated),
        arguments: [
            ("SELECT count(*) FROM issuances", "55P03"),
            ("LOCK TABLE ONLY issuances IN ACCESS SHARE MODE", "a lock was not free"),
        ])
    func `the log names an expired day that stays, and why`(_ hindrance: String, _ reason: String) async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        try await prepare(connection)
        try await connection.runScript("SELECT create_issuances_partition('2020-01-02')")
        let lines = LogLines()
        let upkeep = PartitionUpkeep(
            connection: connection, sums: connection, schedule: .init(keepDays: 40), clock: .right,
            logger: lines.logger)
        let reader = try PostgresConnection(testing: database.connectionString)
        try await reader.runScript("BEGIN; \(hindrance)")
        await upkeep.runRound()
        #expect(lines.all == [], "another gateway may be about to drop the day")
        for _ in 0..<2 { await upkeep.runRound() }
        try #require(lines.all.count == 1)
        for part in ["warning expired partitions", "2020-01-01", "count=2", reason] {
            #expect(lines.all[0].contains(part), "\(part)")
        }
        try await reader.runScript("COMMIT")
        await upkeep.runRound()
        #expect(try await connection.number("SELECT count(*) FROM expired_issuances_days(40, now())") == 0)
        #expect(lines.all.count == 1)
    }

    @Test(.database(.migrated)) func `the log says that a lock keeps days from being indexed`() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        try await connection.runScript(
            """
            SELECT create_issuances_partition('2020-01-01');
            INSERT INTO summed_days VALUES ('2020-01-01 00:00+00', '2020-01-02 00:00+00', 0)
            """)
        let lines = LogLines()
        let indexing = try PostgresConnection(testing: database.connectionString)
        let upkeep = IndexUpkeep(connection: indexing, logger: lines.logger)
        try await connection.runScript("BEGIN; LOCK TABLE issuances_20200101 IN ROW EXCLUSIVE MODE")
        await upkeep.runRound()
        #expect(lines.all == [])
        for _ in 0..<2 { await upkeep.runRound() }
        try #require(lines.all.count == 1)
        #expect(lines.all[0].contains("days not indexed") && lines.all[0].contains("55P03"))
        try await connection.runScript("COMMIT")
        await upkeep.runRound()
        #expect(
            try await connection.number("SELECT count(to_regclass('issuances_20200101_object_key_idx'))") == 1)
    }

    @Test func `the log is told of work from the second round on, and once an hour`() {
        let (work, start) = (PutOffWork(), ContinuousClock.now)
        func told(_ name: String, minute: Int) -> Bool { work.isToBeTold(of: name, at: start + .seconds(60 * minute)) }
        #expect([0, 10, 20, 69, 70, 80].map { told("a", minute: $0) } == [false, true, false, false, true, false])
        #expect([90, 100].map { told("b", minute: $0) } == [false, true])
        work.forget()
        #expect([110, 120].map { told("b", minute: $0) } == [false, true])
    }

    @Test(.database(.migrated)) func leavesAPartitionThatIsRead() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        try await prepare(connection)
        let reader = try PostgresConnection(testing: database.connectionString)
        try await reader.runScript("BEGIN; SELECT count(*) FROM issuances")
        await upkeep(connection).runRound()
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 1)
        try await reader.runScript("COMMIT")
        await upkeep(connection).runRound()
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
    }

    /// While it deletes what may be much, a recording does not wait for a counter, nor a reader for the day.
    @Test(.database(.migrated), .timeLimit(.minutes(1))) func emptyingLocksLast() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        try await prepare(connection)
        try await connection.runScript(
            """
            INSERT INTO landing_sums
            VALUES ('2020-01-01 00:00+00', 'demo', 'PutObject', 'presigned-url', gen_random_uuid(), 1)
            """)
        let other = try PostgresConnection(testing: database.connectionString)
        let emptying = "SELECT empty_issuances_partition('2020-01-01', 40, now())"
        let emptyings = "%empty_issuances_partition%"
        var wasSeen = false
        // It waits for a second at most, in which a busy machine may do nothing else.
        while !wasSeen {
            try await other.runScript("BEGIN; SELECT FROM landing_sums FOR UPDATE")
            let isOver = Atomic(false)
            let run = Task {
                defer { isOver.store(true, ordering: .relaxed) }
                try await connection.runScript(emptying)
            }
            try await eventually {
                if isOver.load(ordering: .relaxed) { return true }
                return try await other.blocked(in: emptyings) > 0
            }
            try await other.runScript(
                """
                SELECT FROM quota_usage FOR UPDATE NOWAIT;
                LOCK TABLE issuances_20200101 IN ACCESS SHARE MODE NOWAIT
                """)
            wasSeen = try await other.blocked(in: emptyings) == 1
            try await other.runScript("ROLLBACK")
            // It may have given up after it was seen.
            if case .failure = await run.result { wasSeen = false }
        }
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
        #expect(try await connection.number("SELECT count(*) FROM landing_sums") == 0)
        #expect(try await connection.number("SELECT archived FROM quota_usage") == 3)
    }

    /// can_give_back relies on these days.
    @Test(.database(.migrated)) func keepsUploadsInPartsForAsLongAsALinkOverThemMayBeSettled() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript(
            """
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at)
            SELECT gen_random_uuid(), 'user:a', 'demo', 'k' || n, 'a/b', 'completed',
                now() - interval '1 hour' * n, now()
            FROM unnest('{780,791,793}'::integer[]) n;
            INSERT INTO remote_uploads (principal, bucket, object_key, content_type, started_at)
            SELECT 'user:a', 'demo', 'k' || n, 'a/b', now() - interval '1 hour' * n
            FROM unnest('{1080,1103,1105}'::integer[]) n;
            """)
        await MultipartUpkeep(connection: connection, clock: .right, logger: .silent) { _ in }.runRound()
        #expect(
            try await connection.texts("SELECT object_key FROM multipart_uploads ORDER BY 1") == ["k780", "k791"])
        try await connection.runScript("SELECT begin_remote_upload('user:a', 'demo', 'new', 'a/b')")
        #expect(
            try await connection.texts("SELECT object_key FROM remote_uploads ORDER BY started_at") == [
                "k1103", "k1080", "new",
            ])
    }

    /// Uploads in parts that ended are found by an index, and a round removes all that are due.
    @Test(.database(.migrated)) func removesAllUploadsInPartsThatAreDue() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let due = Int(MultipartUpkeep.step) * 2 + 1
        try await connection.runScript(
            """
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at)
            SELECT gen_random_uuid(), 'user:a', 'demo', 'k' || n, 'a/b', 'completed',
                CASE WHEN n <= \(due) THEN now() - interval '100 days' ELSE now() END, now()
            FROM generate_series(1, 10000) n;
            ANALYZE multipart_uploads;
            """)
        let plan = try await connection.texts(
            """
            EXPLAIN SELECT o.id FROM multipart_uploads o
            WHERE o.state IN ('completed', 'aborted') AND o.expires_at < now() - interval '33 days'
            ORDER BY o.expires_at LIMIT 1000
            """
        ).joined(separator: "\n")
        #expect(plan.contains("multipart_uploads_ended_idx") && !plan.contains("Seq Scan"), "\(plan)")
        await MultipartUpkeep(connection: connection, clock: .right, logger: .silent) { _ in }.runRound()
        #expect(try await connection.number("SELECT count(*) FROM multipart_uploads") == Int64(10_000 - due))
    }

    /// Uploads in parts that cannot be ended keep none that ended from being removed.
    @Test(.database(.migrated)) func removesUploadsInPartsAlsoWhereNoneCanBeEnded() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript(
            """
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at)
            SELECT gen_random_uuid(), 'user:a', 'demo', 'k', 'a/b', s, now() - interval '100 days', now() - interval '1 hour'
            FROM unnest('{completed,open}'::text[]) s;
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no upload is taken'; END $$;
            CREATE TRIGGER refuse BEFORE UPDATE ON multipart_uploads FOR EACH ROW EXECUTE FUNCTION refuse();
            """)
        await MultipartUpkeep(connection: connection, clock: .right, logger: .silent) { _ in }.runRound()
        #expect(try await connection.texts("SELECT state FROM multipart_uploads") == ["open"])
    }

    /// A report that sums up reads the ledger. Dropping a day during it would make recordings wait.
    @Test(.database(.migrated)) func leavesThePartitionsWhileSomebodySumsUp() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        try await prepare(connection)
        let summer = try PostgresConnection(testing: database.connectionString)
        func hasPartition() async throws -> Bool {
            try await connection.number("SELECT count(to_regclass('issuances_20200101'))") == 1
        }
        let sum = "BEGIN; SELECT pg_advisory_xact_lock(7310868747)"
        try await summer.runScript(sum)
        await upkeep(connection).runRound()
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 1)
        try await summer.runScript("COMMIT")
        try await connection.runScript("SELECT empty_issuances_partition('2020-01-01', 40, now())")
        try await summer.runScript(sum)
        let drop = "SELECT drop_issuances_partition('2020-01-01', 40, now())::text"
        #expect(try await connection.texts(drop) == ["false"])
        #expect(try await hasPartition())
        try await summer.runScript("COMMIT")
        await upkeep(connection).runRound()
        #expect(try await !hasPartition())
    }

    @Test(
        .database(.migrated),
        arguments: [
            "SELECT empty_issuances_partition(current_date, 32, now())", "SELECT expired_issuances_days(31, now())",
            "SELECT drop_issuances_partition('2020-01-01', 40, now())",
        ]) func refusesToDropWhatIsKept(_ sql: String) async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await prepare(connection)
        await #expect(throws: PostgresError.self) { try await connection.runScript(sql) }
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 1)
    }

    /// Making partitions takes no lock for which a recording would wait.
    @Test(.database(.migrated)) func recordsWhilePartitionsAreMade() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        let proposal = try IssuanceProposal.sample(at: await connection.position())
        let maker = try PostgresConnection(testing: database.connectionString)
        try await maker.runScript("BEGIN; SELECT prepare_issuances_partitions(30)")
        _ = try await connection.record([proposal])
        _ = try await connection.record([proposal.again], by: .one)
        try await maker.runScript("COMMIT")
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 2)
        #expect(
            try await connection.number("SELECT count(*) FROM pg_inherits WHERE inhparent = 'issuances'::regclass")
                == 31)
    }

    @Test(.database(.migrated)) func prunesCountersThatAreOver() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let quota = Quota.sample(limit: 100, period: .hour)
        try await connection.insert(quota)
        try await connection.runScript(
            """
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            SELECT '\(quota.id)', 'user:a', quota_period_start('hour', now() - make_interval(hours => h)), false, 1
            FROM generate_series(0, 5) h;
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            VALUES (gen_random_uuid(), 'user:a', now(), false, 1);
            INSERT INTO denials VALUES ('*', '', 'AccessDenied', now() - interval '91 days', 1),
                ('*', '', 'AccessDenied', now(), 1);
            """)
        await upkeep(connection).runRound()
        // This hour, the previous one, which a recording may still be about to charge, and perhaps the one before it.
        #expect((2...3).contains(try await connection.number("SELECT count(*) FROM quota_usage")))
        #expect(try await connection.number("SELECT count(*) FROM denials") == 1)
    }

    /// A step that read them all would take too long beyond some number of rows, and nothing would ever be removed.
    @Test(.database(.migrated)) func `what is too old is found without reading what stays`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript(
            """
            CREATE TEMP TABLE moments AS
            SELECT n, now() - CASE WHEN n <= 5 THEN interval '400 days' ELSE interval '0' END AS at
            FROM generate_series(1, 10000) n;
            INSERT INTO tickets (id, name, hash, principal, groups, claims, bucket, prefix, actions, max_uses,
                expires_at)
            SELECT gen_random_uuid(), 'ticket' || m.n, sha256(''), 'user:a', '{}', '{}', 'demo', '', '{PutObject}', 1,
                m.at
            FROM moments m;
            INSERT INTO denials (principal, code, minute, count)
            SELECT 'user:' || m.n, 'AccessDenied', m.at, 1 FROM moments m;
            INSERT INTO deletions (principal, issuance_id, bucket, object_key, dead_at)
            SELECT 'user:a', gen_random_uuid(), 'demo', 'k', m.at FROM moments m;
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at)
            SELECT gen_random_uuid(), 'user:a', 'demo', 'k' || m.n, 'a/b', 'aborted', m.at, m.at FROM moments m;
            INSERT INTO idempotency_keys (id, caller, route, key_digest, body_digest, attempt, claimed_until,
                created_at)
            SELECT gen_random_uuid(), 'user:' || m.n, 'POST /v1/presigned-urls', sha256(''), sha256(''),
                gen_random_uuid(), m.at, m.at
            FROM moments m;
            ANALYZE tickets, denials, deletions, multipart_uploads, idempotency_keys
            """)
        let now = Date()
        let prunings: [(table: String, prune: () async throws -> Int32?)] = [
            ("tickets", { try await connection.execute(PartitionUpkeep.pruneTickets, (now, 1000)).first }),
            ("denials", { try await connection.execute(PartitionUpkeep.pruneDenials, (90, now, 1000)).first }),
            ("deletions", { try await connection.execute(PartitionUpkeep.pruneDeletions, (now, 1000)).first }),
            ("multipart_uploads", { try await connection.execute(MultipartUploadTable.prune, (90, now, 1000)).first }),
            (
                "idempotency_keys",
                { Int32(clamping: try await connection.perform(IdempotencyKeyTable.prune, (now, 1000))) }
            ),
        ]
        for (table, prune) in prunings {
            let read = try await connection.rowsRead(of: table) { () async throws in
                #expect(try await prune() == 5, "\(table)")
            }
            #expect(read < 100, "\(table)")
            #expect(try await connection.number("SELECT count(*) FROM \(table)") == 9995, "\(table)")
        }
    }

    /// Counters are many, and mostly of periods that are not over.
    @Test(.database(.migrated)) func prunesCountersWithoutReadingThoseThatStay() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        for period in [Quota.Period.minute, .hour, .day, .month, .total] {
            try await connection.insert(.sample(limit: 100, period: period))
        }
        try await connection.runScript(
            """
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            SELECT q.id, 'user:' || n, quota_period_start(q.period, now()), false, 1
            FROM quotas q CROSS JOIN generate_series(1, 200) n;
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            SELECT q.id, 'user:1', quota_period_start(q.period, now() - interval '62 days'), false, 1
            FROM quotas q WHERE q.period <> 'total';
            INSERT INTO tickets (id, name, hash, principal, groups, claims, bucket, prefix, actions, max_uses,
                expires_at)
            VALUES (gen_random_uuid(), 'abcdefghijkl', sha256(''), 'user:1', '{}', '{}', 'demo', '', '{PutObject}', 1,
                now() + interval '1 hour');
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            SELECT i.id, 'user:1', 'epoch', true, 1
            FROM (SELECT t.id FROM tickets t UNION ALL SELECT gen_random_uuid()) AS i (id);
            ANALYZE quota_usage
            """)
        let read = try await connection.rowsRead(of: "quota_usage") { () async throws in
            #expect(try await connection.execute(PartitionUpkeep.pruneCounters, (Date(), 1000)) == [5])
        }
        #expect(read < 100)
        #expect(try await connection.number("SELECT count(*) FROM quota_usage") == 1001)
    }
}

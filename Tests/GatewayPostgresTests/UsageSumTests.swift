import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

/// Figures from sums equal the ledger, to the row.
@Suite struct UsageSumTests {
    private typealias Row = LedgerWorld.Row

    /// Sums up everything recorded so far.
    private func sumUp(_ connection: PostgresConnection) async throws {
        // A call that reaches the present reports that nothing is left for now. The next call turns to older days.
        for _ in 0..<2 {
            while try await connection.execute(UsageUpkeep.sum, 1) == [true] {}
        }
        _ = try await connection.execute(UsageUpkeep.sum, 0)
        while try await connection.execute(UsageUpkeep.sumCallers) == [true] {}
    }

    /// Asks the same question of the sums and of the ledger alone.
    private func answers(
        _ query: UsageQuery, from: Date, to: Date, _ connection: PostgresConnection
    ) async throws -> (summed: [Usage], counted: [Usage]) {
        let request = UsageRequest(
            query: query, from: PostgresTimestamp(from), to: PostgresTimestamp(to), limit: 100_000)
        return (
            try await connection.execute(UsageRequest.summed, request),
            try await connection.execute(UsageRequest.counted, request)
        )
    }

    /// Fills a ledger with rows of some days and of now. Some of them charge byte quotas, with reservations.
    private func fill(_ world: LedgerWorld) async throws -> [Quota] {
        var quotas = (0..<2).map { _ in Quota.sample(limit: 1_000_000, metric: .bytes) } + [.sample(limit: 1_000_000)]
        quotas[1].period = .month
        for quota in quotas { try await world.connection.insert(quota) }
        let noon = LedgerWorld.noon
        for day in -1...2 { try await world.write([Row(at: noon.addingTimeInterval(Double(day) * 86_400 - 43_200))]) }
        try await world.connection.runScript(
            """
            INSERT INTO issuances (id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery,
                action, method, bucket, object_key, expires_at, content_length, request_id, quota_ids, quota_amounts)
            SELECT gen_random_uuid(), r.at, 1, 'user:' || n % 7, CASE n % 11 WHEN 0 THEN 'group:g' ELSE '*' END,
                md5('g' || n % 3)::uuid, md5('c' || n % 2)::uuid,
                CASE n % 5 WHEN 0 THEN 'sts' WHEN 1 THEN 'redirect' ELSE 'presigned-url' END,
                CASE n % 5 WHEN 0 THEN 'PutObject,GetObject' WHEN 1 THEN 'GetObject' ELSE 'PutObject' END,
                CASE n % 5 WHEN 0 THEN '*' WHEN 1 THEN 'GET' ELSE 'PUT' END, 'bucket-' || n % 3, 'k/' || n,
                r.at + interval '15 minutes', nullif(n % 4, 0) * 10, 'r',
                CASE n % 4 WHEN 1 THEN ARRAY['\(quotas[0].id)'::uuid, '\(quotas[2].id)']
                    WHEN 2 THEN ARRAY['\(quotas[0].id)'::uuid, '\(quotas[1].id)'] WHEN 3 THEN ARRAY[gen_random_uuid()] END,
                CASE n % 4 WHEN 1 THEN ARRAY[n, 1] WHEN 2 THEN ARRAY[n, n] WHEN 3 THEN ARRAY[1] END
            FROM generate_series(1, 4000) n
            CROSS JOIN LATERAL (
                SELECT least(date_bin('15 s', to_timestamp(\(noon.timeIntervalSince1970)) + n * interval '67 s', 'epoch'),
                    clock_timestamp() - (4000 - n) * interval '1 s') AS at
            ) r;
            \(HeldBytes.ofLedger(
                "i.quota_amounts[1]", quota: "q.id",
                from: """
                    issuances i, unnest(i.quota_ids) q (id)
                    WHERE i.content_length > 10 AND q.id IN (SELECT id FROM quotas WHERE metric = 'bytes')
                    """));
            """)
        return quotas
    }

    @Test(.database(.migrated)) func sumsTellWhatTheLedgerTells() async throws {
        let world = try LedgerWorld()
        let quotas = try await fill(world)
        let gateway = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")])
        let noon = LedgerWorld.noon
        let ranges: [(TimeInterval, TimeInterval)] = [
            (-86_400, 4 * 86_400), (0, 86_400), (30, 7_242.5), (-0.000_001, 0.000_001), (15, 45),
            (43_215, 43_200.5 + 60), (-43_200, 129_600),
            (43_170, 43_199), (59.9, 60.1), (-20 * 86_400, -10 * 86_400), (100_000, 4 * 86_400),
        ]
        var sample = CombinationSample()
        func compare(_ moment: String) async throws {
            sample.nextMoment()
            for (index, range) in ranges.enumerated() {
                let (from, to) = (noon.addingTimeInterval(range.0), noon.addingTimeInterval(range.1))
                for (step, dimensions) in [
                    (UsageQuery.Step.hour, [UsageQuery.Dimension]()), (.day, [.bucket, .delivery]), (.hour, [.action]),
                ] {
                    for filter in filters where sample.takes() {
                        let (summed, counted) = try await answers(
                            UsageQuery(filter, by: step, Set(dimensions)), from: from, to: to, gateway)
                        #expect(summed == counted, "\(moment), range \(index)")
                    }
                }
                for (step, dimensions) in [
                    (UsageQuery.Step.range, [UsageQuery.Dimension.principal]), (.day, [.grant, .bucket]), (.hour, []),
                ] {
                    for filter in try filters + callerFilters where sample.takes() {
                        let query = UsageQuery(filter, by: step, Set(dimensions))
                        let request = UsageRequest(
                            query: query, from: PostgresTimestamp(from), to: PostgresTimestamp(to), limit: 100_000)
                        let summed = try await gateway.execute(UsageRequest.summedByCaller, request)
                        let counted = try await gateway.execute(UsageRequest.counted, request)
                        #expect(summed == counted, "\(moment), range \(index), of callers")
                    }
                }
            }
        }
        try await compare("nothing is summed up")
        for _ in 0..<200 { _ = try await gateway.execute(UsageUpkeep.sum, 1) }
        for _ in 0..<5 { _ = try await gateway.execute(UsageUpkeep.sumCallers) }
        try await compare("some of it is")
        try await sumUp(gateway)
        #expect(
            try await world.connection.number("SELECT sum(urls) FROM issuance_sums")
                == world.connection.number("SELECT count(*) FROM issuances"))
        for column in ["urls", "bytes_bound", "bytes_reserved"] {
            let sum = "SELECT coalesce(sum(\(column)), 0)::bigint FROM"
            #expect(
                try await world.connection.number("\(sum) caller_sums")
                    == world.connection.number(
                        "\(sum) issuance_sums s WHERE date_trunc('hour', minute) IN (SELECT starts_at FROM summed_hours)"
                    ))
        }
        #expect(try await world.connection.number("SELECT count(*) FROM summed_hours") > 24)
        #expect(try await world.connection.number("SELECT count(*) FROM summed_caller_days") > 2)
        for column in ["urls", "bytes_bound", "bytes_reserved"] {
            let sum = "SELECT coalesce(sum(\(column)), 0)::bigint FROM"
            #expect(
                try await world.connection.number("\(sum) caller_days")
                    == world.connection.number(
                        "\(sum) caller_sums WHERE date_trunc('day', hour, 'UTC') IN (SELECT starts_at FROM summed_caller_days)"
                    ))
        }
        try await compare("all is")
        try await world.write([Row(at: Date(), action: "PutObject", length: 3, quotas: [quotas[1].id], amounts: [3])])
        try await compare("there is more")
        try await world.connection.runScript("DELETE FROM quotas WHERE id = '\(quotas[0].id)'")
        try await compare("a quota is gone")
    }

    /// A million of them took ten seconds to answer about all.
    @Test(.database(.migrated)) func `Issuances of reservations are not looked up`() async throws {
        let world = try LedgerWorld()
        let quota = Quota.sample(limit: 1_000_000, metric: .bytes)
        try await world.connection.insert(quota)
        let at = Date().addingTimeInterval(-3600)
        try await world.write(
            (0..<50).map { number in
                Row(
                    at: at, principal: "user:\(number)", action: "PutObject", bucket: "bucket-\(number)",
                    quotas: [quota.id], amounts: [10])
            })
        try await world.connection.runScript(
            HeldBytes.ofLedger("10", quota: "q.id", from: "issuances i, unnest(i.quota_ids) q (id)"))
        for (filter, bytes) in [
            (.with { $0.principal = try? Principal("user:3") }, 10),
            (.with { $0.bucket = try? BucketName("bucket-3") }, 10), (IssuanceFilter(), 500),
        ] as [(IssuanceFilter, Int64)] {
            let request = UsageRequest(
                query: UsageQuery(filter), from: PostgresTimestamp(at.addingTimeInterval(-60)),
                to: PostgresTimestamp(Date()), limit: 10)
            let gateway = try PostgresConnection(
                testing: TestDatabase.current.connectionString, settings: [("role", "sluice_gateway")])
            try await gateway.runScript("BEGIN")
            #expect(try await gateway.execute(request.statement, request).map(\.bytesUnsettled) == [bytes])
            let scans = try await gateway.number(
                """
                SELECT sum(seq_scan + coalesce(idx_scan, 0)) FROM pg_stat_xact_user_tables
                WHERE relname LIKE 'issuances\\_2%'
                """)
            #expect(scans < 50)
        }
    }

    /// Settling goes on for a quota that is gone, but nothing of it is reserved any more.
    @Test(.database(.migrated)) func whatIsUnsettledIsPartOfWhatIsReserved() async throws {
        let world = try LedgerWorld()
        let quotas = [Quota.Period.day, .month].map { Quota.sample(limit: 1_000_000, metric: .bytes, period: $0) }
        for quota in quotas { try await world.connection.insert(quota) }
        let at = Date().addingTimeInterval(-3600)
        try await world.write([
            Row(at: at, action: "PutObject", quotas: [quotas[0].id], amounts: [10]),
            Row(at: at, action: "PutObject", quotas: quotas.map(\.id), amounts: [200, 200]),
        ])
        try await world.connection.runScript(
            HeldBytes.ofLedger(
                "q.amount", quota: "q.id", from: "issuances i, unnest(i.quota_ids, i.quota_amounts) q (id, amount)"))
        for (gone, bytes) in [(nil, Int64(210)), (quotas[0], 200), (quotas[1], 0)] as [(Quota?, Int64)] {
            if let gone { try await world.connection.runScript("DELETE FROM quotas WHERE id = '\(gone.id)'") }
            let request = UsageRequest(
                query: UsageQuery(IssuanceFilter()), from: PostgresTimestamp(at.addingTimeInterval(-60)),
                to: PostgresTimestamp(Date()), limit: 10)
            for statement in [UsageRequest.counted, UsageRequest.summed, UsageRequest.summedByCaller] {
                let usage = try #require(try await world.connection.execute(statement, request).first)
                #expect([usage.bytesReserved, usage.bytesUnsettled] == [bytes, bytes])
            }
        }
    }

    /// A quota may be that of a group, or of everybody together: their reservations are anybody's.
    @Test(.database(.migrated), arguments: ["user:a", "group:g", "*"])
    func whatIsReservedOfASharedQuotaIsItsCallers(holder: String) async throws {
        let world = try LedgerWorld()
        let quota = Quota.sample(
            limit: 1_000_000, principal: try Principal(holder), metric: .bytes, sharing: .shared)
        try await world.connection.insert(quota)
        let at = Date().addingTimeInterval(-3600)
        try await world.write(
            ["user:a", "user:b"].map { name in
                Row(at: at, principal: name, action: "PutObject", quotas: [quota.id], amounts: [10])
            })
        try await world.connection.runScript(
            HeldBytes.ofLedger(
                "10", quota: "'\(quota.id)'", holder: "'\(holder)'", from: "issuances i WHERE i.principal = 'user:a'"))
        for (name, bytes) in [("user:a", Int64(10)), ("user:b", 0)] {
            let request = UsageRequest(
                query: UsageQuery(.with { $0.principal = try? Principal(name) }),
                from: PostgresTimestamp(at.addingTimeInterval(-60)), to: PostgresTimestamp(Date()), limit: 10)
            #expect(
                try await world.connection.execute(request.statement, request).map(\.bytesUnsettled) == [bytes])
        }
    }

    private var callerFilters: [IssuanceFilter] {
        get throws {
            let buckets = try ["bucket-1", "bucket-2"].map { try BucketName($0) }
            let some = try [PrincipalPattern("user:3"), PrincipalPattern("user:5*")]
            let reach = try [
                AdminScope(bucket: buckets[0], prefix: "", principals: some),
                AdminScope(bucket: buckets[1], prefix: ""),
            ]
            // All by name, so that indexes find them: a user who asked, and whom a grant permitted it to.
            let named = try [
                AdminScope(bucket: buckets[0], prefix: "", principals: [PrincipalPattern("user:3")]),
                AdminScope(
                    bucket: buckets[1], prefix: "",
                    principals: [PrincipalPattern("group:g"), PrincipalPattern("user:1")]),
            ]
            let grant = UUID(uuidString: "0120a4f9-196a-5f9e-b9f5-23f31f914da7")
            return [
                .with { $0.principal = try? Principal("user:3") }, .with { $0.grantID = grant ?? LedgerWorld.id(1) },
                .with { $0.reach = .limited(reach) },
                .with { $0.reach = .limited(named) },
            ]
        }
    }

    private var filters: [IssuanceFilter] {
        [
            IssuanceFilter(), .with { $0.bucket = try? BucketName("bucket-1") }, .with { $0.action = .getObject },
            .with {
                $0.reach = .limited((try? AdminScope(bucket: BucketName("bucket-2"), prefix: "")).map { [$0] } ?? [])
            },
            .with {
                $0.delivery = .presignedURL
                $0.action = .putObject
            },
        ]
    }

    @Test(.database(.migrated)) func countsAreTakenFromSums() async throws {
        let world = try LedgerWorld()
        try await world.write([Row(), Row(bucket: "other", key: "a/b/c")])
        try await sumUp(world.connection)
        try await world.connection.runScript("UPDATE issuance_sums SET urls = urls + 10")
        func urls(_ query: UsageQuery) async throws -> [Int64] {
            try await world.reporting.usage(query).items.map(\.urls)
        }
        #expect(try await urls(UsageQuery(.lately())) == [22])
        #expect(try await urls(UsageQuery(.lately { $0.bucket = try? BucketName("other") }, [.action])) == [11])
        #expect(try await urls(UsageQuery(.lately { $0.credentialID = LedgerWorld.id(900) }, [.delivery])) == [22])
        for filter: IssuanceFilter in [
            .lately { $0.principal = try? Principal("user:alice") }, .lately { $0.grantID = LedgerWorld.id(1) },
            .lately { $0.prefix = ExactText("") },
        ] {
            #expect(try await urls(UsageQuery(filter)) == [2])
        }
        #expect(try await urls(UsageQuery(.lately(), [.grant])) == [2])
        #expect(try await urls(UsageQuery(.lately(), [.principal])) == [2])
        // Callers and grants are taken from their own sums.
        try await world.connection.runScript("UPDATE caller_sums SET urls = urls + 100")
        #expect(try await urls(UsageQuery(.lately { $0.principal = try? Principal("user:alice") })) == [202])
        #expect(try await urls(UsageQuery(.lately { $0.grantID = LedgerWorld.id(1) })) == [202])
        #expect(try await urls(UsageQuery(.lately(), [.principal])) == [202])
        #expect(try await urls(UsageQuery(.lately { $0.prefix = ExactText("") })) == [2])
        // So are they where they are counted by the day.
        try await world.connection.runScript("UPDATE caller_days SET urls = urls + 1000")
        #expect(try await urls(UsageQuery(.lately { $0.principal = try? Principal("user:alice") }, by: .day)) == [2002])
        #expect(try await urls(UsageQuery(.lately(), by: .range, [.principal])) == [2002])
        #expect(try await urls(UsageQuery(.lately(), by: .hour, [.principal])) == [202])
    }

    /// A recording reads the clock and commits later. Meanwhile, no period to which it could add may be summed up.
    @Test(.database(.migrated)) func whatIsNotCommittedYetIsWaitedFor() async throws {
        let database = try TestDatabase.current
        let recorder = try PostgresConnection(testing: database.connectionString)
        let connection = try PostgresConnection(testing: database.connectionString)
        let before = try IssuanceProposal.sample(at: await connection.position())
        _ = try await connection.execute(RecordBatch.record, (RecordBatch([before]), .right))
        let late = try IssuanceProposal.sample(at: await connection.position())
        try await recorder.runScript("BEGIN")
        _ = try await recorder.execute(RecordBatch.record, (RecordBatch([late]), .right))
        #expect(try await connection.execute(UsageUpkeep.sum, 0) == [false])
        #expect(
            try await connection.number("SELECT count(*) FROM summed_days WHERE summed_to > now() - interval '1 hour'")
                == 0)
        // Others record meanwhile.
        let other = try IssuanceProposal.sample(at: await connection.position())
        _ = try await connection.execute(RecordBatch.record, (RecordBatch([other]), .right), deadline: .soon)
        try await recorder.runScript("COMMIT")
        try await sumUp(connection)
        #expect(try await connection.number("SELECT sum(urls) FROM issuance_sums") == 3)
    }

    @Test(.database(.migrated)) func sumsAreRightWhateverRacesWithThem() async throws {
        let database = try TestDatabase.current
        let connections = try (0..<7).map { _ in try PostgresConnection(testing: database.connectionString) }
        let position = try await connections[0].position()
        // The day until now takes many steps.
        try await sumUp(connections[0])
        let recorders = connections[0..<4]
        let recording = Recording(recorders.count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in recorders {
                group.addTask {
                    defer { recording.left.subtract(1, ordering: .relaxed) }
                    try await Self.record(150, on: connection, at: position)
                }
            }
            for connection in connections[4...] {
                group.addTask {
                    while recording.left.load(ordering: .relaxed) > 0 {
                        _ = try await connection.execute(UsageUpkeep.sum, 0)
                    }
                }
            }
            try await group.waitForAll()
        }
        let connection = connections[0]
        #expect(try await connection.number("SELECT count(*) FROM issuance_sums") > 2)
        #expect(
            try await connection.number("SELECT coalesce(sum(urls), 0) FROM issuance_sums")
                == connection.number(
                    "SELECT count(*) FROM issuances WHERE issued_at < (SELECT max(summed_to) FROM summed_days)"))
        try await sumUp(connection)
        #expect(
            try await connection.number("SELECT sum(urls) FROM issuance_sums")
                == connection.number("SELECT count(*) FROM issuances"))
    }

    /// Number of recorders that are still at work.
    private final class Recording: Sendable {
        let left: Atomic<Int>

        init(_ count: Int) { left = Atomic(count) }
    }

    /// Records in transactions that stay open for a while. Some of them are rolled back.
    private static func record(
        _ rounds: Int, on connection: PostgresConnection, at position: PolicyPosition
    ) async throws {
        for round in 0..<rounds {
            let proposals = try (0...(round % 3)).map { _ in try IssuanceProposal.sample(at: position) }
            try await connection.runScript("BEGIN")
            _ = try await connection.execute(RecordBatch.record, (RecordBatch(proposals), .right))
            if round % 10 == 0 { try await connection.runScript("SELECT pg_sleep(0.005)") }
            try await connection.runScript(round % 7 == 0 ? "ROLLBACK" : "COMMIT")
        }
    }

    @Test(.database(.migrated)) func aDayThatAClockSetBackAddedToIsSummedUpAnew() async throws {
        let world = try LedgerWorld()
        try await world.write([Row(), Row(at: LedgerWorld.noon.addingTimeInterval(7200))])
        while try await world.connection.number("SELECT count(*) FROM issuance_sums") == 0 {
            _ = try await world.connection.execute(UsageUpkeep.sum, 1)
        }
        while try await world.connection.number("SELECT count(*) FROM caller_sums") == 0 {
            _ = try await world.connection.execute(UsageUpkeep.sum, 1)
            _ = try await world.connection.execute(UsageUpkeep.sumCallers)
        }
        try await world.write([Row()])
        try await sumUp(world.connection)
        #expect(try await world.connection.number("SELECT sum(urls) FROM issuance_sums") == 3)
        #expect(try await world.connection.number("SELECT sum(urls) FROM caller_sums") == 3)
        #expect(
            try await world.connection.number(
                "SELECT count(*) FROM summed_days WHERE summed_to < now() - interval '1 day'") == 1)
    }

    /// Reports trust the sums: without this, what was recorded since would be missing until midnight.
    @Test(.database(.migrated)) func `What was summed up ahead of a clock that was set back is summed up anew`()
        async throws
    {
        let world = try LedgerWorld()
        let day = LedgerWorld.noon.addingTimeInterval(-43_200)
        let function = try #require(
            await world.connection.texts("SELECT pg_get_functiondef('sum_issuances(integer)'::regprocedure)").first)
        func time(_ hour: Int, _ minute: Int, _ second: Int = 0) -> Date {
            day.addingTimeInterval(TimeInterval(hour * 3600 + minute * 60 + second))
        }
        func sumUp(at time: Date) async throws {
            let now = "to_timestamp(\(time.timeIntervalSince1970))"
            try await world.connection.runScript(function.replacing("clock_timestamp()", with: now))
            // A call that reaches the present reports that nothing is left for now. The next call turns to older days.
            for _ in 0..<2 {
                while try await world.connection.execute(UsageUpkeep.sum, 1) == [true] {}
            }
            while try await world.connection.execute(UsageUpkeep.sumCallers) == [true] {}
            let (from, to) = (time.addingTimeInterval(-86_400), time.addingTimeInterval(2 * 86_400))
            let (summed, counted) = try await answers(
                UsageQuery(IssuanceFilter(), by: .hour), from: from, to: to, world.connection)
            #expect(summed == counted, "\(time)")
            let request = UsageRequest(
                query: UsageQuery(IssuanceFilter(), by: .day, [.principal]), from: PostgresTimestamp(from),
                to: PostgresTimestamp(to), limit: 1000)
            let byCaller = try await world.connection.execute(UsageRequest.summedByCaller, request)
            #expect(try await byCaller == world.connection.execute(UsageRequest.counted, request), "\(time)")
        }
        func number(_ sql: String) async throws -> Int64 { try await world.connection.number(sql) }

        try await world.write([Row(at: time(3, 0)), Row(at: time(9, 40)), Row(at: time(9, 59))])
        try await sumUp(at: time(10, 5))
        #expect(try await number("SELECT count(*) FROM summed_hours") == 10)
        // The clock is set back to 9:20.
        try await world.write([Row(at: time(9, 20, 10))])
        try await sumUp(at: time(9, 21, 10))
        // What was summed up long before stays.
        #expect(try await number("SELECT count(*) FROM summed_hours") == 9)
        try await world.write([Row(at: time(9, 50, 10))])
        try await sumUp(at: time(10, 10))
        #expect(try await number("SELECT sum(urls) FROM issuance_sums") == 5)

        try await world.write([Row(at: time(24, 3))])
        try await sumUp(at: time(24, 5))
        #expect(try await number("SELECT count(*) FROM summed_caller_days") == 1)
        // It is set back to 23:59:50 of the day before, and nobody notices until after midnight.
        try await world.write([Row(at: time(23, 59, 55))])
        try await sumUp(at: time(24, 1, 30))
        try await sumUp(at: time(24, 20))
        #expect(try await number("SELECT sum(urls) FROM issuance_sums") == 7)
        #expect(try await number("SELECT sum(urls) FROM caller_days") == 6)
    }

    @Test(.database(.migrated)) func `A day whose end a clock has just passed may still get rows`() async throws {
        let world = try LedgerWorld()
        let end = LedgerWorld.noon.addingTimeInterval(43_200)
        let function = try #require(
            await world.connection.texts("SELECT pg_get_functiondef('sum_issuances(integer)'::regprocedure)").first)
        func sumUp(secondsAfterEnd seconds: TimeInterval) async throws {
            let now = "to_timestamp(\(end.addingTimeInterval(seconds).timeIntervalSince1970))"
            try await world.connection.runScript(function.replacing("clock_timestamp()", with: now))
            for _ in 0..<200 { _ = try await world.connection.execute(UsageUpkeep.sum, 1) }
        }
        try await world.write([Row(at: end.addingTimeInterval(-2))])
        try await sumUp(secondsAfterEnd: 0.8)
        // The clock is set back by a second.
        try await world.write([Row(at: end.addingTimeInterval(-0.1))])
        for seconds in [1.8, 61, 62] as [TimeInterval] { try await sumUp(secondsAfterEnd: seconds) }
        #expect(try await world.connection.number("SELECT sum(urls) FROM issuance_sums") == 2)
    }

    @Test(.database(.migrated)) func aDayIsLeftUntilItHasGrownAndForTenMinutesAtMost() async throws {
        let world = try LedgerWorld()
        let day = LedgerWorld.noon.addingTimeInterval(-43_200)
        let function = try #require(
            await world.connection.texts("SELECT pg_get_functiondef('sum_issuances(integer)'::regprocedure)").first)
        let upkeep = UsageUpkeep(connection: world.connection, leastPages: 3, logger: .silent)
        /// Sums up what is due a number of seconds after the beginning of the day; returns how many links are in sums.
        func summed(after seconds: TimeInterval) async throws -> Int64 {
            let now = "to_timestamp(\(day.addingTimeInterval(seconds).timeIntervalSince1970))"
            try await world.connection.runScript(function.replacing("clock_timestamp()", with: now))
            await upkeep.runRound()
            return try await world.connection.number("SELECT coalesce(sum(urls), 0) FROM issuance_sums")
        }
        try await world.write([Row(at: day.addingTimeInterval(60))])
        #expect(try await summed(after: 599) == 0)
        #expect(try await summed(after: 600) == 1)
        try await world.write([Row(at: day.addingTimeInterval(700))])
        #expect(try await summed(after: 1199) == 1)
        #expect(try await summed(after: 1200) == 2)
        #expect(try await summed(after: 1200) == 2)
        try await world.write((0..<200).map { _ in Row(at: day.addingTimeInterval(1210)) })
        #expect(try await summed(after: 1220) == 202)
        let to = "SELECT extract(epoch FROM summed_to - starts_at)::int::text FROM summed_days"
        #expect(try await world.connection.texts(to) == ["1220"])
    }

    /// They are looked for every two seconds, and there are as many as the ledger is old.
    @Test(.database(.migrated)) func `Hours of days that are summed up are not looked at again`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await connection.runScript(
            """
            INSERT INTO summed_days
            SELECT d, d + interval '24 hours', 0
            FROM generate_series(
                date_trunc('day', now(), 'UTC') - interval '400 days', now() - interval '2 days', interval '24 hours'
            ) d;
            INSERT INTO summed_hours
            SELECT d.starts_at + h * interval '1 hour' FROM summed_days d, generate_series(0, 23) h;
            INSERT INTO summed_caller_days SELECT d.starts_at FROM summed_days d;
            ANALYZE summed_days, summed_hours, summed_caller_days
            """)
        let read = try await connection.rowsRead(of: "summed_hours") { () async throws in
            #expect(try await connection.execute(UsageUpkeep.sumCallers) == [false])
        }
        #expect(read < 100)
    }

    /// A day without rows needs no sums.
    @Test(.database(.migrated)) func aDayWithoutRowsIsLeft() async throws {
        let world = try LedgerWorld()
        await UsageUpkeep(connection: world.connection, logger: .silent).runRound()
        let today = "SELECT count(*) FROM summed_days WHERE starts_at = date_trunc('day', now(), 'UTC')"
        #expect(try await world.connection.number(today) == 0)
    }

    /// Checks the plan, not the time, on a day without statistics: the small index of times is read, and all pages
    /// are summarised, those that came since the last call too.
    @Test(.database(.migrated)) func `What is new is found by its time, and its pages are summarised`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        for round in 1...3 {
            try await connection.runScript(
                """
                INSERT INTO issuances (id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id,
                    delivery, action, method, bucket, object_key, expires_at, request_id)
                SELECT gen_random_uuid(), clock_timestamp(), 1, 'user:' || n, '*', md5('g')::uuid, md5('c')::uuid,
                    'presigned-url', 'GetObject', 'GET', 'demo', 'a/' || n, now() + interval '1 hour', 'r'
                FROM generate_series(1, 20000) n
                """)
            let today = "'issuances_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')"
            // The day until now takes many steps.
            if round == 1 { try await sumUp(connection) }
            let scans = try await connection.number(
                """
                SELECT CASE WHEN sum_issuances(0) IS NOT NULL THEN pg_stat_get_xact_numscans(b.index) END - b.scans
                FROM (
                    SELECT x.index, pg_stat_get_xact_numscans(x.index) AS scans
                    FROM (SELECT (\(today) || '_issued_at_idx')::regclass AS index) x
                    OFFSET 0
                ) b
                """)
            #expect(scans == 1)
            #expect(try await connection.number("SELECT sum(urls) FROM issuance_sums") == Int64(round) * 20_000)
            #expect(
                try await connection.number(
                    """
                    SELECT sum(brin_summarize_new_values(x.indexrelid)) FROM pg_index x
                    JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_am a ON a.oid = c.relam AND a.amname = 'brin'
                    WHERE x.indrelid = (\(today))::regclass
                    """) == 0)
        }
    }
}

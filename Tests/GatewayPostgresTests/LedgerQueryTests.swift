import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Questions that admins ask the ledger.
@Suite struct LedgerQueryTests {
    private typealias Row = LedgerWorld.Row

    /// The field that a refusal names.
    private func refused(_ body: () async throws -> Void) async throws -> String? {
        do {
            try await body()
            return nil
        } catch GatewayError.invalidArgument(let field, _) {
            return field
        }
    }

    @Test(.database(.migrated)) func everyFilterNarrows() async throws {
        let world = try LedgerWorld()
        let noon = LedgerWorld.noon
        try await world.write([
            Row(key: "team/a.txt"), Row(principal: "user:bob", key: "team/b.txt"), Row(bucket: "other", key: "team/c"),
            Row(key: "teams/d"), Row(action: "PutObject", key: "e"), Row(delivery: "redirect", key: "f"),
            Row(grant: LedgerWorld.id(2), key: "g"), Row(credential: LedgerWorld.id(901), key: "h"),
            Row(action: "PutObject,GetObject", delivery: "sts", key: "i/"), Row(key: "team/100%_x\\"),
            Row(at: noon.addingTimeInterval(-2 * 86_400), key: "team/old"),
        ])
        func keys(_ change: @escaping (inout IssuanceFilter) -> Void) async throws -> Set<String> {
            Set(try await world.reader.issuances(IssuanceQuery(.lately(change))).items.map(\.key))
        }
        #expect(try await keys { $0.principal = try? Principal("user:bob") } == ["team/b.txt"])
        #expect(try await keys { $0.bucket = try? BucketName("other") } == ["team/c"])
        #expect(
            try await keys { $0.prefix = ExactText("team/") }
                == ["team/a.txt", "team/b.txt", "team/c", "team/100%_x\\", "team/old"])
        #expect(try await keys { $0.prefix = ExactText("team/100%_x\\") } == ["team/100%_x\\"])
        #expect(try await keys { $0.prefix = ExactText("%") } == [])
        #expect(try await keys { $0.action = .putObject } == ["e", "i/"])
        #expect(try await keys { $0.delivery = .redirect } == ["f"])
        #expect(try await keys { $0.grantID = LedgerWorld.id(2) } == ["g"])
        #expect(try await keys { $0.credentialID = LedgerWorld.id(901) } == ["h"])
        #expect(try await keys { $0.to = noon } == ["team/old"])
        #expect(try await keys { $0.from = noon }.count == 10)
        #expect(
            try await keys {
                $0.from = noon.addingTimeInterval(0.001)
                $0.to = noon.addingTimeInterval(60)
            } == [])
        #expect(
            try await keys { $0.from = noon.addingTimeInterval(10 * 86_400) } == [], "what is to come is empty")
    }

    /// With statistics, the planner reads tables in another order.
    @Test(.database(.migrated)) func findsRowsWhateverThePlannerKnowsOfTheCatalogue() async throws {
        let world = try LedgerWorld()
        try await world.write([Row(key: "a")])
        try await world.connection.runScript("ANALYZE")
        #expect(try await world.reader.issuances(IssuanceQuery(.lately { _ in })).items.map(\.key) == ["a"])
    }

    @Test(.database(.migrated)) func pagesCrossMidnightWithoutGapOrRepetition() async throws {
        let world = try LedgerWorld()
        let midnight = LedgerWorld.noon.addingTimeInterval(-43_200)
        // One identifier is made before midnight and recorded after it; another, the reverse.
        var rows = (0..<7).map { Row(at: midnight.addingTimeInterval(Double($0) - 3.5), key: "k\($0)") }
        rows.append(
            Row(at: midnight.addingTimeInterval(0.01), madeAt: midnight.addingTimeInterval(-3), key: "late"))
        rows.append(
            Row(at: midnight.addingTimeInterval(-0.01), madeAt: midnight.addingTimeInterval(2), key: "early"))
        rows.append(Row(at: midnight.addingTimeInterval(-3 * 86_400), key: "days before"))
        try await world.write(rows)
        for pageSize in [1, 2, 3, 5, 10] {
            var query = IssuanceQuery(.lately(), pageSize: pageSize)
            var keys: [String] = []
            repeat {
                let page = try await world.reader.issuances(query)
                #expect(page.items.count <= pageSize)
                keys += page.items.map(\.key)
                query.pageToken = page.nextPageToken
            } while query.pageToken != nil
            #expect(
                keys == ["k6", "k5", "k4", "late", "early", "k3", "k2", "k1", "k0", "days before"],
                "\(pageSize) a page")
        }
    }

    @Test(.database(.migrated)) func tokensAreGoodForTheirOwnFiltersOnly() async throws {
        let world = try LedgerWorld()
        try await world.write((0..<4).map { Row(at: LedgerWorld.noon.addingTimeInterval(Double($0))) })
        let query = IssuanceQuery(.lately { $0.bucket = try? BucketName("demo") }, pageSize: 2)
        let token = try #require(try await world.reader.issuances(query).nextPageToken)
        var same = query
        same.pageToken = token
        same.pageSize = 1
        #expect(try await world.reader.issuances(same).items.count == 1, "the size of pages may change")
        let changes: [@Sendable (inout IssuanceFilter) -> Void] = [
            { $0.bucket = nil }, { $0.isAlive = true }, { $0.prefix = ExactText("") },
            { $0.principal = try? Principal("user:bob") }, { $0.to = LedgerWorld.noon.addingTimeInterval(60) },
            { $0.from = $0.from?.addingTimeInterval(1) }, { $0.grantID = LedgerWorld.id(1) },
        ]
        for change in changes {
            var other = same
            change(&other.filter)
            #expect(try await refused { _ = try await world.reader.issuances(other) } == "pageToken")
        }
        let list = PageToken(of: "issuances", filters: query.filter.texts)
        for forged in [
            "", "x", token + "A", PageToken(of: "issuances", filters: [:]).text(after: []),
            list.text(after: ["1", "2"]),
            list.text(after: ["1", "2", "x"]), list.text(after: ["-1", "2", LedgerWorld.id(1).lowercaseText]),
            list.text(after: ["1", "9223372036854775807", LedgerWorld.id(1).lowercaseText]),
        ] {
            var other = query
            other.pageToken = forged
            #expect(try await refused { _ = try await world.reader.issuances(other) } == "pageToken", "\(forged)")
        }
        let usage = UsageQuery(query.filter, pageToken: token)
        #expect(try await refused { _ = try await world.reporting.usage(usage) } == "pageToken")
        var reversed = IssuanceFilter()
        (reversed.from, reversed.to) = (LedgerWorld.noon, LedgerWorld.noon)
        #expect(try await refused { _ = try await world.reader.issuances(IssuanceQuery(reversed)) } == "from")
    }

    @Test(.database(.migrated)) func oneIssuanceIsFoundOnWhateverDay() async throws {
        let world = try LedgerWorld()
        let ids = try await world.write([
            Row(
                at: LedgerWorld.noon.addingTimeInterval(-20 * 86_400), action: "PutObject", key: "é/ü",
                contentType: "image/png", length: 7, policySequence: 3, quotas: [LedgerWorld.id(50)], amounts: [7]),
            Row(),
        ])
        let row = try await world.reader.issuance(ids[0])
        #expect(row.key == "é/ü" && row.contentType == "image/png" && row.contentLength == 7)
        #expect(row.policySequence == 3 && row.charges == [.init(quotaID: LedgerWorld.id(50), amount: 7)])
        #expect(try await world.reader.issuance(ids[1]).charges == [])
        await #expect(throws: GatewayError.notFound(.issuance)) { try await world.reader.issuance(UUID()) }
    }

    @Test(.database(.migrated)) func whatIsAliveIsFoundEightDaysBack() async throws {
        let world = try LedgerWorld()
        let now = Date()
        try await world.write([
            Row(at: now.addingTimeInterval(-6.9 * 86_400), key: "week", life: 7 * 86_400),
            Row(at: now.addingTimeInterval(-6.9 * 86_400), key: "dead", life: 6 * 86_400),
            Row(at: now.addingTimeInterval(-60), key: "fresh"),
        ])
        let alive = try await world.reader.issuances(IssuanceQuery(.alive))
        #expect(alive.items.map(\.key) == ["fresh", "week"])
        #expect(try await world.reader.issuances(IssuanceQuery()).items.map(\.key) == ["fresh"])
    }

    /// Checks the plan, not the time: a rare caller or grant of a busy day is found by index, whatever the sort order.
    @Test(.database(.migrated)) func rareCallersAreFoundByTheIndex() async throws {
        let world = try LedgerWorld()
        try await world.write([Row()])
        let noon = Int(LedgerWorld.noon.timeIntervalSince1970)
        try await world.connection.runScript(
            """
            INSERT INTO issuances (id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id,
                delivery, action, method, bucket, object_key, expires_at, request_id)
            SELECT gen_random_uuid(), to_timestamp(\(noon)) + n * interval '0.1 s', 1, 'user:' || n, '*',
                md5(n::text)::uuid, md5('c')::uuid, 'presigned-url', 'GetObject', 'GET', 'demo',
                'a/' || n || '/' || repeat('a', 300), to_timestamp(\(noon)) + interval '1 hour', 'r'
            FROM generate_series(1, 40000) n;
            ANALYZE issuances;
            """)
        // Ranges of the day that are not yet summarised are read completely.
        try await world.connection.runScript(
            """
            SELECT brin_summarize_new_values(i.inhrelid) FROM pg_inherits i
            WHERE i.inhparent = 'issuances_lookup_idx'::regclass
            """)
        for condition in [
            "i.principal = 'user:777'", "i.grant_id = md5('777')::uuid",
            "leading_segments(i.object_key) = leading_segments('a/777/b')",
        ] {
            let plan = try await world.connection.execute(
                Statement<Void, String>(
                    """
                    EXPLAIN SELECT i.id FROM issuances i WHERE i.issued_at >= to_timestamp(\(noon - 86_400)) AND \(condition)
                    ORDER BY i.id DESC LIMIT 101
                    """
                ) { row throws(PostgresError) in try row.decode(0) })
            #expect(plan.contains { $0.contains("Bitmap Index Scan") }, "\(plan)")
        }
        let found = try await world.reader.issuances(
            IssuanceQuery(.lately { $0.principal = try? Principal("user:777") }))
        #expect(found.items.count == 1)
        let below = try await world.reader.issuances(IssuanceQuery(.lately { $0.prefix = ExactText("a/777/a") }))
        #expect(below.items.count == 1)
    }

    /// A caller with one row in so many: of the newest 5,000, of those before, and of the first 15,000.
    struct Frequency: Sendable {
        let late, between, early: Int?

        func has(_ row: Int) -> Bool {
            let step = row > 65_000 ? late : row > 15_000 ? between : early
            return step.map { row % $0 == 0 } ?? false
        }
    }

    /// Pages are among few of the newest rows, among many, or found by the index, as the last caller's are although
    /// there are some among the newest.
    @Test(
        .database(.migrated),
        arguments: [
            Frequency(late: 2, between: 2, early: 2), Frequency(late: 300, between: 300, early: 300),
            Frequency(late: nil, between: 7000, early: 7000), Frequency(late: 300, between: nil, early: 100),
        ])
    func pagesOfFrequentAndRareCallersAreWhole(_ frequency: Frequency) async throws {
        let world = try LedgerWorld()
        try await world.write([Row()])
        let noon = Int(LedgerWorld.noon.timeIntervalSince1970)
        let rows = (1...70_000).reversed().filter(frequency.has)
        try await world.connection.runScript(
            """
            INSERT INTO issuances (id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id,
                delivery, action, method, bucket, object_key, expires_at, request_id)
            SELECT (lpad(to_hex(\(noon)::bigint * 1000 + n * 100), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
                to_timestamp(\(noon)) + n * interval '0.1 s', 1,
                CASE WHEN n = ANY ('{\(rows.map(String.init).joined(separator: ","))}') THEN 'user:1' ELSE 'user:2' END, '*',
                md5('g')::uuid, md5('c')::uuid, 'presigned-url', 'GetObject', 'GET', 'demo', 'a/' || n,
                to_timestamp(\(noon)) + interval '1 day', 'r'
            FROM generate_series(1, 70000) n
            """)
        for pageSize in [7, 100] {
            var query = IssuanceQuery(
                .lately {
                    $0.to = LedgerWorld.noon.addingTimeInterval(7001)
                    $0.principal = try? Principal("user:1")
                }, pageSize: pageSize)
            var keys: [String] = []
            repeat {
                let page = try await world.reader.issuances(query)
                keys += page.items.map(\.key)
                query.pageToken = page.nextPageToken
            } while query.pageToken != nil && keys.count < 300
            #expect(keys.count >= min(rows.count, 300))
            #expect(keys == rows.prefix(keys.count).map { "a/\($0)" })
        }
    }

    /// Prefixes are looked up by whole segments, but may end anywhere.
    @Test(
        .database(.migrated),
        arguments: ["", "a", "a/", "a/b", "a/b/", "a/b/c", "a/b/c/", "a//", "/", "é/ü/", "a/%/", "a/b/c/d"])
    func prefixesEndAnywhere(_ prefix: String) async throws {
        let world = try LedgerWorld()
        let keys = [
            "a", "ab", "a/", "a/b", "a/bc", "a/b/", "a/b/c", "a/bc/d", "a/b/c/d", "a/b/cd", "a//b", "/a/b", "é/ü/x",
            "a/%/x",
            "a/x/x",
        ]
        try await world.write(keys.map { Row(key: $0) })
        let found = try await world.reader.issuances(IssuanceQuery(.lately { $0.prefix = ExactText(prefix) }))
        #expect(Set(found.items.map(\.key)) == Set(keys.filter { $0.utf8.starts(with: prefix.utf8) }))
    }
}

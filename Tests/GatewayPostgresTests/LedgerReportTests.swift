import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Sums over the ledger.
@Suite struct LedgerReportTests {
    private typealias Row = LedgerWorld.Row

    @Test(.database(.migrated)) func countsByHourAndByDayAndPages() async throws {
        let world = try LedgerWorld()
        let noon = LedgerWorld.noon
        let quota = Quota.sample(limit: 1000, metric: .bytes)
        try await world.connection.insert(quota)
        let ids = try await world.write([
            Row(at: noon, action: "PutObject", length: 10, quotas: [quota.id, LedgerWorld.id(60)], amounts: [10, 1]),
            Row(at: noon.addingTimeInterval(3599), action: "PutObject", length: 5, quotas: [quota.id], amounts: [5]),
            Row(at: noon.addingTimeInterval(3600), principal: "user:bob", grant: LedgerWorld.id(2)),
            Row(at: noon.addingTimeInterval(3600), principal: "user:bob", bucket: "other"),
            Row(at: noon.addingTimeInterval(-86_400), action: "PutObject,GetObject", delivery: "sts", key: ""),
        ])
        try await world.connection.runScript(
            HeldBytes.ofLedger("5", quota: "'\(quota.id)'", from: "issuances i WHERE i.id = '\(ids[1])'"))
        let hours = try await world.reporting.usage(UsageQuery(.lately()))
        #expect(hours.items.map(\.urls) == [2, 2, 1])
        #expect(
            hours.items[1]
                == Usage(
                    start: noon, urls: 2, bytesBound: 15, bytesReserved: 15, bytesUnsettled: 5, bytesLanded: 0))
        let days = try await world.reporting.usage(UsageQuery(.lately(), by: .day, [.bucket]))
        #expect(days.items.map(\.bucket) == ["other", "demo", "demo"] && days.items.map(\.urls) == [1, 3, 1])
        let narrowed = try await world.reporting.usage(UsageQuery(.lately { $0.action = .putObject }, by: .day))
        #expect(narrowed.items.map(\.urls) == [2, 1])
        var query = UsageQuery(
            .lately(), by: .day, [.principal, .bucket, .grant, .action, .delivery], pageSize: 1)
        var seen: [Usage] = []
        repeat {
            let page = try await world.reporting.usage(query)
            seen += page.items
            query.pageToken = page.nextPageToken
        } while query.pageToken != nil
        #expect(seen.map(\.urls) == [1, 1, 2, 1])
        #expect(seen.last?.actions == ["PutObject", "GetObject"] && seen.last?.delivery == "sts")
        #expect(seen.first?.bucket == "other" && seen.first?.grantID == LedgerWorld.id(1))
    }

    @Test(.database(.migrated)) func listsRefusalsByMinute() async throws {
        let world = try LedgerWorld()
        try await world.connection.runScript(
            """
            INSERT INTO denials (principal, bucket, code, minute, count) VALUES
                ('user:alice', 'demo', 'AccessDenied', date_trunc('minute', now()), 3),
                ('user:alice', '', 'AccessDenied', date_trunc('minute', now()), 1),
                ('user:bob', 'demo', 'QuotaExceeded', date_trunc('minute', now()) - interval '1 minute', 2),
                ('user:bob', 'demo', 'QuotaExceeded', now() - interval '3 days', 9)
            """)
        var query = DenialQuery(pageSize: 1)
        var seen: [CountedDenial] = []
        repeat {
            let page = try await world.reporting.denials(query)
            seen += page.items
            query.pageToken = page.nextPageToken
        } while query.pageToken != nil
        #expect(seen.map(\.count) == [3, 1, 2] && seen.map(\.bucket) == ["demo", nil, "demo"])
        let bob = DenialQuery(
            from: Date().addingTimeInterval(-10 * 86_400), principal: try Principal("user:bob"),
            bucket: try BucketName("demo"), code: "QuotaExceeded")
        #expect(try await world.reporting.denials(bob).items.map(\.count) == [2, 9])
    }

    @Test(.database(.migrated)) func `Refusals are added up by time and by what is asked for`() async throws {
        let world = try LedgerWorld()
        try await world.connection.runScript(
            """
            INSERT INTO denials (principal, bucket, code, minute, count)
            SELECT d.principal, d.bucket, d.code, date_trunc('day', now(), 'UTC') - interval '2 days' + d.after, d.count
            FROM (VALUES
                ('user:a', 'demo', 'AccessDenied', interval '10 h 5 min', 1),
                ('user:b', '', 'AccessDenied', interval '10 h 59 min', 2),
                ('user:b', 'demo', 'QuotaExceeded', interval '10 h 6 min', 4),
                ('user:b', 'demo', 'QuotaExceeded', interval '11 h', 8),
                ('user:b', 'demo', 'QuotaExceeded', interval '25 h', 16)
            ) AS d (principal, bucket, code, after, count)
            """)
        let from = Date(timeIntervalSinceNow: -4 * 86_400)
        func counts(
            _ step: DenialQuery.Step, _ dimensions: Set<DenialQuery.Dimension>, pageSize: Int
        ) async throws -> [String] {
            var query = DenialQuery(from: from, by: step, dimensions, pageSize: pageSize)
            var seen: [CountedDenial] = []
            repeat {
                let page = try await world.reporting.denials(query)
                seen += page.items
                query.pageToken = page.nextPageToken
            } while query.pageToken != nil
            return seen.map { denial in
                [denial.principal, denial.bucket, denial.code].compactMap(\.self).joined(separator: " ")
                    + " \(denial.count)"
            }
        }
        for pageSize in [1, 2, 100] {
            #expect(
                try await counts(.hour, [.code], pageSize: pageSize) == [
                    "QuotaExceeded 16", "QuotaExceeded 8", "QuotaExceeded 4", "AccessDenied 3",
                ])
            #expect(try await counts(.day, [], pageSize: pageSize) == [" 16", " 15"])
            #expect(
                try await counts(.day, [.principal, .bucket], pageSize: pageSize) == [
                    "user:b demo 16", "user:b demo 12", "user:b 2", "user:a demo 1",
                ])
        }
    }

    @Test(.database(.migrated)) func `Counts of a whole range come largest first, page by page`() async throws {
        let world = try LedgerWorld()
        let noon = LedgerWorld.noon
        let callers = ["user:b", "user:b", "user:b", "user:a", "user:a", "user:d", "user:d", "user:c"]
        _ = try await world.write(
            callers.enumerated().map { place, caller in
                Row(at: noon.addingTimeInterval(-86_400 * Double(place % 3)), principal: caller)
            })
        for pageSize in [1, 2, 100] {
            var query = UsageQuery(.lately(), by: .range, [.principal], pageSize: pageSize)
            var seen: [Usage] = []
            repeat {
                let page = try await world.reporting.usage(query)
                seen += page.items
                query.pageToken = page.nextPageToken
            } while query.pageToken != nil
            #expect(seen.map(\.principal) == ["user:b", "user:d", "user:a", "user:c"])
            #expect(seen.map(\.urls) == [3, 2, 2, 1])
        }
        let all = try await world.reporting.usage(UsageQuery(.lately(), by: .range))
        #expect(all.items.map(\.urls) == [8] && all.items.first?.start == all.range.from)
    }

    /// Who overtakes others while somebody pages is not left out.
    @Test(.database(.migrated)) func `Counts of a whole range are those of the first page`() async throws {
        let world = try LedgerWorld()
        let at = Date().addingTimeInterval(-120)
        func write(_ callers: [String], at: Date) async throws {
            _ = try await world.write(callers.map { Row(at: at, principal: $0) })
        }
        try await write(["user:a", "user:a", "user:a", "user:b", "user:b", "user:c"], at: at)
        var query = UsageQuery(IssuanceFilter(), by: .range, [.principal], pageSize: 1)
        var seen: [String?] = []
        repeat {
            let page = try await world.reporting.usage(query)
            seen += page.items.map(\.principal)
            query.pageToken = page.nextPageToken
            try await write(Array(repeating: "user:c", count: 9), at: Date())
        } while query.pageToken != nil
        #expect(seen == ["user:a", "user:b", "user:c"])
    }

    @Test(.database(.migrated)) func `The backlog of settling has every reservation, and since when some are due`()
        async throws
    {
        let world = try LedgerWorld()
        #expect(
            try await world.reports.settlingBacklog()
                == SettlingBacklog(reservations: 0, bytes: 0, due: 0, dueSince: nil))
        try await world.connection.runScript(
            HeldBytes.ofNobody(
                "65536 + CASE n WHEN 3 THEN 60 ELSE 0 END",
                deadAt: "to_timestamp(CASE n WHEN 3 THEN 4000000000 ELSE 1000 * n END)",
                from: "generate_series(1, 3) n"))
        #expect(
            try await world.reports.settlingBacklog()
                == SettlingBacklog(
                    reservations: 3, bytes: 3 * 65_536 + 60, due: 2, dueSince: Date(timeIntervalSince1970: 1901)))
    }

    @Test(.database(.migrated)) func showsUnusedGrantsAndThePrefixThatWouldDo() async throws {
        let world = try LedgerWorld()
        let admin = try AdminWorld()
        try await admin.makeBucket()
        var grants: [Grant] = []
        for prefix in ["never/", "long ago/", "wide/", "one/"] {
            grants.append(
                try await admin.stores.grants.create(.sample("user:alice", prefix), by: AdminWorld.change).row)
        }
        var deny = try Grant.sample("user:alice", "no/")
        deny.effect = .deny
        _ = try await admin.stores.grants.create(deny, by: AdminWorld.change)
        let noon = LedgerWorld.noon
        try await world.write([
            Row(at: noon.addingTimeInterval(-10 * 86_400), grant: grants[1].id, key: "long ago/2024/a/x"),
            Row(at: noon.addingTimeInterval(-9 * 86_400), grant: grants[1].id, key: "long ago/2024/ab"),
            Row(grant: grants[2].id, key: "wide/deep/a/1"), Row(grant: grants[2].id, key: "wide/deep/a/2"),
            Row(grant: grants[3].id, key: "one/file.txt"),
        ])
        // Grants newer than the period had no chance to be used.
        #expect(try await world.reporting.grantUse(GrantUseQuery()).items == [])
        let since = Date().addingTimeInterval(1)
        let recently = GrantUseQuery(from: noon.addingTimeInterval(-5 * 86_400), unusedSince: since)
        let unused = try await world.reporting.grantUse(recently).items
        #expect(unused.map(\.grant.prefix.text) == ["one/", "wide/", "long ago/", "never/"])
        #expect(unused.map { $0.use?.tightestPrefix.rawValue } == ["one/file.txt", "wide/deep/a/", nil, nil])

        var all = GrantUseQuery(includesUsed: true, principal: try Principal("user:alice"), pageSize: 3)
        let first = try await world.reporting.grantUse(all)
        all.pageToken = first.nextPageToken
        let uses = first.items + (try await world.reporting.grantUse(all).items)
        #expect(uses.map { $0.use?.urls } == [1, 2, 2, nil])
        #expect(uses[2].use?.tightestPrefix == ExactText("long ago/2024/"))
        #expect(uses[2].use?.lastAt == noon.addingTimeInterval(-9 * 86_400))
        all.principal = nil
        await #expect(throws: GatewayError.self) { try await world.reporting.grantUse(all) }
        let reversed = GrantUseQuery(from: Date(), unusedSince: noon)
        await #expect(throws: GatewayError.self) { try await world.reporting.grantUse(reversed) }
    }

    /// A grant that was moved into what a delegated admin reaches, and what it was used for before.
    private static let moves: [(bucket: String, principal: String, prefix: String, use: Row)] = [
        ("demo", "user:alice", "secret/", Row(key: "secret/payroll.pdf")),
        ("other", "user:alice", "team-a/", Row(bucket: "other", key: "team-a/x")),
        ("demo", "user:eve", "team-a/", Row(principal: "user:eve", key: "team-a/x")),
        ("demo", "group:board", "team-a/", Row(matched: "group:board", key: "team-a/x")),
    ]

    /// Neither what a grant was used for before it was moved is shown, nor whether it was used.
    @Test(.database(.migrated), arguments: moves.indices, [false, true])
    func showsNoUseFromBeforeAMove(_ number: Int, isSummed: Bool) async throws {
        let move = Self.moves[number]
        let world = try LedgerWorld()
        let admin = try AdminWorld()
        for bucket in ["demo", "other"] { try await admin.makeBucket(bucket) }
        let old = try await admin.stores.grants.create(
            .sample(move.principal, move.prefix, bucket: move.bucket), by: AdminWorld.change)
        var grant = try Grant.sample("user:alice", "team-a/")
        grant.id = old.row.id
        _ = try await admin.stores.grants.update(grant, from: old.revision, by: AdminWorld.change)
        // The move was an hour before noon.
        try await world.connection.runScript(
            """
            SET session_replication_role = replica;
            UPDATE grants SET created_at = now() - interval '20 days';
            UPDATE grants SET removed_at = to_timestamp(\(LedgerWorld.noon.timeIntervalSince1970 - 3600))
            WHERE removed_at IS NOT NULL;
            RESET session_replication_role;
            """)
        var before = move.use
        (before.grant, before.at) = (grant.id, LedgerWorld.noon.addingTimeInterval(-7200))
        try await world.write([before, Row(grant: grant.id, key: "team-a/y")])
        if isSummed {
            while try await world.connection.execute(UsageUpkeep.sum, 1) == [true] {}
            while try await world.connection.execute(UsageUpkeep.sumCallers) == [true] {}
            #expect(try await world.connection.number("SELECT count(*) FROM caller_sums") == 2)
        }
        let scope = try AdminScope(
            bucket: BucketName("demo"), prefix: "team-a/", principals: [PrincipalPattern("user:alice")])
        let reach = AdminReach.limited([scope])
        /// What is told of the grant: the number of links; 0 for none, `nil` if it is not in the list.
        func links(_ reach: AdminReach, from: TimeInterval, unusedSince: TimeInterval? = nil) async throws -> Int64? {
            let query = GrantUseQuery(
                from: LedgerWorld.noon.addingTimeInterval(from),
                unusedSince: unusedSince.map { LedgerWorld.noon.addingTimeInterval($0) } ?? Date(),
                includesUsed: unusedSince == nil, reach: reach)
            return try await world.reporting.grantUse(query).items.first.map { $0.use?.urls ?? 0 }
        }
        #expect(try await links(.unlimited, from: -10_800) == 2)
        #expect(try await links(reach, from: -10_800) == 0)
        #expect(try await links(reach, from: -3500) == 1)
        for since in [-7201, -7199, -1, 1] as [TimeInterval] {
            #expect(try await links(reach, from: -10_800, unusedSince: since) == nil, "\(since)")
        }
        #expect(try await links(.unlimited, from: -10_800, unusedSince: -1) == nil)
        #expect(try await links(.unlimited, from: -10_800, unusedSince: 1) == 2)
        #expect(try await links(reach, from: -3500, unusedSince: -1) == nil)
        #expect(try await links(reach, from: -3500, unusedSince: 1) == 1)
    }

    @Test(.database(.migrated)) func tellsWhatIsAliveBecauseOfAGrantOrCredential() async throws {
        let world = try LedgerWorld()
        let admin = try AdminWorld()
        try await admin.makeBucket()
        let grant = try await admin.stores.grants.create(.sample(), by: AdminWorld.change)
        try await admin.stores.grants.delete(grant.id.lowercaseText, by: AdminWorld.change)
        let none = try await world.reports.blastRadius(of: .grant(grant.id), within: .unlimited)
        #expect(none.count == 0 && none.aliveUntil == nil && none.principals == [])
        let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
        try await world.write([
            Row(at: now.addingTimeInterval(-100), grant: grant.id, life: 900),
            Row(at: now.addingTimeInterval(-100), grant: grant.id, life: 3600),
            Row(at: now.addingTimeInterval(-100), principal: "user:bob", grant: grant.id, life: 90_000),
            Row(at: now.addingTimeInterval(-100), principal: "user:bob", grant: grant.id, life: 50),
            Row(at: now.addingTimeInterval(-100), credential: LedgerWorld.id(77)),
        ])
        let radius = try await world.reports.blastRadius(of: .grant(grant.id), within: .unlimited)
        #expect(radius.count == 3 && radius.principalCount == 2)
        #expect(radius.aliveUntil == now.addingTimeInterval(89_900))
        #expect(
            radius.principals.map(\.name) == ["user:alice", "user:bob"] && radius.principals.map(\.count) == [2, 1])
        #expect(radius.principals[0].aliveUntil == now.addingTimeInterval(3500))
        #expect(radius.credentials.map(\.name) == [LedgerWorld.id(900).lowercaseText])
        #expect(radius.sessionCount == 0 && radius.sessions.isEmpty)
        // The credential's row is gone, but what it signed remains.
        let credential = try await world.reports.blastRadius(of: .credential(LedgerWorld.id(77)), within: .unlimited)
        #expect(credential.count == 1 && credential.grants.map(\.name) == [LedgerWorld.id(1).lowercaseText])
        await #expect(throws: GatewayError.notFound(.grant)) {
            try await world.reports.blastRadius(of: .grant(UUID()), within: .unlimited)
        }
        await #expect(throws: GatewayError.notFound(.storageCredential)) {
            try await world.reports.blastRadius(of: .credential(UUID()), within: .unlimited)
        }
    }

    @Test(.database(.migrated)) func listsTheSessionsThatAGrantOrCredentialHasAlive() async throws {
        let world = try LedgerWorld()
        let admin = try AdminWorld()
        try await admin.makeBucket()
        let grant = try await admin.stores.grants.create(
            .sample("user:alice", "team/a/"), by: AdminWorld.change)
        let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
        func session(
            _ principal: String, _ key: String, _ action: String = "PutObject,GetObject", bucket: String = "demo",
            grant: UUID = LedgerWorld.id(2), life: TimeInterval = 3600
        ) -> Row {
            Row(
                at: now.addingTimeInterval(-100), principal: principal, grant: grant,
                action: action, delivery: "sts", bucket: bucket, key: key, life: life)
        }
        try await world.write([
            // Sessions of the grant itself: issued twice, and one that has ended.
            session("user:bob", "elsewhere/", grant: grant.id), session("user:bob", "elsewhere/", grant: grant.id),
            session("user:bob", "elsewhere/", grant: grant.id, life: 50),
            // Sessions decided by another grant, with keys in common: above, below, and the same.
            session("user:alice", "", life: 7200), session("user:alice", "team/a/b/"),
            session("user:alice", "team/a/", "GetObject"),
            // Sessions with no keys in common.
            session("user:alice", "team/b/"), session("user:alice", "team/a/", bucket: "other"),
            session("user:bob", "team/a/"),
            Row(at: now.addingTimeInterval(-100), principal: "user:alice", bucket: "demo", key: "team/a/x"),
        ])
        let radius = try await world.reports.blastRadius(of: .grant(grant.id), within: .unlimited)
        let found = radius.sessions.map { "\($0.principal) \($0.prefix) \($0.actions.joined(separator: ","))" }
        #expect(
            found == [
                "user:alice  PutObject,GetObject", "user:alice team/a/ GetObject",
                "user:alice team/a/b/ PutObject,GetObject", "user:bob elsewhere/ PutObject,GetObject",
            ])
        #expect(radius.sessionCount == 4)
        #expect(radius.sessions[0].expiresAt == now.addingTimeInterval(7100))
        #expect(radius.sessions[0].credentialID == LedgerWorld.id(900) && radius.sessions[0].bucket == "demo")
        let everything = try await world.reports.blastRadius(of: .credential(LedgerWorld.id(900)), within: .unlimited)
        #expect(everything.sessionCount == 7)
    }
}

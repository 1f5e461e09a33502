import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayPostgres

/// What a delegated admin sees and changes: lists of generated rows for generated scopes, compared with a reading of
/// all rows by a rule of the test's own.
@Suite struct ReachTests {
    /// A scope in the words of the test.
    private struct Scope {
        var bucket: String
        var prefix: String
        var principals: [String]?

        /// Whether a place and a principal lie inside, written down once more.
        func contains(_ bucket: String, _ place: String, _ principals: [String]) -> Bool {
            guard Array(self.bucket.utf8) == Array(bucket.utf8),
                Array(place.utf8.prefix(prefix.utf8.count)) == Array(prefix.utf8)
            else { return false }
            guard let patterns = self.principals else { return true }
            return principals.contains { isNamed($0, by: patterns) }
        }

        func isNamed(_ principal: String, by patterns: [String]) -> Bool {
            patterns.contains { pattern in
                let bytes = Array(pattern.utf8)
                guard bytes.last == UInt8(ascii: "*") else { return bytes == Array(principal.utf8) }
                let beginning = bytes.dropLast()
                return Array(principal.utf8.prefix(beginning.count)) == Array(beginning)
            }
        }
    }

    private static let buckets = ["demo", "demo2", "other"]
    private static let principals = [
        "user:a", "user:a.b", "user:ab", "user:\u{e9}", "user:e\u{301}", "user:x*", "group:a", "group:ab", "*",
    ]
    private static let prefixes = [
        "", "a", "a/", "a/b/", "a/b/c", "a/b0/", "a0/", "ab/", "\u{e9}/", "e\u{301}/", "%/", "a_/",
    ]
    private static let templates = ["${sub}/", "a/${sub}/", "a/b/${claim:t}/x"]
    private static let patterns = [
        "user:a", "user:a*", "user:*", "group:a", "group:*", "user:\u{e9}", "user:e*", "user:x*", "user:none",
        "group:a*",
    ]

    private static func reach(
        _ random: inout SeededGenerator
    ) throws -> (scopes: [Scope], reach: AdminReach) {
        var scopes: [Scope] = []
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let prefix = try #require(
                prefixes.filter { $0.isEmpty || $0.hasSuffix("/") }.randomElement(using: &random))
            let names = patterns.shuffled(using: &random).prefix(.random(in: 1...3, using: &random))
            scopes.append(
                Scope(
                    bucket: try #require(buckets.randomElement(using: &random)), prefix: prefix,
                    principals: Bool.random(using: &random) ? nil : Array(names)))
        }
        let reach = AdminReach.limited(
            try scopes.map { scope in
                try AdminScope(
                    bucket: BucketName(scope.bucket), prefix: scope.prefix,
                    principals: scope.principals?.map { try PrincipalPattern($0) })
            })
        return (scopes, reach)
    }

    /// Reads all pages of a list, a few rows at a time.
    private func all<Row: Sendable>(
        _ size: Int, _ read: (String?) async throws -> (items: [Row], next: String?)
    ) async throws -> [Row] {
        var rows: [Row] = []
        var token: String?
        repeat {
            let page = try await read(token)
            rows += page.items
            token = page.next
        } while token != nil
        return rows
    }

    private func list<Row: ManagedRow>(
        _ store: PostgresAdminStore<Row>, _ filters: [String: String], _ reach: AdminReach, size: Int = 1000
    ) async throws -> [Row] {
        try await all(size) { token in
            let page = try await store.list(
                ListQuery(filters: filters, pageSize: size, pageToken: token, reach: reach))
            return (page.items, page.nextPageToken)
        }
    }

    /// Makes grants and quotas at random.
    private func fill(_ world: AdminWorld, _ random: inout SeededGenerator) async throws -> [Grant] {
        for bucket in Self.buckets { try await world.makeBucket(bucket) }
        var writes: [ProposedGrant] = []
        for index in 0..<500 {
            let template = Int.random(in: 0..<6, using: &random) == 0
            let text = (template ? Self.templates : Self.prefixes).randomElement(using: &random) ?? ""
            var grant = try Grant.sample(
                Self.principals.randomElement(using: &random) ?? "", text,
                bucket: Self.buckets.randomElement(using: &random) ?? "", template: template, maxTTL: index + 1)
            if Int.random(in: 0..<5, using: &random) == 0 { grant.effect = .deny }
            if Int.random(in: 0..<4, using: &random) == 0 { grant.actions = [.getObject] }
            writes.append(ProposedGrant(place: index, id: nil, grant: grant))
        }
        _ = try await world.bulk().apply(
            GrantBatch(writes: writes, removals: [], isDryRun: false), by: AdminWorld.change)
        for principal in Self.principals {
            for bucket in Self.buckets.map(Optional.some) + [nil] {
                let quota = Quota(
                    id: UUID(), principal: try Principal(principal), bucket: try bucket.map { try BucketName($0) },
                    action: nil, metric: .urls, period: .day, sharing: .each, limit: 5, createdAt: Date())
                _ = try await world.stores.quotas.create(quota, by: AdminWorld.change)
            }
        }
        return try await world.exported()
    }

    @Test(.database(.migrated)) func `lists of rows hold what lies inside, whatever the scopes`() async throws {
        let world = try AdminWorld()
        var random = SeededGenerator(seed: 16)
        let grants = try await fill(world, &random)
        #expect(grants.count == 500)
        let quotas = try await list(world.stores.quotas, [:], .unlimited)
        let access = PostgresAccess(
            pool: PostgresPool(
                try TestDatabase.current.configuration(
                    sessionSettings: PostgresAdminStores.sessionSettings + [("role", "sluice_gateway")]),
                size: 2, logger: .silent), logger: .silent)
        for member in ["user:a", "user:ab", "user:m"] {
            let row = GroupMember(group: try .group("a"), member: try Principal(member), createdAt: Date())
            _ = try await world.stores.members.create(row, by: AdminWorld.change)
        }
        var (seen, reachers) = (0, 0)
        for round in 0..<40 {
            let (scopes, reach) = try Self.reach(&random)
            let note: Comment = "round \(round): \(scopes)"
            func isInside(_ grant: Grant) -> Bool {
                scopes.contains { $0.contains(grant.bucket.rawValue, grant.prefix.text, [grant.principal.rawValue]) }
            }
            #expect(grants.allSatisfy { $0.isVisible(within: reach) == isInside($0) }, note)
            let size = Int.random(in: 1...200, using: &random)
            var filters: [String: String] = [:]
            if Bool.random(using: &random) { filters["bucket"] = Self.buckets.randomElement(using: &random) }
            if Bool.random(using: &random) { filters["effect"] = "deny" }
            if filters["bucket"] != nil, Bool.random(using: &random) { filters["covers"] = "a/b/c" }
            let everything = try await list(world.stores.grants, filters, .unlimited)
            let inside = everything.filter(isInside)
            let listed = try await list(world.stores.grants, filters, reach, size: size)
            #expect(listed.map(\.id) == inside.map(\.id), note)
            seen += listed.count
            let reader = try await world.bulk().export([:], within: reach)
            var exported: [Grant] = []
            while case let page = try await reader.next(), !page.isEmpty { exported += page }
            #expect(exported.map(\.id) == grants.filter(isInside).map(\.id), note)
            let who = try Self.principals.shuffled(using: &random).prefix(4).map { try Principal($0) }
            let bucket = try BucketName(Self.buckets[round % 3])
            let own = try await all(size) { token in
                let page = try await access.grants(
                    of: who, in: bucket, ListQuery(pageSize: size, pageToken: token, reach: reach))
                return (page.items, page.nextPageToken)
            }
            let expected = grants.filter { $0.bucket == bucket && who.contains($0.principal) && isInside($0) }
            #expect(own.map(\.id) == expected.map(\.id), note)
            let around = try await all(size) { token in
                let page = try await access.grants(
                    around: ExactText("a/"), in: bucket, ListQuery(pageSize: size, pageToken: token, reach: reach))
                return (page.items, page.nextPageToken)
            }
            let wide = try await access.grants(around: ExactText("a/"), in: bucket, ListQuery(pageSize: 1000)).items
            #expect(around.map(\.grant.id) == wide.map(\.grant).filter(isInside).map(\.id), note)
            for (key, expands) in [("a/b/c", true), ("a/b/c", false), ("a0/x", true), ("x/y/z", true)] {
                func reaching(_ size: Int, _ reach: AdminReach) async throws -> [String] {
                    try await all(size) { token in
                        let page = try await access.principals(
                            reaching: ObjectKey(key), in: bucket, includesMembers: expands,
                            ListQuery(pageSize: size, pageToken: token, reach: reach))
                        return (page.items, page.nextPageToken)
                    }.map(\.rawValue)
                }
                let inside = try await reaching(1000, .unlimited).filter { name in
                    scopes.contains { $0.contains(bucket.rawValue, key, [name]) }
                }
                #expect(try await reaching(1 + round % 3, reach) == inside, note)
                reachers += inside.count
            }
            let names = try await list(world.stores.buckets, [:], reach, size: 1).map(\.name.rawValue)
            #expect(names == Self.buckets.filter { name in scopes.contains { $0.bucket == name } }, note)
            let limits = try await list(world.stores.quotas, [:], reach, size: size)
            let shown = quotas.filter { quota in
                scopes.contains { scope in
                    let isOfBucket = quota.bucket?.rawValue == scope.bucket
                    guard let patterns = scope.principals else { return scope.prefix.isEmpty && isOfBucket }
                    return (isOfBucket || quota.bucket == nil)
                        && scope.isNamed(quota.principal.rawValue, by: patterns)
                }
            }
            #expect(limits.map(\.id) == shown.map(\.id), note)
            #expect(quotas.filter { $0.isVisible(within: reach) }.map(\.id) == shown.map(\.id), note)
        }
        #expect(seen > 500 && reachers > 0)
    }

    @Test(.database(.migrated)) func `a change of many grants takes effect only if all of them lie inside`()
        async throws
    {
        let world = try AdminWorld()
        var random = SeededGenerator(seed: 17)
        _ = try await fill(world, &random)
        let bulk = try world.bulk()
        var outcomes = (applied: 0, hidden: 0, refused: 0)
        for round in 0..<48 {
            let (scopes, changes) = try Self.reach(&random)
            let (more, _) = try Self.reach(&random)
            // Every fourth admin sees everything, so that nothing is hidden.
            let seen = scopes + more
            let sees: AdminReach =
                round % 4 == 0
                ? .unlimited
                : .limited(
                    try seen.map {
                        try AdminScope(
                            bucket: BucketName($0.bucket), prefix: $0.prefix,
                            principals: $0.principals?.map { try PrincipalPattern($0) })
                    })
            let live = try await world.exported()
            func isInside(_ grant: Grant, _ scopes: [Scope]) -> Bool {
                scopes.contains { $0.contains(grant.bucket.rawValue, grant.prefix.text, [grant.principal.rawValue]) }
            }
            // Half of the rounds name only grants that may be changed; the others begin with one.
            let pool = live.filter { isInside($0, scopes) }.shuffled(using: &random)
            guard pool.count >= 3 else { continue }
            let others = live.filter { $0.id != pool[0].id }.shuffled(using: &random)
            let named = round % 2 == 0 ? [pool[0]] + others.prefix(2) : Array(pool.prefix(3))
            var moved = named[0]
            moved.note = "round \(round)"
            if Bool.random(using: &random) { moved.principal = named[1].principal }
            let batch = GrantBatch(
                writes: [ProposedGrant(place: 0, id: moved.id, grant: moved)],
                removals: named[1...].map { GrantRemoval(id: $0.id) }, isDryRun: round % 3 == 0)
            let note: Comment = "round \(round): \(scopes) \(named)"
            var change = AdminWorld.change
            change.authority = AdminAuthority(sees: sees, changes: changes)
            do {
                _ = try await bulk.apply(batch, by: change)
                outcomes.applied += 1
                #expect(isInside(moved, scopes) && named.allSatisfy { isInside($0, scopes) }, note)
            } catch {
                guard case .itemsRefused(let first, _) = error else {
                    Issue.record("\(error)")
                    continue
                }
                let isHidden =
                    round % 4 != 0 && isInside(moved, scopes) && named.contains { !isInside($0, seen) }
                #expect(first.error == (isHidden ? .notFound(.grant) : .outsideAdminScope), note)
                #expect(!(isInside(moved, scopes) && named.allSatisfy { isInside($0, scopes) }), note)
                #expect(try await world.exported().map(\.id) == live.map(\.id), note)
                if isHidden { outcomes.hidden += 1 } else { outcomes.refused += 1 }
            }
        }
        #expect(outcomes.applied > 8 && outcomes.hidden > 3 && outcomes.refused > 3, "\(outcomes)")
    }

    @Test(.database(.migrated)) func `the ledger and its sums show what lies inside, whatever the scopes`() async throws
    {
        let world = try LedgerWorld()
        var random = SeededGenerator(seed: 18)
        let names = Self.principals.filter { $0.hasPrefix("user:") }
        var rows: [LedgerWorld.Row] = []
        for index in 0..<120 {
            var row = LedgerWorld.Row(at: LedgerWorld.noon.addingTimeInterval(-3600 * Double(index % 40)))
            row.principal = names.randomElement(using: &random) ?? ""
            // A grant to a user permits nobody else.
            row.matched = Self.principals.filter { !$0.hasPrefix("user:") || $0 == row.principal }
                .randomElement(using: &random)
            row.bucket = Self.buckets.randomElement(using: &random) ?? ""
            let prefix = Self.prefixes.randomElement(using: &random) ?? ""
            row.key = prefix.isEmpty || prefix.hasSuffix("/") ? prefix + "x" : prefix
            row.action = index % 2 == 0 ? "PutObject" : "GetObject"
            rows.append(row)
        }
        let ids = try await world.write(rows)
        try await world.connection.runScript(
            """
            INSERT INTO denials (principal, bucket, code, minute, count)
            SELECT p, b, 'AccessDenied', date_trunc('minute', now()), 1
            FROM unnest('{user:a,user:ab,user:x*}'::text[]) p, unnest('{demo,demo2,""}'::text[]) b
            """)
        let settings = PostgresIssuances.sessionSettings + [("role", "sluice_gateway")]
        let pool = PostgresPool(
            try TestDatabase.current.configuration(sessionSettings: settings), size: 2, logger: .silent)
        let uploads = PostgresUploads(pool: pool, ledgerPool: pool, logger: .silent, now: { Date() })
        let denied = try await world.reporting.denials(DenialQuery()).items
        #expect(denied.count == 9)
        for round in 0..<40 {
            let (scopes, reach) = try Self.reach(&random)
            let note: Comment = "round \(round): \(scopes)"
            let inside = zip(ids, rows).filter { _, row in
                scopes.contains { $0.contains(row.bucket, row.key, [row.principal, row.matched ?? row.principal]) }
            }
            let size = Int.random(in: 1...50, using: &random)
            let filter = IssuanceFilter.lately { $0.reach = reach }
            let listed = try await all(size) { token in
                let page = try await world.reader.issuances(
                    IssuanceQuery(filter, pageSize: size, pageToken: token))
                return (page.items, page.nextPageToken)
            }
            #expect(Set(listed.map(\.id)) == Set(inside.map(\.0)) && listed.count == inside.count, note)
            for (id, row) in zip(ids, rows).prefix(5) {
                let found = try? await world.reader.issuance(id, within: reach)
                let isInside = scopes.contains {
                    $0.contains(row.bucket, row.key, [row.principal, row.matched ?? row.principal])
                }
                #expect((found != nil) == isInside, note)
            }
            for dimensions: Set<UsageQuery.Dimension> in [[], [.principal], [.bucket, .grant]] {
                let sums = try await world.reporting.usage(UsageQuery(filter, by: .day, dimensions, pageSize: 1000))
                #expect(sums.items.reduce(0) { $0 + $1.urls } == Int64(inside.count), note)
            }
            let query = UploadQuery(
                from: LedgerWorld.noon.addingTimeInterval(-5 * 86_400), pageSize: 1000, reach: reach)
            let found = try await uploads.uploads(query).items.map(\.record.id)
            #expect(Set(found) == Set(inside.filter { $0.1.action == "PutObject" }.map(\.0)), note)
            let refusals = try await world.reporting.denials(DenialQuery(reach: reach)).items
            let expected = denied.filter { denial in
                scopes.contains { $0.contains(denial.bucket ?? "", "", [denial.principal ?? ""]) }
            }
            #expect(refusals == expected, note)
        }
    }

    @Test(.database(.migrated)) func `lists that know no scopes are closed to a limited reach`() async throws {
        let world = try AdminWorld()
        let query = ListQuery(reach: .limited([]))
        let expected = GatewayError.outsideAdminScope
        await #expect(throws: expected) { try await world.stores.apiKeys.list(query) }
        await #expect(throws: expected) { try await world.stores.issuers.list(query) }
        await #expect(throws: expected) { try await world.stores.credentials.list(query) }
        await #expect(throws: expected) { try await world.stores.members.list(query) }
        await #expect(throws: expected) { try await world.stores.tickets.list(query) }
        await #expect(throws: expected) { try await world.stores.groups.groups(query) }
        await #expect(throws: expected) { try await world.stores.gateways.gateways(query) }
        let counters = QuotaCounters(store: world.stores.quotaCounters)
        await #expect(throws: expected) { try await counters.uses(of: UUID(), query) }
    }
}

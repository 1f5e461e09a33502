import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// No two live grants say the same, and no two quotas count the same, however they are written.
@Suite struct TwinTests {
    /// Runs `body`, and returns the identifier that its refusal names.
    private func twin(_ kind: ResourceKind = .grant, _ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return Self.named(error, kind)
        }
    }

    /// The identifier that a refusal names; another error as text.
    private static func named(_ error: any Error, _ kind: ResourceKind = .grant) -> String? {
        switch error as? GatewayError {
        case .alreadyExists(let refused, let id)?: refused == kind ? id : "\(error)"
        case .itemsRefused(let first, _)?: named(first.error, kind)
        default: "\(error)"
        }
    }

    private func copy(_ grant: Grant) throws -> Grant {
        var copy = grant
        copy.id = try Grant.sample().id
        copy.note = "another note"
        return copy
    }

    @Test(.database(.migrated)) func `the same grant is refused with the identifier of the first`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await world.makeBucket("other")
        let first = try await world.stores.grants.create(.sample(), by: AdminWorld.change).row
        let lines = try await world.logLength()
        #expect(
            await twin { _ = try await world.stores.grants.create(copy(first), by: AdminWorld.change) }
                == first.id.lowercaseText)
        // Conditions compare whatever the order of their members in JSON.
        for change in Self.changes {
            var other = try copy(first)
            try change(&other)
            _ = try await world.stores.grants.create(other, by: AdminWorld.change)
            #expect(
                await twin { _ = try await world.stores.grants.create(copy(other), by: AdminWorld.change) }
                    == other.id.lowercaseText)
            // A change that would make two the same.
            var changed = first
            changed.id = other.id
            let revision = try await world.stores.grants.get(other.id.lowercaseText).revision
            #expect(
                await twin { _ = try await world.stores.grants.update(changed, from: revision, by: AdminWorld.change) }
                    == first.id.lowercaseText)
            // Its own note may change, and once it is removed, it may be made again.
            other.note = "new"
            _ = try await world.stores.grants.update(other, from: revision, by: AdminWorld.change)
            try await world.stores.grants.delete(other.id.lowercaseText, by: AdminWorld.change)
            var again = other
            again.id = try Grant.sample().id
            _ = try await world.stores.grants.create(again, by: AdminWorld.change)
        }
        #expect(try await world.logLength() == lines + Int64(4 * Self.changes.count))
    }

    private typealias Change = @Sendable (inout Grant) throws -> Void

    /// Each makes a grant say something else.
    private static let changes: [Change] = otherChanges + actions.map { set -> Change in { $0.actions = set } }

    /// Each action alone, all together, and all but one: of any action, two sets differ in it alone.
    private static let actions: [Set<Action>] = {
        let all = Set(Action.allCases)
        return [all] + Action.allCases.flatMap { action -> [Set<Action>] in [[action], all.subtracting([action])] }
    }()

    private static let otherChanges: [Change] = [
        { $0.principal = try Principal("group:alice") }, { $0.bucket = try BucketName("other") },
        { $0.prefix = try KeyPrefix(literal: "team/b/") }, { $0.prefix = try KeyPrefix(template: "${sub}/") },
        { $0.conditions.maxBytes = 1 }, { $0.conditions = GrantConditions() }, { $0.notBefore = nil },
        { $0.notAfter = nil },
        { ($0.effect, $0.conditions) = (.deny, GrantConditions()) },
    ]

    @Test(.database(.migrated)) func `grants that differ in any action have different fingerprints`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let sets = Action.allCases.reduce(into: [[]] as [[Action]]) { sets, action in
            sets += sets.map { $0 + [action] }
        }
        let arrays = sets.map { "('{\($0.map(\.rawValue).joined(separator: ","))}'::text[])" }.joined(separator: ", ")
        let fingerprint = "grant_fingerprint('user:a', 'demo', '', false, 'allow', s.actions, '{}', NULL, NULL, '')"
        #expect(
            try await connection.number(
                "SELECT count(DISTINCT \(fingerprint)) FROM (VALUES \(arrays)) AS s (actions)") == Int64(sets.count))
    }

    @Test(.database(.migrated)) func `the same quota is refused, whatever its limit`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let quotas = world.stores.quotas
        for bucket in [nil, try BucketName("demo")] {
            for period in [Quota.Period.day, .total] {
                var quota = Quota.sample(limit: 5, period: period)
                quota.bucket = bucket
                let first = try await quotas.create(quota, by: AdminWorld.change)
                quota.id = UUID()
                quota.limit = 7
                #expect(
                    await twin(.quota) { _ = try await quotas.create(quota, by: AdminWorld.change) }
                        == first.id.lowercaseText)
                quota.id = first.id
                _ = try await quotas.update(quota, from: first.revision, by: AdminWorld.change)
            }
        }
        #expect(try await world.connection.number("SELECT count(*) FROM quotas WHERE quota_limit = 7") == 4)
    }

    @Test(.database(.migrated)) func `of many at once, one is created, and the others name it`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        for round in 0..<10 {
            let answers = await withTaskGroup(of: (created: String?, named: String?).self) { group in
                for writer in 0..<6 {
                    group.addTask {
                        do {
                            var grant = try Grant.sample("user:\(round)")
                            grant.note = "\(writer)"
                            if writer < 4 {
                                return (
                                    try await world.stores.grants.create(grant, by: AdminWorld.change).id.lowercaseText,
                                    nil
                                )
                            }
                            return (try await world.apply([(nil, grant)]).writes.first?.id?.lowercaseText, nil)
                        } catch {
                            return (nil, Self.named(error))
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let created = answers.compactMap(\.created)
            #expect(created.count == 1)
            #expect(Set(answers.compactMap(\.named)) == Set(created), "\(answers)")
        }
        #expect(try await world.connection.number("SELECT count(*) FROM grants WHERE removed_at IS NULL") == 10)
    }

    @Test(.database(.migrated)) func `batches and imports refuse what would say the same`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let a = try await world.stores.grants.create(.sample("user:a"), by: AdminWorld.change).row
        let b = try await world.stores.grants.create(.sample("user:b"), by: AdminWorld.change).row
        #expect(await twin { try await world.apply([(nil, try copy(a))]) } == a.id.lowercaseText)
        #expect(await twin { try await world.apply([(b.id, a)], isDryRun: true) } == a.id.lowercaseText)
        let c = try Grant.sample("user:c")
        #expect(await twin { try await world.apply([(nil, c), (nil, try copy(c))]) } != nil)
        // Two grants may exchange what they say, and one may take the place of another.
        #expect(try await world.apply([(a.id, b), (b.id, a)]).counts[.updated] == 2)
        #expect(try await world.apply([(nil, try copy(b))], deletes: [a.id]).counts[.created] == 1)
        // A line that says what a grant says, with another note, is about that grant.
        var noted = a
        noted.note = "imported"
        let result = try await world.importing([(nil, noted)])
        #expect(result.counts[.updated] == 1 && result.counts[.created] == 0)
        #expect(try await world.stores.grants.get(b.id.lowercaseText).note == "imported")
        #expect(await twin { try await world.importing([(UUID(), noted)]) } == b.id.lowercaseText)
        await #expect(throws: GatewayError.self) { try await world.importing([(nil, c), (nil, try copy(c))]) }
    }

    @Test(.database) func `a migration leaves one of several that say the same`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let files = try Self.files()
        try await connection.runScript(files.first)
        for function in files.functions {
            try await connection.runScript("SET check_function_bodies = off; " + function)
        }
        try await connection.runScript(RevokeRaceTests.makeBucket)
        try await connection.runScript(Self.rows)
        try await connection.runScript(
            "BEGIN; \(files.third); SELECT append_policy_log('{all}', 'sluice migrate', ''); COMMIT")
        #expect(try await connection.number("SELECT count(*) FROM grants WHERE removed_at IS NULL") == 3)
        #expect(
            try await connection.number(
                "SELECT count(*) FROM grant_history WHERE removed_seq IS NOT NULL AND removed_by = 'migration'") == 2)
        #expect(
            try await connection.number("SELECT count(*) FROM grants WHERE removed_at IS NULL AND note = 'oldest'") == 1
        )
        #expect(try await connection.number("SELECT quota_limit FROM quotas WHERE principal = 'user:a'") == 3)
        #expect(try await connection.number("SELECT count(*) FROM quotas") == 2)
        #expect(
            try await connection.number(
                "SELECT count(*) FROM admin_audit WHERE actor = 'migration' AND operation = 'delete'") == 3)
    }

    /// The first quota is the oldest, the third has the lowest limit and stays, and the second was made in between.
    @Test(.database) func `a quota that stays goes on from the largest counter, and may be audited`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let files = try Self.files()
        try await connection.runScript(files.first)
        for function in files.functions {
            try await connection.runScript("SET check_function_bodies = off; " + function)
        }
        try await connection.runScript(Self.counters)
        #expect(try await connection.number("SELECT count(*) FROM audit_quotas()") == 0)
        try await connection.runScript(
            "BEGIN; \(files.third); SELECT append_policy_log('{all}', 'sluice migrate', ''); COMMIT")
        #expect(try await connection.number("SELECT quota_limit FROM quotas") == 50)
        for (holder, used) in [("user:early", 50), ("user:reset", 7), ("user:gone", 5), ("user:late", 2)] {
            let kept = "'00000000-0000-4000-8000-000000000003', '\(holder)', quota_period_start('month', now())"
            #expect(
                try await connection.number(
                    "SELECT used FROM quota_usage WHERE (quota_id, holder, period_start) = (\(kept))") == Int64(used),
                "\(holder)")
            #expect(
                try await connection.number("SELECT repair_quota_usage(\(kept))") == Int64(used),
                "\(holder) after an audit")
        }
        #expect(try await connection.number("SELECT count(*) FROM audit_quotas()") == 0)
        // What is given back is counted: both reservations of the larger counter, and that of the own counter.
        let held = "SELECT sum(amount) FROM reservations WHERE quota_id = '00000000-0000-4000-8000-000000000003'"
        #expect(try await connection.number(held + " AND holder = 'user:early'") == 50)
        #expect(try await connection.number(held + " AND holder = 'user:reset'") == 7)
    }

    /// Byte quotas with the same rule, what four callers were issued, and what the quotas counted of it.
    private static let counters = """
        SELECT prepare_issuances_partitions(1);
        INSERT INTO quotas (id, principal, action, metric, period, sharing, quota_limit, created_at)
        SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, '*', 'PutObject', 'bytes', 'month', 'each',
            (ARRAY[100, 70, 50])[n], now() + make_interval(secs => n)
        FROM generate_series(1, 3) n;
        CREATE TEMP TABLE issued (n integer, principal text, quotas integer[], amount bigint, released integer[]);
        INSERT INTO issued VALUES
            (1, 'user:early', '{1}', 30, '{}'), (2, 'user:early', '{1,2,3}', 20, '{}'),
            (3, 'user:reset', '{1,2,3}', 7, '{1,2}'), (4, 'user:gone', '{1}', 5, '{}'),
            (5, 'user:late', '{3}', 2, '{}');
        INSERT INTO issuances (id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id,
            delivery, action, method, bucket, object_key, expires_at, request_id, quota_ids, quota_amounts)
        SELECT ('00000000-0000-7000-8000-00000000000' || i.n)::uuid, now(), 0, i.principal, '*', gen_random_uuid(),
            gen_random_uuid(), 'presigned-url', 'PutObject', 'PUT', 'demo', 'key', now(), '',
            ARRAY(SELECT ('00000000-0000-4000-8000-00000000000' || q)::uuid FROM unnest(i.quotas) q),
            ARRAY(SELECT i.amount FROM unnest(i.quotas) q)
        FROM issued i;
        INSERT INTO quota_usage (quota_id, holder, period_start, shared, used, released)
        SELECT ('00000000-0000-4000-8000-00000000000' || q)::uuid, i.principal, quota_period_start('month', now()),
            false,
            sum(CASE WHEN q = ANY (i.released) THEN 0 ELSE i.amount END),
            sum(CASE WHEN q = ANY (i.released) THEN i.amount ELSE 0 END)
        FROM issued i, unnest(i.quotas) q GROUP BY q, i.principal;
        \(HeldBytes.ofLedger(
            "n.amount", quota: "('00000000-0000-4000-8000-00000000000' || q)::uuid",
            period: "quota_period_start('month', now())", deadAt: "now()",
            from: """
                issued n JOIN issuances i ON i.id = ('00000000-0000-7000-8000-00000000000' || n.n)::uuid
                CROSS JOIN unnest(n.quotas) q WHERE NOT q = ANY (n.released)
                """));
        SELECT append_policy_log('{all}', 'test', '');
        """

    private static func files() throws -> (first: String, third: String, functions: [String]) {
        func migration(_ version: Int32) throws -> String {
            String(decoding: try #require(Migration.all.first { $0.version == version }).sql, as: UTF8.self)
        }
        return (
            try migration(1), try migration(3), SchemaFunction.all.map { String(decoding: $0.sql, as: UTF8.self) }
        )
    }

    private static let rows = """
        INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by, note, conditions,
            created_at)
        SELECT gen_random_uuid(), n.principal, 'demo', 'd/', false, n.actions::text[], 'allow', 'test', n.note,
            n.conditions::jsonb, n.created_at
        FROM (VALUES
            ('user:a', '{PutObject,GetObject}', 'newer', '{"maxTTL": 1, "maxBytes": 2}', now()),
            ('user:a', '{GetObject,PutObject}', 'oldest', '{"maxBytes": 2, "maxTTL": 1}', now() - interval '1 day'),
            ('user:a', '{GetObject,PutObject}', 'third', '{"maxBytes": 2, "maxTTL": 1}', now()),
            ('user:a', '{GetObject,PutObject}', 'other', '{"maxBytes": 3, "maxTTL": 1}', now()),
            ('user:b', '{GetObject}', 'alone', '{}', now())
        ) AS n (principal, actions, note, conditions, created_at);
        INSERT INTO quotas (id, principal, metric, period, sharing, quota_limit)
        VALUES (gen_random_uuid(), 'user:a', 'urls', 'day', 'each', 4),
            (gen_random_uuid(), 'user:a', 'urls', 'day', 'each', 3), (gen_random_uuid(), '*', 'urls', 'day', 'each', 3);
        SELECT append_policy_log('{all}', 'test', '');
        """
}

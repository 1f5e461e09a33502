import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

extension PolicyRows {
    fileprivate var asPrincipal: PrincipalRows? { if case .principal(let rows) = self { rows } else { nil } }
    fileprivate var asBucket: Bucket?? { if case .bucket(let row) = self { .some(row) } else { nil } }
    fileprivate var asCredential: StorageCredential?? {
        if case .credential(let row) = self { .some(row) } else { nil }
    }
    fileprivate var asIssuer: Stored<Issuer>?? { if case .issuer(let row) = self { .some(row) } else { nil } }
    fileprivate var asAPIKey: APIKey?? { if case .apiKey(let row) = self { .some(row) } else { nil } }
    fileprivate var isUnreadable: Bool { if case .unreadable = self { true } else { false } }
}

/// Policy as gateways read it.
@Suite(.timeLimit(.minutes(5))) struct PolicySourceTests {
    private let firstChange = "(SELECT tag FROM policy_log WHERE seq = 1)"

    @Test(.database(.migrated), .timeLimit(.minutes(1))) func aDatabaseThatDoesNotAnswerIsNotWaitedFor() async throws {
        let database = try TestDatabase.current
        // Only the source's own timeout ends the wait: the lock is held until it has.
        let pool = PostgresPool(
            try PostgresConfiguration(
                connectionString: database.connectionString, applicationName: "tests", responseTimeout: .seconds(600)),
            size: 1, waitTimeout: .seconds(600), logger: .silent)
        let source = PostgresPolicySource(
            pool: pool, keys: try .sample("k1"), patience: .seconds(3), logger: .silent)
        let blocker = try PostgresConnection(testing: database.connectionString)
        try await blocker.runScript("BEGIN; LOCK TABLE policy_log, grants IN ACCESS EXCLUSIVE MODE")
        let slow = GatewayError.slowDown(retryAfter: 1)
        await #expect(throws: slow) {
            try await source.load([.principal(try Principal("user:alice"))], literalGrantLimit: 1)
        }
        await #expect(throws: slow) { try await source.changes(since: nil) }
        try await blocker.runScript("ROLLBACK")
        _ = try await source.changes(since: nil)
    }

    /// A pool of one connection that somebody has taken stands for one whose reads are slow.
    @Test(.database(.migrated), .timeLimit(.minutes(1)))
    func readsOfAreasAndOtherReadsDoNotWaitForEachOther() async throws {
        let database = try TestDatabase.current
        func makePool() throws -> PostgresPool {
            PostgresPool(try database.configuration(), size: 1, waitTimeout: .seconds(600), logger: .silent)
        }
        let (pool, areaPool) = (try makePool(), try makePool())
        let source = PostgresPolicySource(pool: pool, areaPool: areaPool, keys: try .sample("k1"), logger: .silent)
        let (alice, bucket) = (try Principal("user:alice"), try BucketName("demo"))
        let readArea: @Sendable () async throws -> Void = {
            _ = try await source.grants(of: [alice], in: bucket, around: ExactText("team/"), limit: 10)
            _ = try await source.firstGrants(of: [alice], in: nil, around: ExactText(""), limit: 10)
        }
        let blocker = try PostgresConnection(testing: database.connectionString)
        let lock = Statement<Void, Void>("SELECT pg_advisory_xact_lock(1)")
        /// Runs `body` while the one connection of a pool waits.
        func taking(_ pool: PostgresPool, _ body: () async throws -> Void) async throws {
            try await blocker.runScript("SELECT pg_advisory_lock(1)")
            let holder = Task { try await pool.perform(lock, ()) }
            try await blocker.waitForBlocked(on: "advisory")
            try await body()
            try await blocker.runScript("SELECT pg_advisory_unlock(1)")
            _ = try await holder.value
        }
        try await taking(areaPool) {
            let area = Task { try await readArea() }
            _ = try await source.load([.principal(alice)], literalGrantLimit: 1)
            _ = try await source.changes(since: nil)
            area.cancel()
            await #expect(throws: GatewayError.slowDown(retryAfter: 1)) { try await area.value }
        }
        // Whoever gave up is not in the way of the next one.
        try await taking(pool) { try await readArea() }
    }

    /// While gateways are replaced, the new ones write what the old ones do not know. It may limit what a row permits.
    /// Other rows of the same answer are read.
    @Test(.database(.migrated)) func nothingIsReadWithoutWhatALaterVersionWrote() async throws {
        let world = try AdminWorld()
        let lines = LogLines()
        let settings = PostgresPolicySource.sessionSettings
        let pool = PostgresPool(
            try TestDatabase.current.configuration(sessionSettings: settings), size: 1, logger: .silent)
        let source = PostgresPolicySource(pool: pool, keys: world.keys, logger: lines.logger)
        let bucket = try await world.makeBucket()
        let grant = try await world.stores.grants.create(.sample(maxTTL: 60), by: AdminWorld.change).row
        let issuer = try await world.stores.issuers.create(.sample(), by: AdminWorld.change).row
        let key = try await world.stores.apiKeys.create(.sample(), by: AdminWorld.change).row
        let scope = #"{"bucket": "demo", "prefix": "", "actions": ["GetObject"]}"#
        let signing = #"{"scheme": "alibaba-cdn-a", "credentialID": "\#(UUID())", "hash": "later"}"#
        let (ofGrant, ofKey) = (PolicyKey.principal(grant.principal), PolicyKey.apiKey(prefix: key.prefix))
        let (ofIssuer, ofBucket) = (PolicyKey.issuer(ExactText(issuer.issuer)), PolicyKey.bucket(bucket.name))
        let (nameOfGrant, nameOfIssuer) = ("grant \(grant.id.lowercaseText)", "issuer \(issuer.id.lowercaseText)")
        let rows: [(PolicyKey, String, String)] = [
            (ofGrant, nameOfGrant, #"UPDATE grants SET conditions = conditions || '{"onlyFrom": ["x"]}'"#),
            (
                ofGrant, nameOfGrant,
                """
                ALTER TABLE grants DROP CONSTRAINT grants_actions_check; UPDATE grants SET actions = '{RestoreObject}'
                """
            ),
            (
                ofKey, "API key \(key.id.lowercaseText)",
                "UPDATE api_keys SET admin_scopes = '[\(scope)]', roles = '{admin}'"
            ),
            (
                ofIssuer, nameOfIssuer,
                """
                UPDATE issuers SET roles_claim = 'r',
                    roles = '[{"role": "admin", "values": ["a"], "adminScopes": [\(scope)]}]'
                """
            ),
            (
                ofIssuer, nameOfIssuer,
                #"UPDATE issuers SET roles_claim = 'r', roles = '[{"role": "admin", "values": ["a"], "unless": ["b"]}]'"#
            ),
            (
                ofBucket, "bucket demo",
                #"UPDATE buckets SET public_endpoints = '{"default": {"url": "https://cdn.example", "until": 1}}'"#
            ),
            (
                ofBucket, "bucket demo",
                """
                UPDATE buckets SET public_endpoints = '{"default": {"url": "https://cdn.example", "signing": \(signing)}}'
                """
            ),
        ]
        // The first of each kind share a row of the answer.
        let all: [PolicyKey] = [
            ofGrant, ofBucket, .credential(bucket.credentialID), ofIssuer, ofKey, .principal(.anyone),
        ]
        for (key, name, statement) in rows {
            #expect(try await !source.load(all, literalGrantLimit: 10).rows.contains(where: \.isUnreadable))
            try await world.connection.runScript(statement)
            let load = try await source.load(all, literalGrantLimit: 10)
            #expect(load.rows.map(\.isUnreadable) == all.map { $0 == key }, "\(statement)")
            let line = lines.all.last ?? ""
            #expect(line.hasPrefix("error rows of policy cannot be read") && line.contains(name), "\(line)")
            try await world.connection.runScript(
                """
                UPDATE grants SET conditions = '{"maxTTL": 60}', actions = '{GetObject}';
                UPDATE api_keys SET admin_scopes = NULL;
                UPDATE issuers SET roles = '[]'; UPDATE buckets SET public_endpoints = '{}'
                """)
        }
        #expect(lines.all.count == rows.count)
    }

    @Test(.database(.migrated)) func aGrantThatCannotBeReadConcernsItsPlaceAlone() async throws {
        let world = try AdminWorld()
        let bucket = try await world.makeBucket().name
        let good = try await world.stores.grants.create(.sample("user:bob"), by: AdminWorld.change).row
        for maxTTL in [1, 2] {
            _ = try await world.stores.grants.create(.sample("user:alice", maxTTL: maxTTL), by: AdminWorld.change)
        }
        try await world.connection.runScript(
            #"UPDATE grants SET conditions = conditions || '{"onlyFrom": ["x"]}' WHERE conditions @> '{"maxTTL": 1}'"#)
        let places = try ["user:alice", "user:bob", "user:nobody"].map {
            GrantPlace(principal: try Principal($0), bucket: bucket, prefix: ExactText("team/"))
        }
        #expect(try await world.source.grants(at: places).rows == [nil, [good], []])
    }

    /// How many grants a principal has decides whether they are read together, by place or by prefix. It does not show.
    @Test(.database(.migrated))
    func `a grant that cannot be read has one answer and one line, however it is read`() async throws {
        let world = try AdminWorld()
        let lines = LogLines()
        let pool = PostgresPool(
            try TestDatabase.current.configuration(sessionSettings: PostgresPolicySource.sessionSettings), size: 1,
            logger: .silent)
        let source = PostgresPolicySource(pool: pool, keys: world.keys, logger: lines.logger)
        let bucket = try await world.makeBucket().name
        _ = try await world.stores.grants.create(.sample("user:bob"), by: AdminWorld.change)
        let grant = try await world.stores.grants.create(.sample("user:alice"), by: AdminWorld.change).row
        try await world.connection.runScript(
            #"UPDATE grants SET conditions = '{"onlyFrom": ["x"]}' WHERE principal = 'user:alice'"#)
        let principals = [try Principal("user:bob"), grant.principal]
        let (team, all) = (ExactText("team/"), ExactText(""))

        let loaded = try await source.load([.principal(grant.principal)], literalGrantLimit: 10)
        #expect(loaded.rows.map(\.isUnreadable) == [true])
        let place = GrantPlace(principal: grant.principal, bucket: bucket, prefix: team)
        #expect(try await source.grants(at: [place]).rows == [nil])
        let unreadable = GatewayError.unavailable(retryAfter: 60)
        await #expect(throws: unreadable) {
            try await source.grants(of: principals, in: bucket, around: team, limit: 10)
        }
        await #expect(throws: unreadable) {
            try await source.firstGrants(of: principals, in: nil, around: all, limit: 10)
        }
        #expect(lines.all.count == 4)
        for line in lines.all {
            #expect(line.hasPrefix("error rows of policy cannot be read"), "\(line)")
            #expect(line.contains("user:alice") && line.contains("grant \(grant.id.lowercaseText)"), "\(line)")
        }
    }

    @Test(.database(.migrated)) func answersInTheOrderAskedAlsoWhereNothingIs() async throws {
        let world = try AdminWorld()
        let bucket = try await world.makeBucket()
        let credential = try await world.stores.credentials.get(bucket.credentialID.uuidString.lowercased()).row
        let issuer = try await world.stores.issuers.create(.sample(), by: AdminWorld.change)
        let key = try await world.stores.apiKeys.create(.sample(), by: AdminWorld.change).row
        let grant = try await world.stores.grants.create(.sample(), by: AdminWorld.change).row
        let template = try await world.stores.grants.create(
            .sample("user:alice", "users/${sub}/", template: true), by: AdminWorld.change
        ).row
        let removed = try await world.stores.grants.create(.sample(maxTTL: 1), by: AdminWorld.change).row
        try await world.stores.grants.delete(removed.id.uuidString.lowercased(), by: AdminWorld.change)
        let alice = try Principal("user:alice")
        let staff = try Principal("group:staff")
        _ = try await world.stores.members.create(
            GroupMember(group: staff, member: alice, createdAt: Date()), by: AdminWorld.change)
        var quota = Quota.sample(limit: 7, principal: alice)
        quota = try await world.stores.quotas.create(quota, by: AdminWorld.change).row

        let keys: [PolicyKey] = [
            .bucket(try BucketName("absent")), .principal(try Principal("user:nobody")), .credential(UUID()),
            .principal(alice), .apiKey(prefix: "absent000000"), .issuer(ExactText("https://absent.example")),
            .bucket(bucket.name), .credential(credential.id), .issuer(ExactText(issuer.issuer)),
            .apiKey(prefix: key.prefix), .principal(alice), .principal(.anyone),
        ]
        let load = try await world.source.load(keys, literalGrantLimit: 10)
        #expect(try await load.position == world.connection.position())
        try #require(load.rows.count == keys.count)
        #expect(load.rows[0].asBucket == .some(nil))
        #expect(load.rows[2].asCredential == .some(nil))
        #expect(load.rows[4].asAPIKey == .some(nil))
        #expect(load.rows[5].asIssuer == .some(nil))
        #expect(load.rows[6].asBucket == .some(bucket))
        #expect(load.rows[7].asCredential == .some(credential))
        #expect(load.rows[8].asIssuer == .some(issuer))
        #expect(load.rows[9].asAPIKey == .some(key))
        for index in [3, 10] {
            let rows = try #require(load.rows[index].asPrincipal)
            #expect(rows.groups == [staff])
            #expect(Set(rows.grants.map(\.id)) == [grant.id, template.id])
            #expect(rows.grants.contains(grant) && rows.grants.contains(template))
            #expect(rows.quotas == [quota])
            #expect(rows.isComplete)
        }
        for index in [1, 11] {
            let rows = try #require(load.rows[index].asPrincipal)
            #expect(rows.groups.isEmpty && rows.grants.isEmpty && rows.quotas.isEmpty && rows.isComplete)
        }
        #expect(try await world.source.load([], literalGrantLimit: 1).position == load.position)
    }

    @Test(.database(.migrated), arguments: [(5, true), (4, true), (3, false), (0, false)])
    func literalGrantsAreLeftOutAboveTheLimit(_ limit: Int, _ isComplete: Bool) async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let alice = try Principal("user:alice")
        for index in 0..<4 {
            _ = try await world.stores.grants.create(.sample("user:alice", "p\(index)/"), by: AdminWorld.change)
            _ = try await world.stores.grants.create(.sample("user:bob", "b\(index)/"), by: AdminWorld.change)
        }
        let template = try await world.stores.grants.create(
            .sample("user:alice", "${sub}/", template: true), by: AdminWorld.change
        ).row
        let load = try await world.source.load([.principal(alice)], literalGrantLimit: limit)
        let rows = try #require(load.rows.first?.asPrincipal)
        #expect(rows.isComplete == isComplete)
        #expect(rows.grants.count == (isComplete ? 5 : 1))
        #expect(rows.grants.contains(template))
    }

    @Test(.database(.migrated)) func theGrantsOfABatchAreReadInOneStatement() async throws {
        let world = try AdminWorld()
        let bucket = try await world.makeBucket().name
        try await world.connection.runScript(
            """
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, conditions, created_by)
            SELECT gen_random_uuid(), 'user:hog', 'demo', 'p' || n || '/', false, '{GetObject}', 'allow', '{}', 'user:root'
            FROM generate_series(1, 300) n;
            SELECT append_policy_log('{user:hog}', 'test', '');
            """)
        let source = CountingSource(world.source)
        let cache = PolicyCache(source: source)
        let hog = try Principal("user:hog")
        func ask() async throws {
            let objects = try (0..<1000).map { number in
                (bucket: bucket, key: try ObjectKey("p\(1 + number % 300)/d/k\(number)"))
            }
            for result in try await cache.access(of: hog, groups: [], to: objects) {
                #expect(try result.get().literalGrants.count == 1)
            }
        }
        try await ask()
        // The bucket, 300 prefixes, 300 folders below them, and the keys themselves.
        #expect(source.placeLoads.withLock { $0 } == [1601])
        try await ask()
        #expect(source.placeLoads.withLock(\.count) == 1)
    }

    @Test(.database(.migrated)) func grantsAroundAPrefixAreReadUpToABound() async throws {
        let world = try AdminWorld()
        let bucket = try await world.makeBucket().name
        try await world.connection.runScript(
            """
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, conditions, created_by)
            SELECT gen_random_uuid(), 'group:g' || p, 'demo', 'p' || n || '/', false, '{GetObject}', 'allow', '{}', 'user:root'
            FROM generate_series(1, 300) n CROSS JOIN generate_series(1, 20) p;
            SELECT append_policy_log('{all}', 'test', '');
            """)
        let groups = try (1...20).map { try Principal("group:g\($0)") }
        let load = try await world.source.grants(of: groups, in: bucket, around: ExactText(""), limit: 257)
        #expect(load.rows.count == PolicyCache.maxGrantsAround + 1)
    }

    @Test(.database(.migrated)) func theFirstGrantsComeInTheOrderOfTheirPlaces() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await world.makeBucket("alpha")
        for (principal, prefix) in [
            ("user:alice", "b/"), ("user:alice", ""), ("user:alice", "b/c/"), ("group:staff", "b/c/d"),
            ("*", "a/"), ("*", "b0/"), ("user:bob", "b/"),
        ] {
            _ = try await world.stores.grants.create(.sample(principal, prefix), by: AdminWorld.change)
        }
        _ = try await world.stores.grants.create(.sample("*", "z/", bucket: "alpha"), by: AdminWorld.change)
        _ = try await world.stores.grants.create(
            .sample("user:alice", "b/${sub}/", template: true), by: AdminWorld.change)
        let removed = try await world.stores.grants.create(.sample("*", "b/", maxTTL: 60), by: AdminWorld.change).row
        try await world.stores.grants.delete(removed.id.uuidString.lowercased(), by: AdminWorld.change)
        let principals = try ["user:alice", "user:nobody", "group:staff", "*"].map { try Principal($0) }
        let end = try await world.connection.position()
        func first(_ limit: Int = 100, in bucket: String? = nil, around prefix: String = "") async throws -> [String] {
            let load = try await world.source.firstGrants(
                of: principals, in: bucket.map { try BucketName($0) }, around: ExactText(prefix), limit: limit)
            #expect(load.position == end)
            return load.rows.map(\.prefix.text)
        }
        #expect(try await first() == ["z/", "", "a/", "b/", "b/c/", "b/c/d", "b0/"])
        #expect(try await first(4) == ["z/", "", "a/", "b/"])
        #expect(try await first(in: "demo") == ["", "a/", "b/", "b/c/", "b/c/d", "b0/"])
        #expect(try await first(in: "demo", around: "b/") == ["", "b/", "b/c/", "b/c/d"])
        #expect(try await first(3, in: "demo", around: "b/") == ["", "b/", "b/c/"])
        #expect(try await first(in: "demo", around: "b/c/d") == ["", "b/", "b/c/", "b/c/d"])
        #expect(try await first(in: "demo", around: "b") == [""])
        #expect(try await first(in: "absent") == [])
        let none = try await world.source.firstGrants(of: [], in: nil, around: ExactText(""), limit: 1)
        #expect(none.position == end && none.rows.isEmpty)
    }

    @Test(.database(.migrated)) func grantsAtPlacesAreThoseOfThePlaceByItsBytes() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let composed = "caf\u{e9}"
        let decomposed = "cafe\u{301}"
        var grants: [Grant] = []
        for (index, (principal, prefix)) in [
            (composed, decomposed), (decomposed, composed), (composed, composed), (composed, composed),
        ].enumerated() {
            grants.append(
                try await world.stores.grants.create(
                    .sample("user:" + principal, prefix + "/", maxTTL: index + 1), by: AdminWorld.change
                ).row)
        }
        _ = try await world.stores.grants.create(
            .sample("user:" + composed, "${sub}/", template: true), by: AdminWorld.change)
        let bucket = try BucketName("demo")
        func place(_ principal: String, _ prefix: String) throws -> GrantPlace {
            GrantPlace(principal: try Principal("user:" + principal), bucket: bucket, prefix: ExactText(prefix))
        }
        let load = try await world.source.grants(at: [
            place("nobody", composed + "/"), place(composed, composed + "/"), place(decomposed, composed + "/"),
            place(composed, composed), place(composed, "${sub}/"), place(composed, decomposed + "/"),
            place(composed, composed + "/"),
        ])
        #expect(try await load.position == world.connection.position())
        let both: Set = [grants[2].id, grants[3].id]
        #expect(
            load.rows.map { Set(($0 ?? []).map(\.id)) } == [[], both, [grants[1].id], [], [], [grants[0].id], both])
        #expect(load.rows[2] == [grants[1]])
        #expect(try await world.source.grants(at: []).position == load.position)

        let rows = try await world.source.load(
            [.principal(Principal("user:" + decomposed))], literalGrantLimit: 10
        ).rows.first?.asPrincipal
        #expect(rows?.grants == [grants[1]])
    }

    @Test(.database(.migrated)) func tellsWhatChangedOrToForgetEverything() async throws {
        let world = try AdminWorld()
        let connection = world.connection
        let start = try await connection.position()
        #expect(try await world.source.changes(since: nil) == .restart(at: start))
        #expect(try await world.source.changes(since: start) == .scopes([], upTo: start))
        try await connection.append(scopes: ["user:a", "bucket:b"])
        try await connection.append(scopes: ["user:a", "*"])
        let end = try await connection.position()
        #expect(
            try await world.source.changes(since: start)
                == .scopes(
                    ["user:a", "bucket:b", "*"].reduce(into: []) { $0.insert(PolicyScope(rawValue: $1)) }, upTo: end))
        for stranger in [
            PolicyPosition(sequence: start.sequence, tag: UUID()),
            PolicyPosition(sequence: end.sequence + 1, tag: end.tag),
            PolicyPosition(sequence: 0, tag: start.tag), PolicyPosition(sequence: .min, tag: start.tag),
            PolicyPosition(sequence: .max, tag: end.tag),
        ] {
            #expect(try await world.source.changes(since: stranger) == .restart(at: end))
        }
        for _ in 2..<PostgresPolicySource.maxLines { try await connection.append(scopes: ["user:c"]) }
        guard case .scopes = try await world.source.changes(since: start) else {
            Issue.record("the limit is not the limit")
            return
        }
        try await connection.append(scopes: ["user:c"])
        #expect(try await world.source.changes(since: start) == .restart(at: connection.position()))
    }

    @Test(.database(.migrated)) func aHundredThousandGrantsOfOnePrincipalAreNotRead() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        // The planner assumes an empty table when the statements are first prepared.
        let hog = PolicyKey.principal(try Principal("user:hog"))
        _ = try await world.source.load([hog], literalGrantLimit: 256)
        try await world.connection.runScript(
            """
            WITH made AS (
                INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by, created_change)
                SELECT gen_random_uuid(), 'user:hog', 'demo', 'p' || n || '/', false, '{GetObject}', 'allow', 'x',
                    \(firstChange)
                FROM generate_series(1, 100000) n RETURNING 1
            ) SELECT count(*) FROM made;
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by, created_change)
            VALUES (gen_random_uuid(), 'user:hog', 'demo', '${sub}/', true, '{GetObject}', 'allow', 'x',
                    \(firstChange));
            ANALYZE grants;
            """)
        let session = try PostgresConnection(
            testing: TestDatabase.current.connectionString, settings: PostgresPolicySource.sessionSettings)
        let keys = [hog] + (0..<2000).map { PolicyKey.apiKey(prefix: "absent\($0)") }
        let rows = try await world.source.load(keys, literalGrantLimit: 256).rows
        #expect(rows.first?.asPrincipal?.grants.map(\.prefix.text) == ["${sub}/"])

        let principals = "ARRAY['user:hog', 'user:nobody', '*']"
        let load = try await session.rowsRead(
            by: PolicyStatements.load.text,
            types: "text[], text[], uuid[], text[], text[], text[], bigint",
            arguments: "\(principals), '{}', '{}', '{}', '{}', '{}', 256")
        #expect(load < 400)
        let places = try await session.rowsRead(
            by: PolicyStatements.grantsAtPlaces.text, types: "text[], text[], text[]",
            arguments: "\(principals), '{demo,demo,demo}', '{p77777/,p77777/,p77777/}'")
        #expect(places < 10)
        let around = try await session.rowsRead(
            by: PolicyStatements.grantsAround.text, types: "text[], text, text[], text, text, bigint",
            arguments: "\(principals), 'demo', '{\"\",p77777/}', 'p77777/x/', 'p77777/x0', 257")
        #expect(around < 20)
        let types = "text[], text, text[], text, text, bigint"
        for (place, most) in [("NULL, '{}', '', 'x'", 1010), ("'demo', '{\"\"}', 'p77777/', 'p777770'", 20)] {
            let first = try await session.rowsRead(
                by: PolicyStatements.firstGrants.text, types: types, arguments: "\(principals), \(place), 1001")
            #expect(first < most, "\(place)")
        }
    }

    @Test(.database(.migrated)) func thousandsOfPrincipalsComeInOneAnswer() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await world.connection.runScript(
            """
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by, created_change)
            SELECT gen_random_uuid(), 'user:' || n, 'demo', 'p' || n || '/', false, '{GetObject}', 'allow', 'x',
                    \(firstChange)
            FROM generate_series(1, 5000) n
            """)
        let keys = try (1...5000).reversed().map { PolicyKey.principal(try Principal("user:\($0)")) }
        let load = try await world.source.load(keys, literalGrantLimit: 256)
        let prefixes: [[String]] = load.rows.map { $0.asPrincipal?.grants.map(\.prefix.text) ?? [] }
        let expected: [[String]] = (1...5000).reversed().map { ["p\($0)/"] }
        #expect(prefixes == expected)
    }
}

extension PostgresConnection {
    /// Number of grant rows that a statement reads, including those that a filter removes.
    fileprivate func rowsRead(by text: String, types: String, arguments: String) async throws -> Int {
        try await runScript("PREPARE counted (\(types)) AS \(text)")
        let plan = try await execute(
            Statement<Void, String>("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE counted (\(arguments))") {
                row throws(PostgresError) in try row.decode(0)
            })
        try await runScript("DEALLOCATE counted")
        let json = try JSONSerialization.jsonObject(with: Data(plan.joined().utf8))
        return Self.rowsRead(in: json)
    }

    private static func rowsRead(in node: Any) -> Int {
        if let list = node as? [Any] { return list.reduce(0) { $0 + rowsRead(in: $1) } }
        guard let node = node as? [String: Any] else { return 0 }
        var count = node.values.reduce(0) { $0 + rowsRead(in: $1) }
        if node["Relation Name"] as? String == "grants" {
            let loops = node["Actual Loops"] as? Double ?? 0
            for name in ["Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"] {
                count += Int((node[name] as? Double ?? 0) * loops)
            }
        }
        return count
    }
}

/// Wraps another source, and counts the places for which each statement asked.
private final class CountingSource: PolicySource {
    private let source: any PolicySource
    let placeLoads = Mutex<[Int]>([])

    init(_ source: any PolicySource) {
        self.source = source
    }

    func load(_ keys: [PolicyKey], literalGrantLimit: Int) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        try await source.load(keys, literalGrantLimit: literalGrantLimit)
    }

    func grants(at places: [GrantPlace]) async throws(GatewayError) -> PolicyLoad<[[Grant]?]> {
        placeLoads.withLock { $0.append(places.count) }
        return try await source.grants(at: places)
    }

    func grants(
        of principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        try await source.grants(of: principals, in: bucket, around: prefix, limit: limit)
    }

    func firstGrants(
        of principals: [Principal], in bucket: BucketName?, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        try await source.firstGrants(of: principals, in: bucket, around: prefix, limit: limit)
    }

    func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
        try await source.changes(since: position)
    }
}

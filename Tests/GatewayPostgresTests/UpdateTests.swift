import FoundationEssentials
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import TestSupport
import Testing

@testable import GatewayPostgres

/// Updates, while gateways of the version before serve.
@Suite(.timeLimit(.minutes(3))) struct UpdateTests {
    /// State that recorders and a test share.
    private final class Course: Sendable {
        private let recordings = Atomic(0)
        private let end = Atomic(false)

        var recorded: Int { recordings.load(ordering: .acquiring) }
        func note() { recordings.add(1, ordering: .relaxed) }

        var isOver: Bool { end.load(ordering: .acquiring) }
        func finish() { end.store(true, ordering: .releasing) }

        func wait(for more: Int) async throws {
            let goal = recorded + more
            while recorded < goal { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    private func connect() throws -> PostgresConnection {
        try PostgresConnection(testing: TestDatabase.current.connectionString)
    }

    private func source(_ schema: SchemaFit? = nil) throws -> PostgresPolicySource {
        let configuration = try TestDatabase.current.configuration(
            sessionSettings: PostgresPolicySource.sessionSettings)
        return PostgresPolicySource(
            pool: PostgresPool(configuration, size: 2, logger: .silent), keys: try .sample("k1"), schema: schema,
            logger: .silent)
    }

    private func readState(_ connection: PostgresConnection) async throws -> SchemaState {
        try #require(try await connection.execute(Migrator.readState).first)
    }

    @Test(.database(.migrated)) func `a gateway goes on until the update is finished, and is then told what to do`()
        async throws
    {
        let connection = try connect()
        let schema = SchemaFit(logger: .silent)
        let source = try source(schema)
        let next = try NextRelease.migrator(connection)
        let (expand, contract) = (Int(NextRelease.expand.version), Int(NextRelease.contract.version))
        await #expect(throws: Migrator.Failure.schemaIsOlder(version: expand - 1, needed: expand)) {
            try await next.check()
        }
        let before = try await connection.position()

        let outcome = try await next.migrate()
        #expect(outcome.applied == [expand])
        #expect(outcome.functions == ["record_issuance_v2"])
        #expect(outcome.leftovers == .init(migrations: [contract], functions: ["record_issuance"]))
        try await next.check()
        try await Migrator(connection: connection).check()
        // What was decided before still counts, by the function of before.
        #expect(try await connection.position() == before)
        #expect(try await connection.record([.sample(at: before)], by: .one).allSatisfy(\.isRecorded))
        _ = try await source.changes(since: nil)
        #expect(!schema.isBroken)
        #expect(try await next.migrate().applied == [])

        let gateway = UUID()
        try await connection.announce(gateway, version: "0.9.7")
        for _ in 0..<2 {
            let failure = await #expect(throws: Migrator.Failure.self) { try await next.finish() }
            #expect(failure?.description.contains("\(gateway.lowercaseText) (version 0.9.7") == true)
            try await connection.age(by: 50)
        }
        // As if it had been killed while PostgreSQL's clock was an hour ahead.
        try await connection.announce(UUID(), version: "0.9.8")
        try await connection.age(by: -3600)
        try await connection.announce(UUID(), next.goal)
        #expect(try await readState(connection).version == expand)

        #expect(try await next.finish() == .init(migrations: [contract], functions: ["record_issuance"]))
        #expect(try await next.finish().isEmpty)
        #expect(try await connection.texts("SELECT 'x' FROM pg_proc WHERE proname = 'record_issuance'") == [])
        try await next.check()
        let failure = Migrator.Failure.programIsOlder(version: expand - 1, servesFrom: expand)
        await #expect(throws: failure) { try await Migrator(connection: connection).check() }
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) { try await source.changes(since: nil) }
        #expect(schema.isBroken)
    }

    @Test(.database) func `a CDN waits for the end of the update, and so does its key pair`() async throws {
        let connection = try connect()
        let version = try #require(Migration.all.first { $0.name == "list_and_delete" }?.version)
        _ = try await Migrator(
            connection: connection, migrations: Migration.all.filter { $0.version < version }
        ).migrate()
        let world = try AdminWorld()
        let bucket = try await world.makeBucket()
        var pair = StorageCredential.sample(name: "cdn")
        pair.kind = .keyPair
        let stored = try await world.stores.buckets.get(bucket.name.rawValue)
        var named = stored.row
        named.publicEndpoints[.cdn] = PublicEndpoint(
            url: "https://cdn.example",
            signing: CDNSigning(scheme: .nginxSecureLink, credentialID: bucket.credentialID))

        let migrator = Migrator(connection: connection)
        _ = try await migrator.migrate()
        for body in [
            { _ = try await world.stores.credentials.create(pair, by: AdminWorld.change) },
            { _ = try await world.stores.buckets.update(named, from: stored.revision, by: AdminWorld.change) },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: GatewayError.self) { try await body() }
            guard case .conflict(let reason)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(reason.contains("migrate --finish"))
        }
        _ = try await migrator.finish()
        _ = try await world.stores.credentials.create(pair, by: AdminWorld.change)
        let found = try await world.stores.buckets.update(named, from: stored.revision, by: AdminWorld.change)
        #expect(found.row.publicEndpoints == named.publicEndpoints)
    }

    @Test(.database) func `new actions wait for the end of the update, and grants of before stay as they are`()
        async throws
    {
        let connection = try connect()
        let version = try #require(Migration.all.first { $0.name == "list_and_delete" }?.version)
        let before = Migrator(
            connection: connection, migrations: Migration.all.filter { $0.version < version })
        _ = try await before.migrate()
        let world = try AdminWorld()
        try await world.makeBucket()
        let old = try await world.stores.grants.create(.sample(), by: AdminWorld.change)
        func grant(_ action: Action) throws -> Grant {
            var grant = try Grant.sample("user:bob")
            (grant.actions, grant.conditions) = ([action], GrantConditions())
            return grant
        }

        let migrator = Migrator(connection: connection)
        #expect(try await migrator.migrate().leftovers.migrations == [Int(version)])
        try await migrator.check()
        for action in [Action.listObjects, .deleteObject] {
            let error = await #expect(throws: GatewayError.self) {
                try await world.stores.grants.create(grant(action), by: AdminWorld.change)
            }
            guard case .conflict(let reason)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(reason.contains("migrate --finish"))
        }
        // A gateway of before could not read such a row.
        try await connection.announce(UUID(), version: "0.9.7", before.goal)
        await #expect(throws: Migrator.Failure.self) { try await migrator.finish() }
        try await connection.age(by: 61)
        #expect(try await migrator.finish().migrations == [Int(version)])
        await #expect(throws: Migrator.Failure.programIsOlder(version: Int(version) - 1, servesFrom: Int(version))) {
            try await before.check()
        }
        #expect(try await world.stores.grants.get(old.row.id.lowercaseText) == old)
        for action in [Action.listObjects, .deleteObject] {
            let row = try await world.stores.grants.create(grant(action), by: AdminWorld.change).row
            #expect(row.actions == [action])
        }
    }

    @Test(.database(.migrated)) func `an expansion stops and refuses nothing that is being recorded`() async throws {
        let connection = try connect()
        let source = try source()
        let course = Course()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let own = try PostgresConnection(testing: TestDatabase.current.connectionString)
                    while !course.isOver {
                        let known: PolicyPosition
                        switch try await source.changes(since: nil) {
                        case .restart(let position), .scopes(_, let position): known = position
                        }
                        let verdicts = try await own.record([.sample(at: known)], by: .one)
                        let all = verdicts.allSatisfy { $0.isRecorded }
                        #expect(all)
                        course.note()
                    }
                    await own.close()
                }
            }
            try await course.wait(for: 50)
            _ = try await NextRelease.migrator(connection).migrate()
            try await course.wait(for: 50)
            course.finish()
            try await group.waitForAll()
        }
        #expect(try await connection.number("SELECT count(*) FROM issuances") == Int64(course.recorded))
    }

    @Test(.database(.migrated)) func `what an earlier update left goes with the next one, unless a gateway needs it`()
        async throws
    {
        let connection = try connect()
        _ = try await NextRelease.migrator(connection).migrate()
        let later = Migration(
            version: NextRelease.contract.version + 1, name: "add_more", sql: Array("-- Kind: expand\n".utf8))
        let second = Migrator(
            connection: connection, migrations: NextRelease.migrations + [later],
            functions: try NextRelease.functions(), program: "1.2.0")
        await #expect(throws: Migrator.Failure.self) { try await second.finish() }
        try await connection.announce(UUID())
        let failure = await #expect(throws: Migrator.Failure.self) { try await second.migrate() }
        guard case .gatewaysRun(let gateways) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(gateways.map(\.schemaVersion) == [Int(SchemaState.carried.version)])
        try await connection.age(by: 61)
        #expect(try await second.migrate().applied == [Int(NextRelease.contract.version), Int(later.version)])
    }

    /// As at the start of a container of before, while gateways are replaced.
    @Test(.database(.migrated)) func `what a newer version brought, an older one does not take back`() async throws {
        let connection = try connect()
        let own = Migrator(connection: connection)
        let text = String(decoding: try #require(SchemaFunction.all.first { $0.name == "uuid_v7" }).sql, as: UTF8.self)
        let mended = try NextRelease.functions().map {
            $0.name == "uuid_v7" ? SchemaFunction(name: $0.name, sql: Array("\(text)-- Mended.\n".utf8)) : $0
        }
        let next = Migrator(connection: connection, functions: mended, program: "1.0.10")
        #expect(try await next.migrate().functions.sorted() == ["record_issuance_v2", "uuid_v7"])
        let body = "SELECT encode(checksum, 'hex') FROM schema_functions WHERE name = 'uuid_v7'"
        let (before, position) = (try await connection.texts(body), try await connection.position())
        for version in ["1.0.0", "1.0.9"] {
            let older = Migrator(connection: connection, program: version)
            let outcome = try await older.migrate()
            #expect(outcome.newer == "version 1.0.10" && outcome.functions.isEmpty, "\(outcome)")
            await #expect(throws: Migrator.Failure.migratedByNewer(program: "1.0.10", own: version)) {
                try await older.finish()
            }
            try await older.check()
        }
        #expect(try await (connection.texts(body), connection.position()) == (before, position))
        // Once the update is finished, the older one cannot go on.
        #expect(try await next.finish().functions == ["record_issuance"])
        await #expect(throws: Migrator.Failure.migratedByNewer(program: "1.0.10", own: "1.0.0")) {
            try await own.migrate()
        }
        #expect(try await next.migrate().functions == [])
    }

    @Test(.database(.migrated)) func `a release comes after its pre-releases`() async throws {
        let connection = try connect()
        let next = try NextRelease.functions()
        for version in ["1.1.0-rc.1", "1.1.0-rc.2", "1.1.0", "1.1.0+build.5"] {
            let migrator = Migrator(connection: connection, functions: next, program: version)
            #expect(try await migrator.migrate().newer == nil, "\(version)")
        }
        #expect(try await Migrator(connection: connection).migrate().newer == "version 1.1.0")
    }

    @Test(.database(.migrated)) func `programs of one version that differ in functions may take turns`() async throws {
        let connection = try connect()
        let next = Migrator(connection: connection, functions: try NextRelease.functions())
        let own = Migrator(connection: connection)
        #expect(try await next.migrate().leftovers.functions == ["record_issuance"])
        try await own.check()
        #expect(try await own.migrate().functions == ["record_issuance"])
        #expect(try await own.leftovers() == .init(migrations: [], functions: ["record_issuance_v2"]))
        try await next.check()
        // A gateway of either needs a function that the other would drop.
        try await connection.announce(UUID(), next.goal)
        await #expect(throws: Migrator.Failure.self) { try await own.finish() }
        try await connection.age(by: 61)
        #expect(try await own.finish().functions == ["record_issuance_v2"])
        await #expect(throws: Migrator.Failure.functionsMissing(names: ["record_issuance_v2"])) {
            try await next.check()
        }
    }

    /// Expects that the tables of a migrator say what is there, and that the gateways of before go on; returns what is
    /// there of the next version.
    private func wholeState(_ connection: PostgresConnection) async throws -> [String] {
        let state = try await readState(connection)
        let isExpanded = state.version >= NextRelease.expand.version
        let columns = try await connection.texts(
            "SELECT attname::text FROM pg_attribute WHERE attrelid = 'issuances'::regclass AND attname = 'client'")
        #expect(columns.isEmpty != isExpanded)
        let made = try await connection.texts(
            "SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'")
        #expect(Set(made).isSuperset(of: state.functions.map(\.name)))
        let new = made.filter { $0 == "record_issuance_v2" }
        #expect(new.isEmpty != state.functions.contains { $0.name == "record_issuance_v2" })
        #expect(new.isEmpty != state.functions.contains(where: \.isSuperseded))
        try await Migrator(connection: connection).check()
        let known = try await connection.position()
        #expect(try await connection.record([.sample(at: known)], by: .one).allSatisfy(\.isRecorded))
        return columns + new
    }

    @Test(.database(.migrated)) func `an expansion that is cut off at any step goes on when it is run again`()
        async throws
    {
        let database = try TestDatabase.current
        let connection = try connect()
        let proxy = try StoppingProxy(to: database.cluster)
        defer { proxy.close() }
        // Earlier steps find that migrations are there already.
        var steps = 4 * Migration.all.count
        var states = Set<[String]>()
        while true {
            steps += 1
            let cutOff = try PostgresConnection(testing: proxy.connectionString(database: database.name))
            let course = Course()
            proxy.stop(after: steps)
            async let run: Void = {
                _ = try? await NextRelease.migrator(cutOff).migrate()
                course.finish()
            }()
            while !proxy.hasStopped, !course.isOver { try await Task.sleep(for: .milliseconds(1)) }
            if !proxy.hasStopped { break }
            // What a failover does to a session.
            try await connection.endSessions(where: "datname = current_database()")
            proxy.goOn()
            await run
            states.insert(try await wholeState(connection))
        }
        // Neither, the migration, and the functions with it.
        #expect(states.count == 3, "\(states)")
        #expect(try await NextRelease.migrator(connection).migrate().applied == [])
        try await NextRelease.migrator(connection).check()
    }

    private func waitUntil(_ condition: String, over connection: PostgresConnection) async throws {
        try await eventually {
            try await connection.number("SELECT count(*) FROM (\(condition)) c (holds) WHERE holds") > 0
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `an expansion whose commit a failover meets is there whole or not at all`(
        isOfFunctions: Bool, isReceived: Bool
    ) async throws {
        let pair = try await SynchronousPair()
        let name = try await pair.primary.createDatabase()
        func connect(to cluster: TestCluster) throws -> PostgresConnection {
            try PostgresConnection(testing: cluster.connectionString(database: name))
        }
        let primary = try connect(to: pair.primary)
        _ = try await Migrator(connection: primary).migrate()
        if isOfFunctions {
            let tables = Migrator(connection: primary, migrations: NextRelease.migrations)
            _ = try await tables.migrate()
        }
        if isReceived {
            // A commit waits until the standby shows what it has taken, which it does not any more.
            let standby = try PostgresConnection(testing: pair.standby.connectionString(database: "postgres"))
            try await standby.runScript("SELECT pg_wal_replay_pause()")
            try await waitUntil("SELECT pg_get_wal_replay_pause_state() = 'paused'", over: standby)
        } else {
            // A commit waits for the standby, which does not take it any more.
            try await pair.standby.suspend()
        }
        let cutOff = try PostgresConnection(
            testing: pair.primary.connectionString(database: name), settings: [("synchronous_commit", "remote_apply")])
        async let run = try? await NextRelease.migrator(cutOff).migrate()
        try await waitUntil(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')", over: primary)
        if isReceived {
            try await waitUntil(
                "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE flush_lsn >= pg_current_wal_flush_lsn())",
                over: primary)
        }
        try await pair.failOver()
        let outcome = await run
        #expect(outcome == nil)
        let promoted = try connect(to: pair.standby)
        let there = try await wholeState(promoted)
        #expect(
            there == Array(["client", "record_issuance_v2"].prefix((isOfFunctions ? 1 : 0) + (isReceived ? 1 : 0))))
        _ = try await NextRelease.migrator(promoted).migrate()
        #expect(try await wholeState(promoted).contains("record_issuance_v2"))
        try await NextRelease.migrator(promoted).check()
        try await pair.standby.kill()
    }

    /// A reader holds back a migration of the ledger. Whoever records waits behind the migration only while it asks for
    /// its lock.
    @Test(.database(.migrated)) func `no recording waits longer than a migration asks for its lock`() async throws {
        let connection = try connect()
        try await fill(day: "clock_timestamp()", over: connection)
        let margin = try await usualMargin()
        let reader = try connect()
        try await reader.runScript("BEGIN; SELECT FROM issuances LIMIT 1")
        let longest = try await longestRecording {
            let migrator = try NextRelease.migrator(connect())
            async let outcome = migrator.migrate()
            // The migration asks, gives way, and asks again.
            let waiting = """
                SELECT count(*) FROM pg_locks
                WHERE relation = 'issuances'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted
                    AND database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                """
            for isWaiting in [true, false, true, false] {
                try await eventually { (try await connection.number(waiting) > 0) == isWaiting }
            }
            try await reader.runScript("COMMIT")
            #expect(try await outcome.applied == [Int(NextRelease.expand.version)])
        }
        // Half a second, and what this machine adds.
        #expect(longest < .milliseconds(500) + margin, "\(longest)")
    }

    @Test(.database(.migrated)) func `an index comes to the ledger day by day, beside recordings`() async throws {
        let connection = try connect()
        let expand = Migration(
            version: SchemaState.carried.version + 1, name: "find_requests",
            sql: Array(
                """
                -- Kind: expand
                CREATE INDEX issuances_request_id_idx ON ONLY issuances (request_id);
                """.utf8))
        try await connection.runScript(
            "SELECT create_issuances_partition(((now() - interval '1 day') AT TIME ZONE 'UTC')::date)")
        try await fill(day: "now() - interval '1 day'", over: connection)
        let yesterday = try #require(
            try await connection.texts(
                "SELECT 'issuances_' || to_char((now() - interval '1 day') AT TIME ZONE 'UTC', 'YYYYMMDD')"
            ).first)
        let margin = try await usualMargin()
        let longest = try await longestRecording {
            let migrator = Migrator(
                connection: connection, migrations: Migration.all + [expand])
            #expect(try await migrator.migrate(daysAhead: 9).partitions == 2)
            try await connection.runScript("CREATE INDEX later_idx ON \(yesterday) (request_id)")
            try await connection.runScript("ALTER INDEX issuances_request_id_idx ATTACH PARTITION later_idx")
        }
        #expect(longest < .milliseconds(500) + margin, "\(longest)")
        // Yesterday by the step, and the two days that were made afterwards.
        let attached = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'issuances_request_id_idx'::regclass"
        #expect(try await connection.number(attached) == 3)
    }

    /// Writes 200,000 rows to a day of the ledger.
    private func fill(day: String, over connection: PostgresConnection) async throws {
        try await connection.runScript(
            """
            INSERT INTO issuances (
                id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method,
                bucket, object_key, expires_at, request_id
            )
            SELECT gen_random_uuid(), \(day), 1, 'user:a', 'user:a', gen_random_uuid(), gen_random_uuid(),
                'presigned-url', 'GetObject', 'GET', 'demo', 'key-' || n, \(day), 'request-' || n
            FROM generate_series(1, 200000) AS n
            """)
    }

    /// How much longer than meant a recording may take on this machine now: a multiple of what one takes without a
    /// migration, and at least a second.
    private func usualMargin() async throws -> Duration {
        try await max(.seconds(3), longestRecording {} * 10)
    }

    /// Records over three connections while a body runs; returns how long the slowest recording took.
    private func longestRecording(_ body: () async throws -> Void) async throws -> Duration {
        let course = Course()
        return try await withThrowingTaskGroup(of: Duration.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    let own = try PostgresConnection(testing: TestDatabase.current.connectionString)
                    let position = try await own.position()
                    var longest = Duration.zero
                    while !course.isOver {
                        let start = ContinuousClock.now
                        let verdicts = try await own.record([.sample(at: position)], by: .one)
                        let all = verdicts.allSatisfy { $0.isRecorded }
                        #expect(all)
                        longest = max(longest, ContinuousClock.now - start)
                        course.note()
                    }
                    await own.close()
                    return longest
                }
            }
            defer { course.finish() }
            try await course.wait(for: 20)
            try await body()
            try await course.wait(for: 20)
            course.finish()
            return try await group.reduce(.zero) { max($0, $1) }
        }
    }
}

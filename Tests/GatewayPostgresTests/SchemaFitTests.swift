import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

/// A gateway whose schema changes while it runs.
@Suite(.timeLimit(.minutes(2))) struct SchemaFitTests {
    private final class Course: Sendable {
        let recorded = Atomic(0)
        let isMigrated = Atomic(false)

        var count: Int { recorded.load(ordering: .acquiring) }
        var isOver: Bool { isMigrated.load(ordering: .acquiring) }
    }

    private func source(_ schema: SchemaFit? = nil) throws -> PostgresPolicySource {
        let configuration = try TestDatabase.current.configuration(
            sessionSettings: PostgresPolicySource.sessionSettings)
        return PostgresPolicySource(
            pool: PostgresPool(configuration, size: 2, logger: .silent), keys: try .sample("k1"), schema: schema,
            logger: .silent)
    }

    /// Records as a gateway does: a stale decision is made again on the present state of the log.
    private func record(
        with source: PostgresPolicySource, _ course: Course
    ) async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        var position: PolicyPosition?
        var after = 0
        while true {
            do throws(GatewayError) {
                let known: PolicyPosition
                if let position {
                    known = position
                } else {
                    switch try await source.changes(since: nil) {
                    case .restart(let position), .scopes(_, let position): known = position
                    }
                }
                position = known
            } catch {
                // Refused for good once the update is finished.
                if course.isOver { return await connection.close() }
                continue
            }
            guard let known = position else { continue }
            if try await connection.record([.sample(at: known)], by: .several).allSatisfy(\.isRecorded) {
                course.recorded.add(1, ordering: .relaxed)
                after += course.isOver ? 1 : 0
                // Enough to be detected.
                if after > 20 { return await connection.close() }
            } else {
                position = nil
            }
        }
    }

    @Test(.database(.migrated))
    func `nothing is recorded after the end of an update by who was built for the version before`() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        let course = Course()
        let source = try source()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask { try await record(with: source, course) }
            }
            while course.count < 100 { try await Task.sleep(for: .milliseconds(5)) }
            let migrator = try NextRelease.migrator(connection)
            #expect(try await migrator.migrate().applied == [Int(NextRelease.expand.version)])
            let expanded = course.count
            while course.count < expanded + 100 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(try await migrator.finish().migrations == [Int(NextRelease.contract.version)])
            course.isMigrated.store(true, ordering: .releasing)
            try await group.waitForAll()
        }
        let counted = try await connection.number("SELECT issuances FROM counted")
        #expect(counted >= 100)
        #expect(try await connection.number("SELECT count(*) FROM issuances") == counted)
        #expect(course.count == counted)
    }

    @Test(.database(.migrated)) func `no position is read from another schema, and the reader is told`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let schema = SchemaFit(logger: .silent)
        let source = try source(schema)
        let alice = try Principal("user:alice")
        let bucket = try BucketName("photos")
        let place = GrantPlace(principal: alice, bucket: bucket, prefix: ExactText("a/"))
        _ = try await source.changes(since: nil)
        #expect(!schema.isBroken)
        let next = try NextRelease.migrator(connection)
        _ = try await next.migrate()
        _ = try await next.finish()
        let refused = GatewayError.unavailable(retryAfter: 1)
        await #expect(throws: refused) { try await source.changes(since: nil) }
        #expect(schema.isBroken)
        await #expect(throws: refused) { try await source.load([.principal(alice)], literalGrantLimit: 1) }
        await #expect(throws: refused) { try await source.grants(at: [place]) }
        await #expect(throws: refused) {
            try await source.grants(of: [alice], in: bucket, around: ExactText("a/"), limit: 1)
        }
        try await connection.runScript(
            "DELETE FROM schema_migrations WHERE version = \(NextRelease.contract.version)")
        _ = try await Migrator(
            connection: connection, migrations: Migration.all + [NextRelease.expand], program: "1.1.0"
        ).migrate()
        _ = try await source.changes(since: nil)
    }

    @Test(.database(.migrated)) func `no position is read from a database that lacks a function`() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let schema = SchemaFit(logger: .silent)
        let source = try source(schema)
        _ = try await source.changes(since: nil)
        try await connection.runScript(
            "UPDATE schema_functions SET contract = '\\x00' || contract WHERE name = 'uuid_v7'")
        let database = try #require(try await connection.execute(RecordingProbe.read).first?.database)
        #expect(SchemaState.carried.misfit(of: database) == Migrator.Failure.functionsMissing(names: ["uuid_v7"]))
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) { try await source.changes(since: nil) }
        #expect(schema.isBroken)
        try await connection.runScript(
            """
            UPDATE schema_functions SET contract = substr(contract, 2), checksum = '' WHERE name = 'uuid_v7'
            """)
        // Another body is no reason to refuse.
        _ = try await source.changes(since: nil)
    }

    @Test(.database(.migrated)) func `the log names once what differs, whoever notices first, and the reason stays`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let absent = try await #require(throws: PostgresError.self) {
            try await connection.number("SELECT record_nothing()")
        }
        /// What the log says of a misfit, and what anybody may read.
        struct Sight {
            let misfit: SchemaFit.Misfit
            let name: String?
            let isShown: Bool
        }
        let policy = Sight(misfit: .other, name: nil, isShown: false)
        let lane = Sight(misfit: .init(missing: absent), name: "record_nothing", isShown: false)
        let kinds = [
            Migrator.Failure.functionsMissing(names: ["uuid_v7"]), .schemaIsOlder(version: 3, needed: 77),
            .programIsOlder(version: 3, servesFrom: 77),
        ]
        for failure in kinds {
            let name = failure == kinds[0] ? "uuid_v7" : "77"
            let probe = Sight(misfit: .init(failure), name: name, isShown: true)
            for order in [
                [policy], [lane], [probe], [policy, probe], [probe, policy], [policy, lane], [lane, policy],
                [policy, lane, probe], [policy, probe, lane], [lane, policy, probe], [lane, probe, policy],
                [probe, policy, lane], [probe, lane, policy],
            ] {
                for hasOutage in [false, true] {
                    let lines = LogLines()
                    let schema = SchemaFit(
                        outage: hasOutage ? Outage(logger: lines.logger) : nil, logger: lines.logger)
                    // Each sees it again and again.
                    for sight in order + order + order { schema.breaks(sight.misfit) }
                    let names = order.compactMap(\.name)
                    for name in names {
                        #expect(lines.all.count { $0.contains(name) } == 1, "\(order): \(lines.all)")
                    }
                    #expect(lines.all.count == max(1, names.count + (order[0].name == nil ? 1 : 0)), "\(lines.all)")
                    #expect(lines.all[0].hasPrefix(hasOutage ? "error outage begins" : "error the schema does not fit"))
                    let flaw = try #require(schema.flaw)
                    if let last = order.last(where: { $0.name != nil }) {
                        #expect(last.isShown == last.name.map { flaw.contains($0) }, "\(flaw)")
                    }
                    #expect(!flaw.contains("record_nothing"), "PostgreSQL's message is for the log alone")
                    schema.mends()
                    #expect(schema.flaw == nil && lines.all.last?.contains("fits again") == !hasOutage)
                    schema.breaks(order[0].misfit)
                    #expect(lines.all.count { $0.contains(order[0].name ?? "run 'sluice migrate'") } >= 2)
                }
            }
        }
    }

    @Test(.database(.migrated)) func `the end of an update waits for recordings, and lets them pass while it waits`()
        async throws
    {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let recording = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let other = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await recording.runScript("BEGIN")
        _ = try await recording.number("SELECT count(pg_advisory_xact_lock_shared(advisory_lock('policy')))")
        let migrator = try NextRelease.migrator(connection)
        _ = try await migrator.migrate()
        async let finished = migrator.finish()
        try await other.waitForBlocked(on: "advisory")
        let start = ContinuousClock.now
        _ = try await other.number("SELECT count(pg_advisory_xact_lock_shared(advisory_lock('policy')))")
        #expect(ContinuousClock.now - start < .seconds(5))
        try await recording.runScript("COMMIT")
        #expect(try await finished.migrations == [Int(NextRelease.contract.version)])
    }
}

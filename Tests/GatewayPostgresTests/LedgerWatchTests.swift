import Foundation
import GatewayCore
import LibPQ
import Logging
import PostgresTesting
import TestSupport
import Testing

@testable import GatewayPostgres

/// Readiness of a ledger of which not every connection records.
@Suite(.timeLimit(.minutes(2))) struct LedgerWatchTests {
    /// A ledger of two connections by a login that may have one, as where PostgreSQL has none to spare.
    private struct Single {
        let owner: PostgresConnection
        let lines = LogLines()
        let outage: Outage
        let ledger: PostgresLedger
        let watch: LedgerWatch

        init() async throws {
            let database = try TestDatabase.current
            owner = try PostgresConnection(testing: database.connectionString)
            let login = "\(database.name)_single"
            try await owner.runScript("CREATE ROLE \(login) LOGIN CONNECTION LIMIT 1 IN ROLE sluice_gateway")
            outage = Outage(logger: lines.logger)
            var configuration = try PostgresConfiguration(
                connectionString: database.connectionString.replacing("user=postgres", with: "user=\(login)"),
                applicationName: "ledger")
            configuration.outage = outage
            let schema = SchemaFit(outage: outage, logger: lines.logger)
            ledger = try PostgresLedger(
                configuration: configuration, clock: .right, limits: .init(connections: 2), schema: schema,
                logger: lines.logger)
            watch = LedgerWatch(
                ledger: ledger, schema: schema, outage: outage, maxClockDifference: 5, logger: lines.logger
            ) { Date() }
        }
    }

    /// Which of the two gets the login's connection is chance.
    @Test(.database(.migrated)) func `a connection that cannot be opened is no outage while another one records`()
        async throws
    {
        let single = try await Single()
        let (owner, ledger, watch) = (single.owner, single.ledger, single.watch)
        let (lines, outage) = (single.lines, single.outage)
        let running = [Task { await ledger.run() }, Task { await watch.run() }]
        defer { for task in running { task.cancel() } }

        // If both asked for the connection before either had recorded, an outage has begun. It ends.
        try await eventually {
            !outage.isUnderWay && lines.all.contains { $0.contains("the others record") }
        }
        let before = lines.all
        let failing = try #require(ledger.lanes.first { $0.health.current.flaw != nil })
        for _ in 0..<3 {
            let looked = failing.health.current.looked
            try await eventually { failing.health.current.looked != looked }
        }
        try await eventually { watch.flaws().recordings == nil }
        #expect(failing.health.current.flaw != nil && !outage.isUnderWay)
        #expect(lines.all == before)

        // However many they are, none goes where nothing can be recorded.
        let position = try await owner.position()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask {
                    let proposal = try IssuanceProposal.sample(at: position, principal: "user:\(number)")
                    #expect(try await ledger.record(proposal, deadline: .soon) == .recorded(remaining: []))
                }
            }
            try await group.waitForAll()
        }
        #expect(try await owner.number("SELECT count(*) FROM issuances") == 300)
    }

    /// The first proposal goes to the first connection, against which nothing is known.
    @Test(.database(.migrated)) func `a recording that fails is no outage while another connection records`()
        async throws
    {
        let single = try await Single()
        let (ledger, outage, lines, watch) = (single.ledger, single.outage, single.lines, single.watch)
        let position = try await single.owner.position()
        let recording = Task { await ledger.run() }
        defer { recording.cancel() }
        ledger.lanes[1].askForProbe()
        try await eventually { ledger.lanes[1].health.current.succeeded != nil }
        await #expect(throws: GatewayError.self) {
            try await ledger.record(.sample(at: position), deadline: .soon)
        }
        #expect(ledger.lanes[0].health.current.troubledSince != nil && !outage.isUnderWay)
        #expect(try await ledger.record(.sample(at: position), deadline: .soon) == .recorded(remaining: []))
        let watching = Task { await watch.run() }
        defer { watching.cancel() }
        try await eventually { lines.all.contains { $0.contains("connections failed while others worked") } }
        #expect(!lines.all.contains { $0.contains("outage begins") })
    }

    @Test(.database(.migrated)) func `a statement for which something lacks is no outage while recordings go on`()
        async throws
    {
        let lines = LogLines()
        let outage = Outage(logger: lines.logger)
        var configuration = try TestDatabase.current.configuration()
        configuration.outage = outage
        let ledger = try PostgresLedger(
            configuration: configuration, clock: .right, limits: .init(connections: 1), logger: lines.logger)
        let reader = PostgresConnection(configuration, logger: lines.logger)
        let running = Task { await ledger.run() }
        defer { running.cancel() }
        let lane = ledger.lanes[0]
        /// Has the server refuse a statement.
        func fail(with state: String, after condition: () -> Bool) async throws {
            do throws(PostgresError) {
                try await reader.runScript("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '\(state)'; END $$")
            } catch {
                try await eventually { condition() }
                lines.logger.report(error, "rows cannot be read", in: outage)
            }
        }
        let states = ["53200", "53100", "53000", "58030"]
        for state in states {
            try await fail(with: state) {
                lane.askForProbe()
                return lane.health.records
            }
        }
        #expect(lines.all.count { $0.hasPrefix("warning rows cannot be read") } == states.count, "\(lines.all)")
        #expect(!outage.isUnderWay)
        // What has failed a second ago may fail everything.
        running.cancel()
        try await fail(with: "53100") { !lane.health.records }
        #expect(outage.isUnderWay)
    }

    @Test(.database(.migrated)) func `a ledger without a partition for today is named`() async throws {
        try await withLedger(TestDatabase.current.connectionString, limits: .init(connections: 1)) { ledger, owner in
            let position = try await owner.position()
            try await owner.runScript(
                """
                DO $$ BEGIN
                    EXECUTE 'ALTER TABLE issuances DETACH PARTITION issuances_'
                        || to_char((clock_timestamp() AT TIME ZONE 'UTC')::date, 'YYYYMMDD');
                END $$
                """)
            await #expect(throws: GatewayError.self) {
                try await ledger.record(.sample(at: position), deadline: .soon)
            }
            let health = ledger.lanes[0].health
            ledger.lanes[0].askForProbe(writes: true)
            try await eventually { health.current.flaw != nil }
            #expect(health.current.flaw == "The ledger has no partition for today: run 'sluice doctor'.")
        }
    }
}

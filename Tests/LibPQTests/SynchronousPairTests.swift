import LibPQ
import PostgresTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct SynchronousPairTests {
    private static let values = query("SELECT value FROM t ORDER BY value", as: Int64.self)
    private static let insert = Statement<Int64, Void>("INSERT INTO t VALUES ($1)") { [$0] }
    private static let waiting = query(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", as: Int64.self)

    @Test func `commits wait for the standby, which takes over with what it received`() async throws {
        let pair = try await SynchronousPair()
        let writer = try connection(to: pair.primary)
        let reader = try connection(to: pair.primary)
        try await writer.runScript("CREATE TABLE t (value bigint)")

        try await expectWaiting(1, from: writer, while: pair.standby.suspend, pair.standby.resume, reader)
        try await expectWaiting(2, from: writer, while: pair.standby.stop, pair.standby.start, reader)
        try await expectWaiting(3, from: writer, while: pair.standby.kill, pair.standby.start, reader)
        try await pair.waitUntilSynchronous()
        // A commit waits until the standby has its rows on disk, not until it shows them.
        let standby = try connection(to: pair.standby)
        try await eventually { try await standby.execute(Self.values) == [1, 2, 3] }

        try await pair.standby.suspend()
        async let lost = postgresError { try await writer.perform(Self.insert, 4) }
        try await eventually { try await reader.execute(Self.waiting) == [1] }
        try await pair.failOver()
        guard case .connectionLost = await lost else { return #expect(Bool(false), "the primary is gone") }
        let survivor = try connection(to: pair.standby)
        try await survivor.perform(Self.insert, 5)
        #expect(try await survivor.execute(Self.values) == [1, 2, 3, 5])
        try await pair.standby.kill()
    }

    private func connection(to cluster: TestCluster) throws -> PostgresConnection {
        PostgresConnection(
            try PostgresConfiguration(
                connectionString: cluster.connectionString(database: "postgres"), applicationName: "tests"),
            logger: quiet)
    }

    private func expectWaiting(
        _ value: Int64, from writer: PostgresConnection, while away: () async throws -> Void,
        _ back: () async throws -> Void, _ reader: PostgresConnection
    ) async throws {
        try await away()
        async let written = writer.perform(Self.insert, value)
        try await eventually { try await reader.execute(Self.waiting) == [1] }
        try await back()
        #expect(try await written == 1)
    }
}

import PostgresTesting
import Testing

@testable import LibPQ

private actor Gauge {
    private var now = 0
    private(set) var most = 0

    func rise() {
        now += 1
        most = max(most, now)
    }

    func fall() {
        now -= 1
    }
}

extension PostgresPool {
    /// Lends a connection while `body` runs.
    fileprivate func withConnection(_ body: (PostgresConnection) async throws -> Void) async throws {
        let connection = try await lease(deadline: nil)
        defer { giveBack(connection) }
        try await body(connection)
    }
}

@Suite(.database, .timeLimit(.minutes(1)))
struct PoolTests {
    private static let one = query("SELECT 1::bigint", as: Int64.self)

    private func pool(size: Int, maxWaiting: Int = 1_000) throws -> PostgresPool {
        PostgresPool(try TestDatabase.current.configuration(), size: size, maxWaiting: maxWaiting, logger: quiet)
    }

    @Test func noMoreThanItsSizeIsLentAtOnce() async throws {
        let pool = try pool(size: 4)
        let lent = Gauge()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    try await pool.withConnection { connection in
                        await lent.rise()
                        let rows = try await connection.execute(Self.one)
                        #expect(rows == [1])
                        await lent.fall()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(await lent.most == 4)
        let sessions = query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                + "backend_type = 'client backend' AND application_name = 'tests'", as: Int64.self)
        #expect(try await pool.execute(sessions)[0] >= 1)
        await pool.close()
    }

    @Test func whoCannotBeServedIsRefusedInsteadOfWaitingForever() async throws {
        let pool = try pool(size: 1, maxWaiting: 1)
        try await pool.withConnection { _ in
            let late = await postgresError {
                _ = try await pool.execute(Self.one, deadline: .now + .milliseconds(20))
            }
            #expect(late == .deadlineExceeded)
            await withTaskGroup(of: PostgresError?.self) { group in
                // One of the two waits, the other finds the queue full. Then the one that waits is cancelled.
                for _ in 0..<2 {
                    group.addTask { await postgresError { _ = try await pool.execute(Self.one) } }
                }
                #expect(await group.next() == .poolExhausted)
                group.cancelAll()
                #expect(await group.next() == .cancelled)
            }
        }
        // No connection was lost by this.
        #expect(try await pool.execute(Self.one) == [1])
    }

    @Test(.database) func brokenConnectionsAreReplaced() async throws {
        let pool = try pool(size: 3)
        let outsider = try connect()
        for _ in 0..<3 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 { group.addTask { _ = try await pool.execute(Self.one) } }
                try await group.waitForAll()
            }
            try await outsider.endSessions(where: "datname = current_database() AND query = 'SELECT 1::bigint'")
        }
        #expect(try await pool.execute(Self.one) == [1])
    }
}

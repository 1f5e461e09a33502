import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres

/// Notifications of changes over a connection that breaks.
@Suite struct PolicyListenerTests {
    @Test(.database(.migrated)) func callsOnceListeningAndAfterEachChangeAndReconnect() async throws {
        let database = try TestDatabase.current
        let connection = try PostgresConnection(testing: database.connectionString)
        let (calls, call) = AsyncStream<Void>.makeStream()
        let listener = PolicyListener(configuration: try database.configuration(), logger: .silent) { call.yield() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.run() }
            var iterator = calls.makeAsyncIterator()
            await iterator.next()
            try await connection.append(scopes: ["user:alice"])
            await iterator.next()
            let ended = try await connection.number(
                """
                SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE query LIKE 'LISTEN%' AND datname = current_database()
                """)
            #expect(ended == 1)
            await iterator.next()
            try await connection.append(scopes: ["user:alice"])
            await iterator.next()
            group.cancelAll()
        }
    }

    /// Nobody listens at this address, so that no notification arrives.
    @Test(.timeLimit(.minutes(1))) func readsWithoutNotifications() async throws {
        let configuration = try PostgresConfiguration(
            connectionString: "host=/nonexistent user=nobody dbname=none", applicationName: "tests")
        let (calls, call) = AsyncStream<Void>.makeStream()
        let listener = PolicyListener(
            configuration: configuration, interval: .milliseconds(10), logger: .silent
        ) { call.yield() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await listener.run() }
            var iterator = calls.makeAsyncIterator()
            await iterator.next()
            await iterator.next()
            group.cancelAll()
        }
    }

    /// Without the second reading, a gateway would not learn of the change until a request needs the log.
    @Test(.database(.migrated), .timeLimit(.minutes(1))) func readsAgainAfterAFailure() async throws {
        let database = try TestDatabase.current
        let (calls, call) = AsyncStream<Int>.makeStream()
        let count = Atomic(0)
        let listener = PolicyListener(configuration: try database.configuration(), logger: .silent) {
            let number = count.add(1, ordering: .relaxed).newValue
            call.yield(number)
            if number == 1 { throw GatewayError.unavailable(retryAfter: 1) }
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await listener.run() }
            var iterator = calls.makeAsyncIterator()
            #expect(await iterator.next() == 1)
            #expect(await iterator.next() == 2)
            group.cancelAll()
        }
    }
}

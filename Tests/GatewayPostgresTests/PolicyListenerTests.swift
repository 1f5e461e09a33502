import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import TestSupport
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
    private static func nowhere() throws -> PostgresConfiguration {
        try PostgresConfiguration(
            connectionString: "host=/nonexistent user=nobody dbname=none", applicationName: "tests")
    }

    @Test(.timeLimit(.minutes(1))) func readsWithoutNotifications() async throws {
        let (calls, call) = AsyncStream<Void>.makeStream()
        let listener = PolicyListener(
            configuration: try Self.nowhere(), interval: .milliseconds(10), logger: .silent
        ) { call.yield() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await listener.run() }
            var iterator = calls.makeAsyncIterator()
            await iterator.next()
            await iterator.next()
            group.cancelAll()
        }
    }

    @Test(.timeLimit(.minutes(1))) func tellsWhyPolicyCannotBeRead() async throws {
        let failure = Mutex<GatewayError?>(nil)
        let servesSome = Mutex(false)
        let schema = SchemaFit(logger: .silent)
        let listener = PolicyListener(
            configuration: try Self.nowhere(), interval: .milliseconds(10), patience: .zero, schema: schema,
            logger: .silent, servesSome: { servesSome.withLock { $0 } }
        ) { if let failure = failure.withLock({ $0 }) { throw failure } }
        #expect(listener.flaw == "Policy has not been read yet.")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.run() }
            try await eventually { listener.flaw == nil }
            failure.withLock { $0 = .slowDown(retryAfter: 1) }
            try await eventually { listener.flaw?.contains("look for locks") == true }
            failure.withLock { $0 = .unavailable(retryAfter: 60) }
            try await eventually { listener.flaw?.contains("the log of the gateway") == true }
            schema.breaks(.other)
            #expect(listener.flaw == nil, "the schema has a flaw of its own")
            schema.mends()
            #expect(listener.flaw != nil)
            servesSome.withLock { $0 = true }
            #expect(listener.flaw == nil, "those whose rows are in memory are served")
            servesSome.withLock { $0 = false }
            #expect(listener.flaw != nil)
            failure.withLock { $0 = nil }
            try await eventually { listener.flaw == nil }
            group.cancelAll()
        }
    }

    /// A migration locks tables for half a second. Before the first success there is nothing to be patient for.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func oneFailureIsNotToldAtOnce(hasSucceeded: Bool) async throws {
        let count = Atomic(0)
        let listener = PolicyListener(
            configuration: try Self.nowhere(), interval: .milliseconds(10), patience: .seconds(3600), logger: .silent
        ) {
            let number = count.add(1, ordering: .relaxed).newValue
            if number > 1 || !hasSucceeded { throw GatewayError.unavailable(retryAfter: 1) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.run() }
            // The third reading begins once the second one has failed.
            try await eventually { count.load(ordering: .relaxed) >= 3 }
            #expect((listener.flaw == nil) == hasSucceeded)
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

import LibPQ
import PostgresTesting
import Testing

@Suite(.database, .timeLimit(.minutes(1)))
struct ListenerTests {
    @Test func notificationsArriveInOrder() async throws {
        let listener = PostgresListener(
            try TestDatabase.current.configuration(), channels: ["one", "two"], logger: quiet)
        let connection = try connect()
        var events = listener.makeAsyncIterator()
        #expect(await events.next() == .connected)
        let notify = Statement<(channel: String, payload: String), Void>("SELECT pg_notify($1, $2)") {
            [$0.channel, $0.payload]
        }
        for number in 0..<50 {
            try await connection.perform(notify, (number.isMultiple(of: 2) ? "one" : "two", "\(number)"))
            try await connection.perform(notify, ("three", "not listened to"))
        }
        for number in 0..<50 {
            let expected = PostgresNotification(channel: number.isMultiple(of: 2) ? "one" : "two", payload: "\(number)")
            #expect(await events.next() == .notification(expected))
        }
    }

    @Test func aListenerSaysWhenItHasMissedSomething() async throws {
        let listener = PostgresListener(
            try TestDatabase.current.configuration(), channels: ["missed"], logger: quiet)
        let connection = try connect()
        var events = listener.makeAsyncIterator()
        #expect(await events.next() == .connected)
        try await connection.endSessions(where: "query LIKE 'LISTEN \"missed\"%'")
        #expect(await events.next() == .reconnected)
        try await connection.runScript("NOTIFY missed")
        #expect(await events.next() == .notification(PostgresNotification(channel: "missed", payload: "")))
    }

    @Test func cancellationEndsTheSequence() async throws {
        let listener = PostgresListener(
            try TestDatabase.current.configuration(), channels: ["quiet"], logger: quiet)
        await withTaskGroup(of: Int.self) { group in
            let (ready, report) = AsyncStream<Void>.makeStream()
            group.addTask {
                var count = 0
                for await _ in listener {
                    count += 1
                    report.yield()
                }
                return count
            }
            for await _ in ready { break }
            group.cancelAll()
            #expect(await group.next() == 1)
        }
    }
}

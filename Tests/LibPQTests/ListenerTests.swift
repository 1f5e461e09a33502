import Figures
import PostgresTesting
import TestSupport
import Testing

@testable import LibPQ

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

    @Test func theLossOfAListenerAloneIsNoOutage() async throws {
        let lines = LogLines()
        let outage = Outage(quiet: .zero, logger: lines.logger)
        var configuration = try TestDatabase.current.configuration()
        configuration.outage = outage
        let listener = PostgresListener(configuration, channels: ["alone"], logger: lines.logger)
        let connection = try connect()
        var events = listener.makeAsyncIterator()
        #expect(await events.next() == .connected)
        try await connection.endSessions(where: "query LIKE 'LISTEN \"alone\"%'")
        #expect(await events.next() == .reconnected)
        #expect(!outage.isUnderWay && outage.begun.value == 0)
        outage.wasWell(at: .now)
        let line = lines.all.last ?? ""
        #expect(line.hasPrefix("warning connections failed while others worked"), "\(line)")
        #expect(line.contains("reasons=connection for notifications lost: closed by the server"), "\(line)")
    }

    @Test func aListenerSaysThatAnotherServerIsThePrimary() async throws {
        let lines = LogLines()
        let primary = Primary(logger: quiet)
        var configuration = try TestDatabase.current.configuration()
        configuration.primary = primary
        try await PrimaryWatch(configuration, primary: primary).look()
        let listener = PostgresListener(configuration, channels: ["replaced"], logger: lines.logger)
        var events = listener.makeAsyncIterator()
        #expect(await events.next() == .connected)
        var successor = try #require(primary.identity)
        successor.timeline += 1
        primary.note(.primary(successor), at: 0)
        let reading = Task {
            var events = listener.makeAsyncIterator()
            return await events.next()
        }
        let line = "warning connection for notifications lost reason=another server has become the primary"
        try await eventually { lines.all.contains(line) }
        reading.cancel()
        #expect(await reading.value == nil)
    }

    @Test(.database) func aServerThatEndsIdleSessionsEndsNone() async throws {
        let name = try TestDatabase.current.name
        try await connect().runScript("ALTER DATABASE \"\(name)\" SET idle_session_timeout = '1min'")
        let setting = query("SELECT current_setting('idle_session_timeout')", as: String.self)
        #expect(try await connect().execute(setting) == ["0"])
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

import EventLoops
import PostgresTesting
import TestSupport
import Testing

@testable import LibPQ

/// The meaning of a success that comes too late, with a warning, or incompletely. A scripted server sends exactly that.
@Suite(.timeLimit(.minutes(1)))
struct OutcomeTests {
    private typealias Step = ScriptedServer.Step

    /// The ways in which a statement is executed.
    enum Driver: CaseIterable, Sendable {
        case blocking, loop
    }

    /// The result of a statement.
    enum Outcome: Equatable, Sendable {
        case rows([Int64]), unknown, lost, undone, refused

        init(of body: () async throws(PostgresError) -> [Int64]) async {
            do throws(PostgresError) {
                self = .rows(try await body())
            } catch {
                self =
                    switch error {
                    case .outcomeUnknown: .unknown
                    case .connectionLost: .lost
                    case .deadlineExceeded: .undone
                    default: .refused
                    }
            }
        }
    }

    /// An answer, and the expected results.
    struct Answer: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let steps: [ScriptedServer.Step]
        let writing: Outcome
        let reading: Outcome
        /// Whether the session continues.
        let isKept: Bool

        init(
            _ description: String, _ steps: [ScriptedServer.Step], writing: Outcome, reading: Outcome, isKept: Bool
        ) {
            testDescription = description
            self.steps = steps
            self.writing = writing
            self.reading = reading
            self.isKept = isKept
        }
    }

    private static let warning = Step.notice(severity: "WARNING", local: "WARNUNG", source: "SyncRepWaitForLSN")
    private static let end: [Step] = [.complete("SELECT 1"), .ready("I")]
    private static let one = Outcome.rows([1])

    static let answers = [
        Answer("success", [.row(1)] + end, writing: one, reading: one, isKept: true),
        Answer(
            "success, and a warning while it is committed", [.row(1), .complete("SELECT 1"), warning, .ready("I")],
            writing: .unknown, reading: one, isKept: true),
        Answer("a warning, and success", [.row(1), warning] + end, writing: .unknown, reading: one, isKept: true),
        Answer(
            "a notice whose severity reads like a warning's",
            [.row(1), .notice(severity: "NOTICE", local: "WARNING", source: "f")] + end, writing: one, reading: one,
            isKept: true),
        Answer(
            "a warning that transaction numbers run out",
            [.row(1), .notice(severity: "WARNING", local: "WARNING", source: "GetNewTransactionId")] + end,
            writing: one, reading: one, isKept: true),
        Answer(
            "success after the request to cancel", [.awaitCancel, .row(1)] + end, writing: .unknown, reading: one,
            isKept: false),
        Answer(
            "the end of success after the request to cancel",
            [.row(1), .complete("SELECT 1"), .awaitCancel, warning, .ready("I")], writing: .unknown, reading: one,
            isKept: false),
        Answer(
            "the end after the request to cancel", [.awaitCancel, .error(sqlState: "57014"), .ready("I")],
            writing: .undone, reading: .undone, isKept: false),
        Answer(
            "another error after the request to cancel", [.awaitCancel, .error(sqlState: "23505"), .ready("I")],
            writing: .refused, reading: .refused, isKept: false),
        Answer("half a result", [.row(1), .hangUp], writing: .lost, reading: .lost, isKept: false),
        Answer(
            "a result without its end", [.row(1), .complete("SELECT 1"), warning, .hangUp], writing: .lost,
            reading: .lost, isKept: false),
    ]

    @Test(arguments: answers, Driver.allCases)
    func `success is believed where nothing speaks against it`(answer: Answer, driver: Driver) async throws {
        for onlyReads in [false, true] {
            let text = onlyReads ? "read" : "write"
            let statement = Statement<Void, Int64>(text, onlyReads: onlyReads) { row throws(PostgresError) in
                try row.decode(0)
            }
            let (server, outcome) = try await Self.judge([text: answer.steps]) { server, time in
                try await Self.outcome(of: statement, within: time, driver, at: server)
            }
            #expect(outcome == (onlyReads ? answer.reading : answer.writing), "\(text)")
            #expect(server.sessions == (answer.isKept ? 1 : 2), "\(text)")
            #expect(server.statements == [text, "next"])
        }
    }

    /// Calls a server whose script may wait for a request to cancel. Repeats the call with more and more time, until
    /// the script has reached that point within it.
    private static func judge(
        _ script: [String: [Step]], _ call: (ScriptedServer, Duration) async throws -> Outcome
    ) async throws -> (ScriptedServer, Outcome) {
        let waits = script.values.joined().contains { if case .awaitCancel = $0 { true } else { false } }
        var time = waits ? Duration.milliseconds(50) : .seconds(20)
        while true {
            let server = try ScriptedServer(script)
            defer { server.stop() }
            let outcome = try await call(server, time)
            if !waits || server.wasAskedToCancel { return (server, outcome) }
            time *= 4
        }
    }

    /// The result of a statement. Another statement follows over the same connection.
    private static func outcome(
        of statement: Statement<Void, Int64>, within time: Duration, _ driver: Driver, at server: ScriptedServer
    ) async throws -> Outcome {
        let configuration = try PostgresConfiguration(
            connectionString: server.connectionString, applicationName: "tests")
        switch driver {
        case .blocking:
            let connection = PostgresConnection(configuration, logger: quiet)
            let outcome = await Outcome(of: { () throws(PostgresError) in
                try await connection.execute(statement, deadline: .now + time)
            })
            _ = try await connection.execute(next)
            return outcome
        case .loop:
            return try await withLoop(configuration) { loop, configuration in
                let connection = LoopConnection(configuration, loop: loop, logger: quiet)
                let outcome = await Outcome(of: { () throws(PostgresError) in
                    try await connection.execute(statement, (), deadline: .now + time)
                })
                _ = try await connection.execute(next, (), deadline: .now + .seconds(20))
                return outcome
            }
        }
    }

    private static let next = Statement<Void, Int64>("next") { row throws(PostgresError) in try row.decode(0) }
}

// MARK: - Callers that give up

extension OutcomeTests {
    static let lateAnswers: [[ScriptedServer.Step]] = [
        [.awaitCancel, .row(1)] + end, [.row(1), .complete("SELECT 1"), .awaitCancel, warning, .ready("I")],
    ]

    /// The server was asked to cancel the statement, so neither answer says something about the server.
    @Test(arguments: lateAnswers)
    func `success after the caller's task was cancelled is no outage`(steps: [ScriptedServer.Step]) async throws {
        let server = try ScriptedServer(["write": steps])
        defer { server.stop() }
        var configuration = try PostgresConfiguration(
            connectionString: server.connectionString, applicationName: "tests")
        configuration.cancelTimeout = .seconds(20)
        let connection = PostgresConnection(configuration, logger: quiet)
        let write = Statement<Void, Int64>("write") { row throws(PostgresError) in try row.decode(0) }
        let caller = Task { try await connection.execute(write) }
        try await eventually { server.statements.contains("write") }
        caller.cancel()
        let error = await postgresError { _ = try await caller.value }
        guard case .outcomeUnknown(_, .cancellation?) = error else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(error?.isOutage == false)
        _ = try await connection.execute(Self.next)
        #expect(server.sessions == 2, "the request to cancel may hit another statement")
    }
}

// MARK: - Transactions

extension OutcomeTests {
    /// The server's answers to the statements of a transaction, and the expected result.
    struct Course: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let script: [String: [ScriptedServer.Step]]
        let outcome: Outcome
        /// The statements sent after `BEGIN` and `write`.
        let ending: [String]
        var isKept = true
    }

    private static let inside: [Step] = [.complete("SELECT 1"), .ready("T")]

    static let courses = [
        Course(testDescription: "success", script: [:], outcome: .rows([]), ending: ["COMMIT"]),
        Course(
            testDescription: "success, and a warning before", script: ["write": [warning] + inside], outcome: .rows([]),
            ending: ["COMMIT"]),
        Course(
            testDescription: "a commit with a warning",
            script: ["COMMIT": [warning, .complete("COMMIT"), .ready("I")]],
            outcome: .unknown, ending: ["COMMIT"]),
        Course(
            testDescription: "a commit after the request to cancel",
            script: ["COMMIT": [.awaitCancel, .complete("COMMIT"), .ready("I")]], outcome: .unknown,
            ending: ["COMMIT"], isKept: false),
        Course(
            testDescription: "a commit that is cancelled",
            script: ["COMMIT": [.awaitCancel, .error(sqlState: "57014"), .ready("I")]], outcome: .undone,
            ending: ["COMMIT"], isKept: false),
        Course(
            testDescription: "a commit that is not answered", script: ["COMMIT": [.hangUp]], outcome: .lost,
            ending: ["COMMIT"], isKept: false),
        Course(
            testDescription: "half an answer to a commit", script: ["COMMIT": [.complete("COMMIT"), .hangUp]],
            outcome: .lost, ending: ["COMMIT"], isKept: false),
        Course(
            testDescription: "a statement that succeeds after the request to cancel",
            script: ["write": [.awaitCancel] + inside], outcome: .undone, ending: [], isKept: false),
        Course(
            testDescription: "a statement that is cancelled",
            script: ["write": [.awaitCancel, .error(sqlState: "57014"), .ready("E")]], outcome: .undone, ending: [],
            isKept: false),
    ]

    @Test(arguments: courses)
    func `a transaction is committed where nothing speaks against it`(course: Course) async throws {
        let inside: [String: [Step]] = ["write": Self.inside]
        let (server, outcome) = try await Self.judge(inside.merging(course.script) { $1 }) { server, time in
            try await Self.write(at: server, within: time)
        }
        #expect(outcome == course.outcome)
        #expect(server.statements.dropFirst().first == "write")
        #expect(Array(server.statements.dropFirst(2).dropLast()) == course.ending)
        #expect(server.sessions == (course.isKept ? 1 : 2))
    }

    @Test func `a transaction whose statement was cancelled is not committed, whatever its body says`() async throws {
        let (server, outcome) = try await Self.judge(["write": [.awaitCancel] + Self.inside]) { server, time in
            try await Self.write(at: server, within: time, isBlind: true)
        }
        #expect(outcome == .undone)
        #expect(!server.statements.contains("COMMIT"))
    }

    /// The result of a transaction that writes; a blind one ignores a failure of the write. Another statement follows.
    private static func write(
        at server: ScriptedServer, within time: Duration, isBlind: Bool = false
    ) async throws -> Outcome {
        let connection = PostgresConnection(
            try PostgresConfiguration(connectionString: server.connectionString, applicationName: "tests"),
            logger: quiet)
        let outcome = await Outcome(of: { () throws(PostgresError) in
            do {
                try await connection.withTransaction(deadline: .now + time) { transaction in
                    do {
                        _ = try transaction.execute(Statement<Void, Void>("write"))
                    } catch {
                        guard isBlind else { throw error }
                    }
                }
                return []
            } catch {
                throw error as? PostgresError ?? .unavailable(reason: "\(error)")
            }
        })
        _ = try await connection.execute(next)
        return outcome
    }
}

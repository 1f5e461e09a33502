import EventLoops
import LibPQ
import Testing

/// What success means that comes too late, with a warning, or by halves: told by a server that says just that.
@Suite(.timeLimit(.minutes(1)))
struct OutcomeTests {
    private typealias Step = ScriptedServer.Step

    /// How a statement is executed.
    enum Driver: CaseIterable, Sendable {
        case blocking, loop
    }

    /// What comes of a statement.
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

    /// An answer, and what is to be made of it.
    struct Answer: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let steps: [ScriptedServer.Step]
        let writing: Outcome
        let reading: Outcome
        /// Whether the session goes on.
        let isKept: Bool
        /// How long it may take.
        let time: Duration

        init(
            _ description: String, _ steps: [ScriptedServer.Step], writing: Outcome, reading: Outcome, isKept: Bool
        ) {
            testDescription = description
            self.steps = steps
            self.writing = writing
            self.reading = reading
            self.isKept = isKept
            let waits = steps.contains { if case .awaitCancel = $0 { true } else { false } }
            time = waits ? .milliseconds(100) : .seconds(20)
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
            let server = try ScriptedServer([text: answer.steps])
            defer { server.stop() }
            let statement = Statement<Void, Int64>(text, onlyReads: onlyReads) { row throws(PostgresError) in
                try row.decode(0)
            }
            let outcome = try await Self.outcome(of: statement, within: answer.time, driver, at: server)
            #expect(outcome == (onlyReads ? answer.reading : answer.writing), "\(text)")
            #expect(server.sessions == (answer.isKept ? 1 : 2), "\(text)")
            #expect(server.statements == [text, "next"])
        }
    }

    /// What comes of a statement; another one follows over the same connection.
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

// MARK: - Transactions

extension OutcomeTests {
    /// What a server says to the statements of a transaction, and what is to be made of it.
    struct Course: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let script: [String: [ScriptedServer.Step]]
        let outcome: Outcome
        /// The statements that are sent after `BEGIN` and `write`.
        let ending: [String]
        var isKept = true
        var time = Duration.seconds(20)
    }

    private static let inside: [Step] = [.complete("SELECT 1"), .ready("T")]
    private static let soon = Duration.milliseconds(100)

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
            ending: ["COMMIT"], isKept: false, time: soon),
        Course(
            testDescription: "a commit that is cancelled",
            script: ["COMMIT": [.awaitCancel, .error(sqlState: "57014"), .ready("I")]], outcome: .undone,
            ending: ["COMMIT"], isKept: false, time: soon),
        Course(
            testDescription: "a commit that is not answered", script: ["COMMIT": [.hangUp]], outcome: .lost,
            ending: ["COMMIT"], isKept: false),
        Course(
            testDescription: "half an answer to a commit", script: ["COMMIT": [.complete("COMMIT"), .hangUp]],
            outcome: .lost, ending: ["COMMIT"], isKept: false),
        Course(
            testDescription: "a statement that succeeds after the request to cancel",
            script: ["write": [.awaitCancel] + inside], outcome: .undone, ending: [], isKept: false, time: soon),
        Course(
            testDescription: "a statement that is cancelled",
            script: ["write": [.awaitCancel, .error(sqlState: "57014"), .ready("E")]], outcome: .undone, ending: [],
            isKept: false, time: soon),
    ]

    @Test(arguments: courses)
    func `a transaction is committed where nothing speaks against it`(course: Course) async throws {
        let inside: [String: [Step]] = ["write": Self.inside]
        let server = try ScriptedServer(inside.merging(course.script) { $1 })
        defer { server.stop() }
        let connection = PostgresConnection(
            try PostgresConfiguration(connectionString: server.connectionString, applicationName: "tests"),
            logger: quiet)
        let outcome = await Outcome(of: { () throws(PostgresError) in
            try await Self.write(over: connection, within: course.time)
        })
        _ = try await connection.execute(Self.next)
        #expect(outcome == course.outcome)
        #expect(server.statements.dropFirst().first == "write")
        #expect(Array(server.statements.dropFirst(2).dropLast()) == course.ending)
        #expect(server.sessions == (course.isKept ? 1 : 2))
    }

    @Test func `a transaction whose statement was cancelled is not committed, whatever its body says`() async throws {
        let server = try ScriptedServer(["write": [.awaitCancel] + Self.inside])
        defer { server.stop() }
        let connection = PostgresConnection(
            try PostgresConfiguration(connectionString: server.connectionString, applicationName: "tests"),
            logger: quiet)
        let outcome = await Outcome(of: { () throws(PostgresError) in
            try await Self.write(over: connection, within: Self.soon, isBlind: true)
        })
        #expect(outcome == .refused)
        #expect(!server.statements.contains("COMMIT"))
    }

    /// Writes in a transaction, with no regard to a failure where it is blind.
    private static func write(
        over connection: PostgresConnection, within time: Duration, isBlind: Bool = false
    ) async throws(PostgresError) -> [Int64] {
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
    }
}

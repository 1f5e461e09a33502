import EventLoops
import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import TestSupport
import Testing

@testable import GatewayPostgres

/// The promises of the ledger besides its verdicts: bounds, deadlines, isolation of items, and shutdown.
@Suite(.timeLimit(.minutes(5))) struct LedgerTests {
    private static func proposal() throws -> IssuanceProposal {
        try .sample(at: PolicyPosition(sequence: 1, tag: UUID()))
    }

    /// Appends a proposal and waits for its answer.
    private static func ask(
        _ queue: LedgerQueue, until deadline: ContinuousClock.Instant = .soon
    ) async throws -> GatewayError? {
        try await ask(queue, count: 1, until: deadline)[0]
    }

    /// Appends proposals together and waits for their answers.
    private static func ask(
        _ queue: LedgerQueue, count: Int, until deadline: ContinuousClock.Instant = .soon
    ) async throws -> [GatewayError?] {
        let proposals = Array(repeating: try Self.proposal(), count: count)
        let answers = LedgerAnswers(count: count)
        let entries = proposals.enumerated().map { place, proposal in
            LedgerEntry(proposal, deadline: deadline, for: .callerOfMany(answers, place: place))
        }
        if count == 1 { queue.append(entries[0]) } else { queue.append(entries) }
        return await answers.all().map { result in
            guard case .failure(let error) = result else { return nil }
            return error
        }
    }

    @Test func aFullQueueRefusesAtOnce() async throws {
        let queue = LedgerQueue(capacity: 2)
        try await withThrowingTaskGroup(of: GatewayError?.self) { group in
            for _ in 0..<3 { group.addTask { try await Self.ask(queue) } }
            // Two entries wait; the third one has its answer.
            let first = try await group.next()
            #expect(first == .slowDown(retryAfter: 1))
            for entry in await queue.next(upTo: 10) { entry.answer(.success(.stale)) }
            for try await error in group { #expect(error == nil) }
        }
    }

    @Test func whatIsHandedInTogetherIsTakenAsFarAsThereIsRoom() async throws {
        let queue = LedgerQueue(capacity: 3)
        async let errors = Self.ask(queue, count: 5)
        for entry in await queue.next(upTo: 10) { entry.answer(.success(.stale)) }
        #expect(try await errors == [nil, nil, nil, .slowDown(retryAfter: 1), .slowDown(retryAfter: 1)])
    }

    @Test func handsOutInOrderUpToTheLimit() async throws {
        let queue = LedgerQueue(capacity: 10)
        try await withThrowingTaskGroup(of: GatewayError?.self) { group in
            for _ in 0..<5 { group.addTask { try await Self.ask(queue) } }
            var sizes: [Int] = []
            while sizes.reduce(0, +) < 5 {
                let entries = await queue.next(upTo: 2)
                sizes.append(entries.count)
                for entry in entries { entry.answer(.success(.stale)) }
            }
            #expect(sizes.allSatisfy { 1...2 ~= $0 })
            for try await error in group { #expect(error == nil) }
        }
    }

    @Test func refusesWhatIsLateWhileItWaits() async throws {
        let queue = LedgerQueue(capacity: 10)
        let deadline = ContinuousClock.now + .seconds(3600)
        try await withThrowingTaskGroup(of: GatewayError?.self) { group in
            group.addTask { try await Self.ask(queue, until: deadline) }
            group.addTask {
                // There is nothing to refuse until the entry is in.
                while !Task.isCancelled {
                    queue.refuseLate(now: deadline - .seconds(1))
                    queue.refuseLate(now: deadline)
                    await Task.yield()
                }
                return nil
            }
            let first = try await group.next()
            #expect(first == .slowDown(retryAfter: 1))
            group.cancelAll()
        }
    }

    @Test func aClosedQueueRefusesAndEnds() async throws {
        let queue = LedgerQueue(capacity: 10)
        queue.close()
        #expect(try await Self.ask(queue) == .unavailable(retryAfter: 1))
        #expect(await queue.next(upTo: 10).isEmpty)
    }

    @Test(.database(.migrated)) func refusesADeadlineThatHasPassed() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let proposal = try IssuanceProposal.sample(at: await connection.position())
            await #expect(throws: GatewayError.slowDown(retryAfter: 1)) {
                try await ledger.record(proposal, deadline: .now)
            }
            #expect(try await connection.number("SELECT count(*) FROM issuances") == 0)
        }
    }

    /// The third item violates a check of the table; the others are recorded.
    @Test(.database(.migrated)) func oneBadItemFailsAlone() async throws {
        let connectionString = try TestDatabase.current.connectionString
        try await withLedger(connectionString, limits: .init(connections: 1)) { ledger, connection in
            let position = try await connection.position()
            let recorded = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<9 {
                    group.addTask {
                        let proposal = try IssuanceProposal.sample(at: position, principal: "user:\(index)")
                            .with(method: index == 3 ? "BREW" : nil, requestID: index == 5 ? "a\0b" : nil)
                        do {
                            return try await ledger.record(proposal, deadline: .soon) == .recorded(remaining: [])
                        } catch {
                            #expect(error as? GatewayError == .unavailable(retryAfter: 1))
                            #expect(index == 3 || index == 5)
                            return false
                        }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(recorded == 7)
            #expect(try await connection.number("SELECT count(*) FROM issuances") == 7)
        }
    }

    @Test(.database(.migrated)) func sendsWhatGathersAsOneCall() async throws {
        let connectionString = try TestDatabase.current.connectionString
        try await withLedger(connectionString, limits: .init(connections: 1, maxBatch: 64)) { ledger, connection in
            let position = try await connection.position()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<400 {
                    group.addTask {
                        let proposal = try IssuanceProposal.sample(at: position, principal: "user:\(index)")
                        #expect(try await ledger.record(proposal, deadline: .soon) == .recorded(remaining: []))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await connection.number("SELECT count(*) FROM issuances") == 400)
            #expect(try await connection.number("SELECT count(DISTINCT xmin::text) FROM issuances") < 200)
        }
    }

    /// Nothing is recorded while the policy lock is held, so proposals gather. The first connection has one under way
    /// and takes four more; only then does another one connect.
    @Test(.database(.migrated)) func aSecondConnectionTakesWhatTheFirstHasNoRoomFor() async throws {
        let connectionString = try TestDatabase.current.connectionString
        try await withLedger(connectionString, limits: .init(connections: 3, spillsAt: 4)) { ledger, connection in
            let connected = """
                SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ledger' AND datname = current_database()
                """
            let position = try await connection.position()
            // A connection that has recorded needs little time for the next one. After a second it counts as in doubt.
            _ = try await ledger.record(.sample(at: position), deadline: .soon)
            try await connection.runScript("SELECT pg_advisory_lock(advisory_lock('policy'))")
            try await withThrowingTaskGroup(of: Void.self) { group in
                func add(_ count: Int) {
                    for _ in 0..<count {
                        group.addTask {
                            let proposal = try IssuanceProposal.sample(at: position)
                            #expect(try await ledger.record(proposal, deadline: .soon) == .recorded(remaining: []))
                        }
                    }
                }
                add(1)
                try await connection.waitForBlocked(on: "advisory")
                add(4)
                try await eventually { ledger.waiting == 4 }
                #expect(try await connection.number(connected) == 1)
                add(1)
                try await connection.waitForBlocked(2, on: "advisory")
                #expect(ledger.waiting == 4)
                #expect(try await connection.number(connected) == 2)
                try await connection.runScript("SELECT pg_advisory_unlock(advisory_lock('policy'))")
                try await group.waitForAll()
            }
            #expect(try await connection.number("SELECT count(*) FROM issuances") == 7)
        }
    }

    @Test(.database(.migrated)) func whileNothingIsUnderWayTheConnectionOfTheCallersLoopRecords() async throws {
        let connectionString = try TestDatabase.current.connectionString
        try await withLedger(connectionString, limits: .init(connections: 2)) { ledger, connection in
            let position = try await connection.position()
            func record(on loop: EventLoop) async throws {
                try await withTaskExecutorPreference(loop) {
                    let verdict = try await ledger.record(.sample(at: position), deadline: .soon)
                    #expect(verdict == .recorded(remaining: []))
                }
            }
            let succeeded = { ledger.lanes.map { $0.health.current.succeeded != nil } }
            // Whoever came next would wait for the probe.
            #expect(ledger.lanes[1].health.ask(writes: false))
            try await record(on: ledger.lanes[1].loop)
            #expect(succeeded() == [true, false])
            ledger.lanes[1].health.probeEnded(.looked, since: .now)
            try await record(on: ledger.lanes[1].loop)
            #expect(succeeded() == [true, true])
        }
    }

    @Test(.database(.migrated)) func aConnectionInDoubtIsPassedOver() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let position = try await connection.position()
            func record() async throws {
                let verdict = try await ledger.record(.sample(at: position), deadline: .soon)
                #expect(verdict == .recorded(remaining: []))
            }
            let succeeded = { ledger.lanes.map { $0.health.current.succeeded != nil } }
            ledger.lanes[0].health.recordingFailed(.connectionLost(reason: "a test"))
            try await record()
            #expect(succeeded() == [false, true])
            // Where all are in doubt, one of them is tried all the same.
            ledger.lanes[1].health.recordingFailed(.connectionLost(reason: "a test"))
            #expect(ledger.capacity > 0)
            try await record()
            #expect(succeeded() == [true, true])
        }
    }

    /// Nothing is recorded before the ledger runs, so that proposals wait, more of them than the first connection takes
    /// while another one is well.
    @Test(.database(.migrated), .timeLimit(.minutes(1))) func aConnectionInDoubtIsPassedOverUnderLoadToo() async throws
    {
        let connectionString = try TestDatabase.current.connectionString
        let connection = try PostgresConnection(testing: connectionString)
        let ledger = try PostgresLedger(
            configuration: try PostgresConfiguration(connectionString: connectionString, applicationName: "ledger"),
            clock: .right, limits: .init(connections: 2, spillsAt: 4), logger: .silent)
        let position = try await connection.position()
        let capacity = ledger.capacity
        ledger.lanes[1].health.recordingFailed(.connectionLost(reason: "a test"))
        #expect(ledger.capacity * 2 == capacity)
        try await withThrowingTaskGroup(of: Void.self) { callers in
            for number in 0..<20 {
                callers.addTask {
                    let proposal = try IssuanceProposal.sample(at: position, principal: "user:\(number)")
                    #expect(try await ledger.record(proposal, deadline: .soon) == .recorded(remaining: []))
                }
            }
            try await eventually { ledger.waiting == 20 }
            #expect(ledger.lanes.map(\.queue.count) == [20, 0])
            let running = Task { await ledger.run() }
            defer { running.cancel() }
            try await callers.waitForAll()
        }
        #expect(ledger.lanes.map { $0.health.current.succeeded != nil } == [true, false])
        #expect(try await connection.number("SELECT count(*) FROM issuances") == 20)
    }

    /// The server's process of the first connection is stopped. After a second, proposals no longer wait for it.
    @Test(.database(.migrated)) func aConnectionThatHangsIsPassedOver() async throws {
        try await withLedger(TestDatabase.current.connectionString) { ledger, connection in
            let position = try await connection.position()
            func record(_ principal: String) async throws {
                let proposal = try IssuanceProposal.sample(at: position, principal: principal)
                #expect(try await ledger.record(proposal, deadline: .soon) == .recorded(remaining: []))
            }
            try await record("user:first")
            let process = try await connection.ledgerProcess()
            try #require(kill(process, SIGSTOP) == 0)
            defer { kill(process, SIGCONT) }
            async let stuck: Void = record("user:stuck")
            try await eventually { !ledger.lanes[0].health.isWell }
            try await record("user:next")
            let recorded = "SELECT principal FROM issuances ORDER BY issued_at"
            #expect(try await connection.texts(recorded) == ["user:first", "user:next"])
            kill(process, SIGCONT)
            try await stuck
            #expect(try await connection.number("SELECT count(*) FROM issuances") == 3)
        }
    }

    @Test(.database(.migrated)) func whatIsHandedInTogetherIsAFewCallsWithAnAnswerEach() async throws {
        let connectionString = try TestDatabase.current.connectionString
        try await withLedger(connectionString, limits: .init(connections: 2, maxBatch: 128)) { ledger, connection in
            let position = try await connection.position()
            let quota = Quota.sample(limit: 300)
            try await connection.insert(quota)
            var proposals = try (0..<1000).map { _ in
                try IssuanceProposal.sample(at: position, charges: [quota.charge()])
            }
            proposals[7] = proposals[7].with(method: "BREW")
            let answers = await ledger.record(proposals, deadline: .soon)
            #expect(answers.count == 1000)
            let recorded = zip(proposals, answers).filter { if case .success(.recorded) = $1 { true } else { false } }
            #expect(recorded.count == 300)
            #expect(answers[7] == .failure(.unavailable(retryAfter: 1)))
            let ids = try await connection.execute(
                Statement<Void, UUID>("SELECT id FROM issuances") { row throws(PostgresError) in try row.decode(0) })
            #expect(Set(ids) == Set(recorded.map(\.0.id)))
            // One bad item is found by halving its own call.
            #expect(try await connection.number("SELECT count(DISTINCT xmin::text) FROM issuances") <= 12)
            #expect(await ledger.record([], deadline: .soon).isEmpty)
        }
    }

    @Test(.database(.migrated)) func countsDenialsWithinBounds() async throws {
        let connection = try PostgresConnection(testing: TestDatabase.current.connectionString)
        let clock = Mutex(Date(timeIntervalSince1970: 1_900_000_079))
        let counter = DenialCounter(
            connection: connection, capacity: 3, logger: .silent, now: { clock.withLock { $0 } })
        let bucket = try BucketName("demo")
        for round in 0..<2 {
            for user in 0..<5 {
                counter.count(
                    Denial(
                        principal: try Principal("user:\(user)"), bucket: round == 0 ? nil : bucket,
                        code: "AccessDenied"))
            }
        }
        await counter.flush()
        await counter.flush()
        #expect(try await connection.number("SELECT sum(count) FROM denials") == 10)
        #expect(try await connection.number("SELECT count(*) FROM denials") == 4)
        #expect(try await connection.number("SELECT sum(count) FROM denials WHERE principal = '*'") == 7)
        counter.count(Denial(principal: try Principal("user:0"), bucket: nil, code: "AccessDenied"))
        // The minute of the refusal counts, whenever it is written.
        clock.withLock { $0 += 1 }
        counter.count(Denial(principal: try Principal("user:0"), bucket: nil, code: "AccessDenied"))
        clock.withLock { $0 += 3600 }
        await counter.flush()
        let minutes = try await connection.texts(
            """
            SELECT extract(epoch FROM minute)::bigint || ' ' || sum(count) FROM denials WHERE principal = 'user:0'
            GROUP BY minute ORDER BY minute
            """)
        #expect(minutes == ["1900000020 2", "1900000080 1"])
    }
}

import Glibc
import HTTPTesting
import TestSupport
import Testing

/// Clients that hang up at every delivery: after the head of the request, after the request, while policy is read for
/// it, and while it is recorded. They close their connection, or reset it.
///
/// The gateway sees a reset only for a moment, before it sets the connection aside until there is an answer. It sees a
/// close only once it answers: the client might still read. What must come of all of them:
/// - Nothing of it is an outage of PostgreSQL, nothing counts as an answer of class 5xx, and others are served.
/// - Each row is charged once, nothing is charged or reserved without a row, and parts and uploads belong to rows.
/// - Whoever sends the same idempotency key again gets one issuance.
@Suite(.timeLimit(.minutes(3))) struct HangUpTests {
    @Test func `clients that hang up at any delivery harm nobody, and what is recorded of them is charged once`()
        async throws
    {
        try await DeliveryGround.with { ground in
            try await ground.expectIssued(try await ground.allCalls())
            try await ground.expectServed("at first")
            try await ground.waitUntilIdle()
            let before = try await ground.reading()
            for ending in ConnectionEnding.allCases {
                try await Self.hangUpAfterHeads(ending, at: ground)
                try await Self.expectCalm("after heads, \(ending)", since: before, at: ground)
                try await Self.hangUpAfterRequests(ending, at: ground)
                try await Self.expectCalm("after requests, \(ending)", since: before, at: ground)
                try await Self.hangUpInRecording(ending, at: ground)
                try await Self.expectCalm("in recordings, \(ending)", since: before, at: ground)
                try await Self.hangUpInRecordingWithKeys(ending, at: ground)
                try await Self.expectCalm("in recordings with keys, \(ending)", since: before, at: ground)
            }
            try await Self.hangUpInReading(at: ground)
            try await Self.expectCalm("while policy was read", since: before, at: ground)

            let site = ground.site
            let gateway = site.gateways[0]
            await site.end(gateway) { #expect(await gateway.terminate() == 0) }
            #expect(!site.log.contains("outage begins"))
            #expect(site.log.contains("Request abandoned"))
            let isFailure = "status >= 500 OR code IN ('SlowDown', 'ServiceUnavailable')"
            #expect(try await site.number("SELECT count(*) FROM refusals WHERE \(isFailure)") == 0)
        }
    }

    // MARK: The moments

    /// The gateway has read the head, which it shows by asking for the body, and the body never comes.
    private static func hangUpAfterHeads(_ ending: ConnectionEnding, at ground: DeliveryGround) async throws {
        let calls = try await ground.allCalls(withKeys: true).filter { !$0.request.body.isEmpty }
        #expect(calls.count >= 15)
        let before = try await ground.rows()
        for call in calls {
            var request = call.request
            request.headers.append((name: "Expect", value: "100-continue"))
            let head = Array(request.bytes.dropLast(request.body.count))
            let answer = try await onThread {
                var connection = try RawConnection(port: call.port)
                try connection.send(head)
                let answer = try connection.receive()
                if ending == .reset { connection.reset() }
                return String(decoding: answer, as: UTF8.self)
            }
            #expect(answer.hasPrefix("HTTP/1.1 100 "), "\(call.delivery): \(answer)")
        }
        try await ground.waitUntilIdle()
        #expect(try await ground.rows() == before, "\(ending): nothing was asked for")
        try await repeatCalls(calls)
        // None of them acted before, so that each has acted once.
        let issuedByKey = calls.count { $0.delivery.isIssuedByKey }
        let keepingAnswers = calls.count { $0.delivery.takesKey && !$0.delivery.isIssuedByKey }
        let added = try await ground.rows() - before
        #expect(added == DeliveryGround.Rows(ofKeys: issuedByKey, others: keepingAnswers), "\(ending)")
    }

    /// The gateway may be anywhere in its work, and may have answered.
    private static func hangUpAfterRequests(_ ending: ConnectionEnding, at ground: DeliveryGround) async throws {
        let calls = try await ground.allCalls(withKeys: true)
        let before = try await ground.rows()
        for (place, call) in calls.enumerated() {
            try await call.request.hangUp(ending, atPort: call.port, after: UInt32(place % 4) * 200)
        }
        try await ground.waitUntilIdle()
        try await repeatCalls(calls)
        let added = try await ground.rows() - before
        let issuedByKey = calls.count { $0.delivery.isIssuedByKey }
        #expect(added.ofKeys == issuedByKey, "\(ending)")
        // Without a key, what was asked for is on record or not. The start of an upload may be on record twice.
        let keepingAnswers = calls.count { $0.delivery.takesKey && !$0.delivery.isIssuedByKey }
        let withoutKeys = calls.count { !$0.delivery.takesKey }
        #expect(keepingAnswers...(2 * keepingAnswers + withoutKeys) ~= added.others, "\(ending): \(added.others)")
    }

    /// All clients are gone before the first row is written. The rows are written nevertheless.
    private static func hangUpInRecording(_ ending: ConnectionEnding, at ground: DeliveryGround) async throws {
        // What follows is decided by the policy that this has read.
        try await ground.expectIssued([try await ground.call(.way(.oneByOne), by: ground.asker)])
        let calls = try await ground.allCalls()
        let before = try await ground.rowsByDelivery()
        let start = try await ground.reading()
        try await ground.holdUpRecordings()
        try await hangUp(calls, ending) {
            try await waitUntil("all requests are in the recording") {
                let now = try await ground.reading()
                return now.requestsUnderWay == calls.count && now.itemsToRecord - start.itemsToRecord >= calls.count
            }
            #expect(try await ground.recordingsHeldUp() > 0)
        }
        // Those who hung up are still being answered.
        #expect(try await ground.reading().requestsUnderWay > 0)
        #expect(try await ground.rowsByDelivery() == before, "\(ending): nothing is recorded while it is held up")
        async let other: Void = ground.expectServed("after the first recordings, \(ending)")
        try await ground.letRecordingsGo()
        try await other
        try await ground.waitUntilIdle()
        let expected = Dictionary(grouping: calls, by: \.delivery.inLedger).mapValues(\.count)
        let added = try await ground.rowsByDelivery().merging(before) { $0 - $1 }
        #expect(added == expected, "\(ending)")
    }

    /// Requests with keys record over four connections of their own, and end when their clients are seen to have gone.
    private static func hangUpInRecordingWithKeys(_ ending: ConnectionEnding, at ground: DeliveryGround) async throws {
        let calls = try await ground.allCalls(withKeys: true).filter(\.delivery.takesKey)
        let alone = calls.filter { !$0.delivery.isIssuedByKey }
        let together = calls.filter(\.delivery.isIssuedByKey)
        var portions = alone.map { [$0] }
        for first in stride(from: 0, to: together.count, by: 4) {
            portions.append(Array(together[first..<min(first + 4, together.count)]))
        }
        let before = try await ground.rows()
        for portion in portions {
            try await ground.holdUpRecordings()
            try await hangUp(portion, ending) {
                try await waitUntil("\(portion.map(\.delivery)) are in the recording") {
                    try await ground.recordingsHeldUp() >= portion.count
                }
            }
            try await ground.letRecordingsGo()
            try await ground.waitUntilIdle()
            try await repeatCalls(portion)
        }
        let added = try await ground.rows() - before
        #expect(added.ofKeys == together.count, "\(ending)")
        // A start that was recorded, and whose client was then seen to have gone, is recorded again.
        #expect(alone.count...(2 * alone.count) ~= added.others, "\(ending): \(added.others)")
    }

    /// The gateway sees that clients have gone, and gives their requests up: nothing is recorded of those.
    private static func hangUpInReading(at ground: DeliveryGround) async throws {
        let before = try await ground.reading()
        // An answer with an outcome for each item is an answer, whoever gets it.
        var missing = Delivery.everything.filter { !$0.answersItems }
        let shares = Dictionary(grouping: missing, by: \.route).mapValues(\.count)
        var round: UInt32 = 0
        try await waitUntil("the gateway has seen clients go at every delivery", seconds: 25) {
            round += 1
            let calls = try await ground.calls(missing)
            try await ground.holdUpPolicy()
            // Too early, and the request comes with its reset. Too late, and nobody looks at the connection.
            for call in calls {
                try await call.request.hangUp(.reset, atPort: call.port, after: 1_000 * (1 + round % 5))
            }
            try await ground.expectServed("while policy is read")
            try await ground.letPolicyGo()
            try await ground.waitUntilIdle()
            let now = try await ground.reading()
            missing.removeAll { delivery in
                let seen = now.requests("gone", at: delivery.route) - before.requests("gone", at: delivery.route)
                return seen >= shares[delivery.route] ?? 0
            }
            return missing.isEmpty
        }
    }

    // MARK: Clients

    /// Sends requests at once, waits for something, and hangs up everywhere.
    private static func hangUp(
        _ calls: [DeliveryCall], _ ending: ConnectionEnding, when isTime: () async throws -> Void
    ) async throws {
        let isOver = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { isOver.raise() }
            for call in calls {
                group.addTask {
                    try await onThread {
                        let connection = try RawConnection(port: call.port)
                        try connection.send(call.request.bytes)
                        while !isOver.isRaised { usleep(500) }
                        if ending == .reset { connection.reset() }
                    }
                }
            }
            try await isTime()
            isOver.raise()
            try await group.waitForAll()
        }
    }

    /// Sends the same requests again, those with keys, until each issues.
    private static func repeatCalls(_ calls: [DeliveryCall]) async throws {
        for call in calls where call.delivery.takesKey {
            // A claim that nobody ends lasts five seconds.
            try await waitUntil("\(call.delivery) issues for the same key", seconds: 8) {
                let found = try await call.outcome()
                #expect(found == .issued || found == .refused(409), "\(call.delivery)")
                return found == .issued
            }
        }
    }

    // MARK: The gateway

    /// Expects that the gateway is ready, has seen no outage and given no answer of class 5xx, serves others, and that
    /// the account agrees.
    private static func expectCalm(
        _ when: String, since before: MetricsReading, at ground: DeliveryGround
    ) async throws {
        try await ground.expectServed(when)
        let readiness = try await ground.site.client().call("GET", "/readyz")
        #expect(readiness.status == 200, "\(when): \(readiness.text)")
        let now = try await ground.reading()
        #expect(now["sluice_database_up"] == 1, "\(when)")
        #expect(now["sluice_database_outages_total"] == 0, "\(when)")
        #expect(now.requests("5xx") == before.requests("5xx"), "\(when)")
        for code in ["SlowDown", "ServiceUnavailable"] {
            let series = "sluice_refused_total{code=\"\(code)\"}"
            let count = try #require(now[series], "there is no series \(series)")
            #expect(count == before[series], "\(when): \(code)")
        }
        try await ground.expectAccountAgrees(when)
    }
}

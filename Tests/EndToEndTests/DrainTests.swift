import Figures
import Glibc
import HTTPTesting
import TestSupport
import Testing

/// SIGTERM while a request of each delivery is under way, held up in its recording.
@Suite(.timeLimit(.minutes(3))) struct DrainTests {
    /// An answer, what it says, and whether its connection ended with it.
    private struct Answered: Sendable {
        let delivery: Delivery
        let answer: RawResponse
        let outcome: Delivery.Outcome
        let wasLast: Bool
    }

    /// Seconds that a gateway which stops has for requests under way.
    private static let deadline = 10

    // The longer delay leaves time to connect on a busy machine.
    @Test(arguments: [0, 8])
    func `a gateway that stops answers what is under way at every delivery, and has recorded what it answers`(
        delay: Int
    ) async throws {
        let settings = ["SLUICE_HTTP_DRAIN_DELAY": "\(delay)", "SLUICE_HTTP_DRAIN_DEADLINE": "\(Self.deadline)"]
        try await DeliveryGround.with(settings: settings) { ground in
            let site = ground.site
            let gateway = site.gateways[0]
            try await ground.expectIssued(try await ground.allCalls())
            try await ground.expectServed("at first")
            try await ground.waitUntilIdle()
            let calls = try await ground.allCalls()
            let late = try await ground.call(.way(.oneByOne), by: ground.bystander)
            let before = Set(try await ground.rowsByRequest())
            let start = try await ground.reading()
            let count = Counter()
            try await ground.holdUpRecordings()
            let (answers, told) = try await withThrowingTaskGroup(of: Answered.self) { group in
                for call in calls { group.addTask { try await Self.exchange(call, count) } }
                try await waitUntil("all requests are in the recording") {
                    let now = try await ground.reading()
                    return now.requestsUnderWay == calls.count
                        && now.itemsToRecord - start.itemsToRecord >= calls.count
                }
                #expect(try await ground.recordingsHeldUp() > 0)
                let told = ContinuousClock.now
                gateway.process.signal(SIGTERM)
                if delay > 0 {
                    try await Self.expectDraining(gateway)
                    // Others are served meanwhile. This one may wait behind a recording that is held up.
                    group.addTask { try await Self.exchange(late, Counter()) }
                } else {
                    try await waitUntil("nobody else is let in") { try await Self.isClosed(gateway.port) }
                }
                #expect(count.value == 0, "what is held up was answered")
                try await ground.letRecordingsGo()
                var answers: [Answered] = []
                for try await answered in group { answers.append(answered) }
                try await waitUntil("nobody else is let in") { try await Self.isClosed(gateway.port) }
                #expect(ContinuousClock.now - told >= .seconds(delay))
                return (answers, told)
            }
            await site.end(gateway) { #expect(await gateway.process.exitStatus() == 0) }
            let took = ContinuousClock.now - told
            #expect(took < .seconds(delay + Self.deadline), "the gateway stopped after \(took)")

            #expect(answers.count == calls.count + (delay > 0 ? 1 : 0))
            for answered in answers { Self.check(answered) }
            try await Self.expectRecorded(answers, besides: before, at: ground)
            try await ground.expectAccountAgrees("after the stop")
            #expect(!site.log.contains("outage begins"))
        }
    }

    /// Sends a request, and reads the answer and what follows it.
    private static func exchange(_ call: DeliveryCall, _ count: Counter) async throws -> Answered {
        let (answer, rest) = try await onThread {
            var connection = try RawConnection(port: call.port)
            try connection.send(call.request.bytes)
            let answer = try connection.response()
            count.add()
            return (answer, try connection.receive())
        }
        return Answered(
            delivery: call.delivery, answer: answer, outcome: call.outcome(of: answer), wasLast: rest.isEmpty)
    }

    /// Expects that the gateway says that it stops, over a connection that was made after it was told.
    private static func expectDraining(_ gateway: GatewayProcess) async throws {
        try await waitUntil("the gateway drains") { gateway.log.contains("draining") }
        let client = APIClient(port: gateway.port)
        for (path, status) in [("/readyz", 503), ("/healthz", 200)] {
            let request = try client.request("GET", path)
            let answer = try await request.answer(fromPort: gateway.port)
            #expect(answer.status == status, "\(path): \(answer.text)")
            #expect(answer["Connection"]?.lowercased() == "close", "\(path)")
        }
    }

    /// Whether no connection comes about.
    private static func isClosed(_ port: UInt16) async throws -> Bool {
        try await onThread {
            do {
                _ = try RawConnection(port: port)
                return false
            } catch RawHTTPError.system("connect", ECONNREFUSED) {
                return true
            } catch RawHTTPError.system("connect", ECONNRESET) {
                // It was waiting to be accepted when the listener was closed.
                return false
            }
        }
    }

    /// Expects what was asked for, and that the client is told that its connection ends, and it does.
    private static func check(_ answered: Answered) {
        let (delivery, answer) = (answered.delivery, answered.answer)
        #expect(answered.outcome == .issued, "\(delivery): \(answer.text)")
        #expect(answer["Connection"]?.lowercased() == "close", "\(delivery)")
        #expect(answered.wasLast, "\(delivery)")
    }

    /// Expects one new row for each credential that left the gateway, and no other.
    private static func expectRecorded(
        _ answers: [Answered], besides before: Set<String>, at ground: DeliveryGround
    ) async throws {
        let issued = try answers.map { answered in
            let id = try #require(answered.answer["X-Request-Id"])
            return "\(id) \(answered.delivery.inLedger)"
        }
        let recorded = try await ground.rowsByRequest().filter { !before.contains($0) }
        #expect(recorded.sorted() == issued.sorted())
    }
}

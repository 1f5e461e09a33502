import Figures
import HTTPServing
import MicroHTTPD
import Synchronization
import Testing

/// What a task that is cancelled learns of the reason.
@Suite(.timeLimit(.minutes(2))) struct AbandonedRequestTests {
    /// Whether the requests were abandoned whose tasks have been cancelled.
    private final class Verdicts: Sendable {
        let begun = Counter()
        private let verdicts = Mutex<[Bool]>([])

        var all: [Bool] { verdicts.withLock { $0 } }

        func note(_ isAbandoned: Bool) { verdicts.withLock { $0.append(isAbandoned) } }

        /// Waits for a verdict, but not for long.
        func wait() async {
            let end = ContinuousClock.now + .milliseconds(200)
            while all.isEmpty, ContinuousClock.now < end { await Task.yield() }
        }
    }

    /// Waits until it is cancelled: for the rest of a body at `/stream`, else for a minute.
    private static func responder(_ verdicts: Verdicts) -> TestResponder {
        TestResponder { head in
            head.target == "/stream" ? .stream(maxBytes: 1_000) : .collect(maxBytes: 1_000)
        } answer: { request in
            verdicts.begun.add(1)
            if case .stream(let pieces) = request.body {
                do { for try await _ in pieces {} } catch {}
            } else {
                try? await Task.sleep(for: .seconds(60))
            }
            verdicts.note(request.isAbandoned)
            return .text("late")
        }
    }

    @Test(arguments: ["/stream", "/"])
    func `a client that hangs up has abandoned its request`(target: String) async throws {
        let verdicts = Verdicts()
        try await TestServer.with(Self.responder(verdicts)) {
            $0.drain = DrainPeriod(.milliseconds(10))
        } body: { server in
            // The server learns of the end of a connection only while that is not suspended.
            while verdicts.all.isEmpty {
                let begun = verdicts.begun.value
                do {
                    let client = try server.client()
                    let body = target == "/stream" ? "h" : "hello"
                    try await client.send("POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n\(body)")
                    while verdicts.begun.value == begun { await Task.yield() }
                    client.resetAtEnd()
                }
                await verdicts.wait()
            }
            #expect(verdicts.all.allSatisfy { $0 })
        }
    }

    @Test(arguments: [true, false])
    func `neither a deadline nor the end of the server is taken for that`(isDeadline: Bool) async throws {
        let verdicts = Verdicts()
        try await TestServer.with(Self.responder(verdicts)) {
            $0.drain = DrainPeriod(.milliseconds(10))
            if isDeadline { $0.answerDeadline = .milliseconds(50) }
        } body: { server in
            let client = try server.client()
            try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while verdicts.begun.value == 0 { await Task.yield() }
            if !isDeadline { await server.shutDown() }
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).status == 503)
            while verdicts.all.isEmpty { await Task.yield() }
            #expect(verdicts.all == [false])
        }
    }
}

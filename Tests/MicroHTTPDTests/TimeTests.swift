import Figures
import HTTPServing
import HTTPTypes
import MicroHTTPD
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(2))) struct TimeTests {
    @Test(arguments: [
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX-A: b",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf",
    ])
    func `a request that does not arrive whole in time gets 408`(part: String) async throws {
        try await TestServer.with(.echo) {
            $0.requestTimeout = .milliseconds(200)
        } body: { server in
            let client = try server.client()
            try await client.send(part)
            var rest: [UInt8] = []
            let refused = try await client.response(rest: &rest)
            #expect(refused.status == 408)
            #expect(refused.text == "refused: requestTimeout")
            // The head of the last one has arrived.
            #expect(refused.fields["x-refused"] == (part.hasPrefix("PUT") ? "/" : nil))
            #expect(try await client.isClosed())
        }
    }

    @Test func `a head that trickles in is cut off all the same`() async throws {
        try await TestServer.with(.echo) {
            $0.requestTimeout = .milliseconds(300)
        } body: { server in
            let client = try server.client()
            try await client.send("GET / HTTP/1.1\r\nHost: a\r\n")
            await #expect(throws: AsyncConnectionError.self) {
                for number in 0..<1_000 {
                    try await client.send("X-\(number): a\r\n")
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
        }
    }

    @Test(arguments: ["", "GE", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"])
    func `a connection on which no request begins is closed`(start: String) async throws {
        try await TestServer.with(.echo) {
            $0.idleTimeout = .seconds(1)
        } body: { server in
            let client = try server.client()
            try await client.send(start)
            let answer = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(answer.isEmpty == !start.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func `a streamed body that stops coming ends with 408`() async throws {
        let ended = Latch()
        let responder = TestResponder { _ in
            .stream(maxBytes: 1_000)
        } answer: { request in
            guard case .stream(let chunks) = request.body else { return .text("collected") }
            do { for try await _ in chunks {} } catch RequestBodyError.timedOut { await ended.wait() } catch {}
            return .text("over")
        }
        try await TestServer.with(responder) {
            $0.idleTimeout = .seconds(1)
        } body: { server in
            let client = try server.client()
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
            var rest: [UInt8] = []
            let refused = try await client.response(rest: &rest)
            #expect(refused.status == 408 && refused.fields["x-refused"] == "/, again")
            await ended.arrival()
            ended.open()
        }
    }

    @Test func `an answer that takes too long becomes 503, and the late one is dropped`() async throws {
        let latch = Latch()
        let cancelled = Counter()
        let responder = TestResponder { request in
            guard request.head.target == "/slow" else { return .text("quick") }
            await latch.wait()
            while !Task.isCancelled { await Task.yield() }
            cancelled.add(1)
            return .text("late")
        }
        try await TestServer.with(responder) {
            $0.answerDeadline = .milliseconds(200)
            $0.retryAfter = 7
        } body: { server in
            let client = try server.client()
            let refused = try await client.exchange("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(refused.status == 503)
            #expect(refused.fields["retry-after"] == "7")
            // The responder has the request, and counts it when its task ends.
            #expect(refused.fields["x-refused"] == "/slow, again")
            latch.open()
            var quick = try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while quick.status == 503 { quick = try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
            #expect(quick.text == "quick")
            while cancelled.value == 0 { await Task.yield() }
        }
    }

    @Test(arguments: [
        "GET /long HTTP/1.1\r\nHost: a\r\n\r\n", "POST /long HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
    ])
    func `a route may take longer than the others`(request: String) async throws {
        let latch = Latch()
        let responder = TestResponder { head in
            head.target == "/long" ? .stream(maxBytes: 10, answerDeadline: .seconds(600)) : .collect(maxBytes: 0)
        } answer: { request in
            if case .stream(let body) = request.body {
                do { for try await _ in body {} } catch { return .text("broken") }
            }
            await latch.wait()
            return .text("late")
        }
        try await TestServer.with(responder) {
            $0.answerDeadline = .milliseconds(200)
        } body: { server in
            let long = try server.client()
            try await long.send(request)
            await latch.arrival(1)
            // These later requests are given up at the deadline, and the first one would be too.
            for _ in 0..<2 {
                let other = try server.client()
                #expect(try await other.exchange("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").status == 503)
            }
            latch.open()
            var rest: [UInt8] = []
            #expect(try await long.response(rest: &rest).text == "late")
        }
    }

    @Test func `a streamed answer that stands still is cut`() async throws {
        let latch = Latch()
        let responder = TestResponder { _ in
            ServerResponse(
                head: ResponseHead(status: .ok),
                body: .stream(length: nil) { writer in
                    try await writer.write(Array("half".utf8))
                    await latch.wait()
                })
        }
        try await TestServer.with(responder) {
            $0.answerDeadline = .seconds(1)
        } body: { server in
            let client = try server.client()
            try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let text = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(text.contains("half"))
            #expect(!text.hasSuffix("0\r\n\r\n"))
            latch.open()
        }
    }

    @Test func `a client that hangs up while its answer is made harms nobody`() async throws {
        let latch = Latch()
        let responder = TestResponder { request in
            if request.head.target == "/slow" { await latch.wait() }
            return .text("ok")
        }
        try await TestServer.with(responder) { server in
            for _ in 0..<50 {
                let client = try server.client()
                try await client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            }
            await latch.arrival(50)
            latch.open()
            for _ in 0..<50 {
                #expect(try await server.client().exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "ok")
            }
        }
    }

    @Test func `a client that hangs up in the middle of anything harms nobody`() async throws {
        let request = "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
        try await TestServer.with(.echo) { server in
            for length in 0...request.utf8.count {
                for leaves in [true, false] {
                    let client = try server.client()
                    try await client.send(Array(request.utf8.prefix(length)), leaves: leaves)
                }
            }
            #expect(try await server.client().exchange(request).text == "PUT /x a|hello")
            #expect(try await server.hasNoClientsSoon())
        }
    }

    @Test(arguments: [nil, 413])
    func `a client that hangs up with a piece of its body ends the request`(answered: Int?) async throws {
        let latch = Latch()
        let responder = TestResponder { _ in
            .stream(maxBytes: answered == nil ? 10 : 9)
        } answer: { request in
            guard case .stream(let chunks) = request.body else { return .text("collected") }
            latch.open()
            do { for try await _ in chunks {} } catch {}
            return .text("over")
        }
        try await TestServer.with(responder) { server in
            do {
                let client = try server.client()
                try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
                if let answered {
                    var rest: [UInt8] = []
                    #expect(try await client.response(rest: &rest).status == answered)
                } else {
                    await latch.wait()
                }
                try await client.send(Array("half".utf8), leaves: true)
            }
            #expect(try await server.hasNoClientsSoon())
        }
    }

    @Test func `a client that has closed its side of the connection gets its answer`() async throws {
        let latch = Latch()
        let responder = TestResponder { _ in
            await latch.wait()
            return .text("ok")
        }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            try await client.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), leaves: true)
            client.end()
            await latch.arrival()
            try await Task.sleep(for: .milliseconds(1_200))
            latch.open()
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).text == "ok")
            #expect(try await server.hasNoClientsSoon())
        }
    }
}

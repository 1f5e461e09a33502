import HTTPServing
import MicroHTTPD
import Testing
import TestSupport

/// Requests that wait for their answers, at first in turns of the loop and then suspended, beside others on the same
/// loop.
@Suite(.timeLimit(.minutes(2))) struct WaitingTests {
    /// Answers `/late` when the latch opens, and everything else with its body.
    private static func responder(_ latch: Latch) -> TestResponder {
        TestResponder(plan: { _ in .collect(maxBytes: 10_000) }) { request in
            if request.head.target == "/late" { await latch.wait() }
            guard case .collected(let body) = request.body else { return .text("streamed") }
            return .text("\(request.head.target) " + String(decoding: body, as: UTF8.self))
        }
    }

    private static func post(_ target: String, _ body: String, fields: String = "") -> String {
        "POST \(target) HTTP/1.1\r\nHost: a\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private func with(
        _ adjust: (inout HTTPServerConfiguration) -> Void = { _ in },
        _ body: @Sendable (TestServer, Latch) async throws -> Void
    ) async throws {
        let latch = Latch()
        try await TestServer.with(
            Self.responder(latch),
            {
                $0.threads = 1
                adjust(&$0)
            }
        ) { try await body($0, latch) }
    }

    /// Serves other requests, each of which takes the loop some turns.
    private static func serve(_ others: Int, by server: TestServer) async throws {
        let other = try server.client()
        for number in 0..<others {
            #expect(try await other.exchange(post("/\(number)", "two")).text == "/\(number) two")
        }
    }

    @Test(
        "an answer is sent however many turns it takes, and the connection serves on",
        arguments: Array(0...70) + [200])
    func turns(others: Int) async throws {
        try await with { server, latch in
            let late = try server.client()
            try await late.send(Self.post("/late", "one"))
            await latch.arrival()
            try await Self.serve(others, by: server)
            latch.open()
            var rest: [UInt8] = []
            #expect(try await late.response(rest: &rest).text == "/late one")
            #expect(try await late.exchange(Self.post("/next", "three")).text == "/next three")
        }
    }

    @Test("many wait at once, and each gets its own answer", arguments: [2, 50, 300])
    func many(count: Int) async throws {
        try await with { server, latch in
            var clients: [AsyncConnection] = []
            for number in 0..<count {
                clients.append(try server.client())
                try await clients[number].send(Self.post("/late", "\(number)"))
            }
            await latch.arrival(count)
            latch.open()
            for (number, client) in clients.enumerated() {
                var rest: [UInt8] = []
                #expect(try await client.response(rest: &rest).text == "/late \(number)")
            }
        }
    }

    @Test(
        "requests that arrive in pieces, or several at once, are read beside one that waits",
        arguments: [1, 7, 100, 1_000, 1_023, 1_024, 1_025, 2_048, 3_000, 100_000])
    func pieces(size: Int) async throws {
        try await with { server, latch in
            let late = try server.client()
            try await late.send(Self.post("/late", "one"))
            await latch.arrival()
            let other = try server.client()
            let long = String(repeating: "f", count: 3_000)
            // The first head is longer than what libmicrohttpd reads at once.
            let fields = "X-Long: \(String(repeating: "f", count: 7_000))\r\n"
            let text = Self.post("/a", "two", fields: fields) + Self.post("/b", long) + Self.post("/c", "")
            let bytes = Array(text.utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try await other.send(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            var rest: [UInt8] = []
            #expect(try await other.response(rest: &rest).text == "/a two")
            #expect(try await other.response(rest: &rest).text == "/b \(long)")
            #expect(try await other.response(rest: &rest).text == "/c ")
            latch.open()
            var lateRest: [UInt8] = []
            #expect(try await late.response(rest: &lateRest).text == "/late one")
        }
    }

    @Test(
        "a client that hangs up while its request waits takes nothing from the others", arguments: [0, 10, 20, 30, 100])
    func hangsUp(others: Int) async throws {
        try await with { server, latch in
            let late = try server.client()
            try await late.send(Self.post("/late", "one"))
            do {
                let gone = try server.client()
                try await gone.send(Self.post("/late", "gone"))
                await latch.arrival(2)
            }
            try await Self.serve(others, by: server)
            latch.open()
            var rest: [UInt8] = []
            #expect(try await late.response(rest: &rest).text == "/late one")
        }
    }

    /// How the waiting of a request ends.
    enum End: CaseIterable {
        case answer, deadline, shutdown
    }

    /// The status is the one that RFC 9110 has for each end: 503 for what the server gives up.
    @Test(
        "a request is answered once, whether it waits in turns or suspended, however that ends",
        arguments: End.allCases, [1, 40])
    func ends(end: End, count: Int) async throws {
        for others in [0, 200] {
            try await with({
                if end == .deadline { $0.answerDeadline = .milliseconds(others == 0 ? 20 : 500) }
                if end == .shutdown { $0.drain = DrainPeriod(.milliseconds(others == 0 ? 10 : 500)) }
            }) { server, latch in
                let clients = try (0..<count).map { _ in try server.client() }
                for (number, client) in clients.enumerated() {
                    try await client.send(Self.post("/late", "\(number)"))
                }
                await latch.arrival(count)
                // After many others, the requests are suspended.
                if end == .answer { try await Self.serve(others, by: server) }
                if end == .shutdown { await server.shutDown() }
                if end == .answer { latch.open() }
                for (number, client) in clients.enumerated() {
                    var rest: [UInt8] = []
                    let response = try await client.response(rest: &rest)
                    #expect(response.status == (end == .answer ? 200 : 503), "\(end), \(number) after \(others)")
                    #expect(rest.isEmpty)
                    if end == .answer { #expect(response.text == "/late \(number)") }
                    if end == .shutdown { #expect(try await client.isClosed()) }
                }
                latch.open()
                if end != .shutdown {
                    for client in clients {
                        var next = try await client.exchange(Self.post("/next", "three"))
                        // The short deadline is that of every request.
                        while end == .deadline, next.status == 503 {
                            next = try await client.exchange(Self.post("/next", "three"))
                        }
                        #expect(next.text == "/next three")
                    }
                }
            }
        }
    }
}

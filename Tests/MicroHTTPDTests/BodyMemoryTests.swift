import HTTPServing
import HTTPTypes
import Testing
import TestSupport

@testable import MicroHTTPD

/// Bodies that are held whole, and the memory for them.
@Suite(.timeLimit(.minutes(2))) struct BodyMemoryTests {
    private static let limit = 1 << 20
    private static let long = 300_000

    /// Answers 401 without reading the body if `X-Token` is missing. Otherwise gathers the body, waits at the latch for
    /// the target `/held`, and answers with the number of bytes.
    private static func gathering(_ latch: Latch = Latch()) -> TestResponder {
        TestResponder { _ in
            .collect(maxBytes: limit)
        } answer: { request in
            guard request.head.headerFields.contains(where: { $0.name.canonicalName == "x-token" }) else {
                return .text("who", status: .unauthorized)
            }
            var bytes: [UInt8] = []
            switch request.body {
            case .collected(let all): bytes = all
            case .stream(let pieces):
                do { for try await piece in pieces { bytes += piece } } catch {
                    return .text("\(error)", status: .serviceUnavailable)
                }
            }
            if request.head.target == "/held" { await latch.wait() }
            return .text("\(bytes.count)")
        }
    }

    private static func head(
        _ target: String = "/", length: Int = long, token: Bool = true, fields: String = ""
    ) -> String {
        "PUT \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n" + (token ? "X-Token: a\r\n" : "")
            + fields + "\r\n"
    }

    private static func body(_ count: Int = long) -> [UInt8] { [UInt8](repeating: 0x61, count: count) }

    @Test func `a long body arrives whole, and the connection stays`() async throws {
        try await TestServer.with(Self.gathering()) { server in
            let client = try server.client()
            var rest: [UInt8] = []
            for count in [16_383, 16_384, 16_385, Self.limit] {
                try await client.send(Self.head(length: count))
                try await client.send(Self.body(count))
                #expect(try await client.response(rest: &rest).text == "\(count)")
            }
        }
    }

    @Test func `a caller who is refused is told before the body comes`() async throws {
        try await TestServer.with(Self.gathering()) { server in
            let waiting = try server.client()
            try await waiting.send(Self.head(token: false, fields: "Expect: 100-continue\r\n"))
            var rest: [UInt8] = []
            #expect(try await waiting.response(rest: &rest).status == 401)
            #expect(try await waiting.isClosed())
            let silent = try server.client()
            try await silent.send(Self.head(token: false))
            #expect(try await silent.response(rest: &rest).status == 401)
            let eager = try server.client()
            try await eager.send(Array(Self.head(token: false).utf8) + Self.body())
            #expect(try await eager.response(rest: &rest).status == 401)
            #expect(try await eager.isClosed())
        }
    }

    @Test func `a caller who is let in is told to go on`() async throws {
        try await TestServer.with(Self.gathering()) { server in
            let client = try server.client()
            try await client.send(Self.head(fields: "Expect: 100-continue\r\n"))
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).status == 100)
            try await client.send(Self.body())
            #expect(try await client.response(rest: &rest).text == "\(Self.long)")
        }
    }

    @Test(arguments: [(1_000, 600_000), (600_000, 1_000)])
    func `a long body that stops or trickles gets 408`(idle: Int, total: Int) async throws {
        try await TestServer.with(Self.gathering()) {
            $0.idleTimeout = .milliseconds(idle)
            $0.requestTimeout = .milliseconds(total)
        } body: { server in
            let client = try server.client()
            try await client.send(Array(Self.head().utf8) + Self.body(1_000))
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).status == 408)
            #expect(try await client.isClosed())
        }
    }

    @Test func `long bodies beyond the memory get 503, short ones do not, and there is room again when they are gone`()
        async throws
    {
        let latch = Latch()
        try await TestServer.with(Self.gathering(latch)) {
            // Long bodies may take three quarters.
            $0.bodyMemory = BodyMemory(limit: 800_000)
            $0.maxGatheredBodyBytes = 64_000
        } body: { server in
            let first = try server.client()
            try await first.send(Array(Self.head("/held").utf8) + Self.body())
            await latch.arrival()
            let second = try server.client()
            try await second.send(Array(Self.head("/held", length: 290_000).utf8) + Self.body(290_000))
            await latch.arrival(2)
            var rest: [UInt8] = []
            let third = try server.client()
            try await third.send(Array(Self.head(length: 100_000).utf8) + Self.body(100_000))
            let refused = try await third.response(rest: &rest)
            #expect(refused.status == 503 && refused.text == "noMemory")
            let short = try server.client()
            try await short.send(Array(Self.head(length: 60_000).utf8) + Self.body(60_000))
            #expect(try await short.response(rest: &rest).text == "60000")
            latch.open()
            #expect(try await first.response(rest: &rest).text == "\(Self.long)")
            #expect(try await second.response(rest: &rest).text == "290000")
            var status = 503
            while status == 503 {
                let later = try server.client()
                try await later.send(Array(Self.head(length: 500_000).utf8) + Self.body(500_000))
                status = try await later.response(rest: &rest).status
            }
            #expect(status == 200)
        }
    }

    @Test func `short bodies beyond the memory get 503 and the connection stays`() async throws {
        try await TestServer.with(Self.gathering()) {
            $0.bodyMemory = BodyMemory(limit: 50_000)
            $0.maxGatheredBodyBytes = 64_000
            $0.retryAfter = 3
        } body: { server in
            let client = try server.client()
            var rest: [UInt8] = []
            for _ in 0..<3 {
                try await client.send(Array(Self.head(length: 60_000).utf8) + Self.body(60_000))
                let refused = try await client.response(rest: &rest)
                #expect(refused.status == 503 && refused.fields["retry-after"] == "3")
                try await client.send(Array(Self.head(length: 40_000).utf8) + Self.body(40_000))
                #expect(try await client.response(rest: &rest).text == "40000")
            }
        }
    }

    @Test func `bodies that are slow to come take nobody's place among the requests that are answered`() async throws {
        try await TestServer.with(Self.gathering()) {
            $0.maxRequestsInFlight = 2
        } body: { server in
            var slow: [AsyncConnection] = []
            for _ in 0..<4 {
                let client = try server.client()
                try await client.send(Self.head(fields: "Expect: 100-continue\r\n"))
                var rest: [UInt8] = []
                #expect(try await client.response(rest: &rest).status == 100)
                slow.append(client)
            }
            let quick = try await server.client().exchange(Self.head(length: 2) + "hi")
            #expect(quick.text == "2")
            for client in slow {
                var rest: [UInt8] = []
                try await client.send(Self.body())
                #expect(try await client.response(rest: &rest).text == "\(Self.long)")
            }
        }
    }
}

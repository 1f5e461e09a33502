import HTTPServing
import HTTPTypes
import MicroHTTPD
import Testing

@Suite struct LimitTests {
    @Test func `a target is taken up to its limit and refused with 414 beyond`() async throws {
        try await TestServer.with(.echo) {
            $0.maxTargetBytes = 100
        } body: { server in
            let longest = "/" + String(repeating: "a", count: 99)
            #expect(try await server.client().exchange("GET \(longest) HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
            let refused = try await server.client().exchange("GET \(longest)a HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(refused.status == 414)
            #expect(refused.text == "refused: uriTooLong")
        }
    }

    @Test func `a head is taken up to its limit and refused with 431 beyond`() async throws {
        try await TestServer.with(.echo) {
            $0.maxHeadBytes = 4_096
        } body: { server in
            let bare = "GET / HTTP/1.1\r\nHost: a\r\nY: \r\n\r\n"
            let filler = String(repeating: "b", count: 4_096 - bare.utf8.count)
            let client = try server.client()
            #expect(try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\nY: \(filler)\r\n\r\n").status == 200)
            let refused = try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\nY: \(filler)b\r\n\r\n")
            #expect(refused.status == 431)
            #expect(refused.text == "refused: headerFieldsTooLarge")
        }
    }

    @Test func `clients leave the descriptors alone that the rest of the process needs`() async throws {
        try await TestServer.with(.echo) {
            $0.reservedDescriptors = 1 << 40
        } body: { server in
            let refused = try await server.client().exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(refused.status == 503)
            #expect(refused.fields["retry-after"] == "1")
        }
    }

    @Test func `more fields than allowed are refused with 431`() async throws {
        try await TestServer.with(.echo) {
            $0.maxHeaderFields = 10
        } body: { server in
            let fields = String(repeating: "Y: z\r\n", count: 9)
            #expect(try await server.client().exchange("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n").status == 200)
            let refused = try await server.client().exchange("GET / HTTP/1.1\r\nHost: a\r\n\(fields)Y: z\r\n\r\n")
            #expect(refused.status == 431)
        }
    }

    @Test(arguments: [("GET /", 414), ("GET / HTTP/1.1\r\nHost: a\r\nX: ", 431)])
    func `a line without an end is refused`(start: String, status: Int) async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            try await client.send(start)
            // The server may close before everything is sent.
            try? await client.send(String(repeating: "a", count: 256 * 1_024))
            let answer = String(decoding: (try? await client.receiveAll()) ?? [], as: UTF8.self)
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 \(status) "))
            #expect(try await server.client().exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
        }
    }

    @Test func `a body is taken up to the limit of its route and refused with 413 beyond`() async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            let body = String(repeating: "b", count: 1_000)
            let taken = try await client.exchange("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n\(body)")
            #expect(taken.text == "PUT / a|\(body)")
            let refused = try await client.exchange("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n\(body)b")
            #expect(refused.status == 413)
            #expect(refused.text == "refused: contentTooLarge(maxBytes: 1000)")
            #expect(refused.fields["connection"] == "close")
            #expect(refused.fields["date"]?.hasSuffix(" GMT") == true)
            #expect(try await client.isClosed())
        }
    }

    @Test func `a client that sends a large refused body without waiting still reads the refusal`() async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n")
            try await client.send([UInt8](repeating: 0x62, count: 500_000))
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).status == 413)
            #expect(try await client.isClosed())
        }
    }

    @Test func `a client that announces a body and waits is refused before it sends`() async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            let refused = try await client.exchange(
                "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
            #expect(refused.status == 413)
        }
    }

    @Test func `a client that announces a body and waits is told to go on`() async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n")
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).status == 100)
            try await client.send("hi")
            #expect(try await client.response(rest: &rest).text == "PUT / a|hi")
        }
    }

    @Test func `any other expectation is refused with 417`() async throws {
        try await TestServer.with(.echo) { server in
            let refused = try await server.client().exchange(
                "PUT / HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\nContent-Length: 2\r\n\r\nhi")
            #expect(refused.status == 417)
        }
    }

    @Test func `connections of one address beyond the limit get 503`() async throws {
        try await TestServer.with(.echo) {
            $0.maxConnectionsPerAddress = 2
        } body: { server in
            let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
            let first = try server.client()
            #expect(try await first.exchange(request).status == 200)
            let second = try server.client()
            #expect(try await second.exchange(request).status == 200)
            let third = try server.client()
            var rest: [UInt8] = []
            let refused = try await third.response(rest: &rest)
            #expect(refused.status == 503)
            #expect(refused.fields["retry-after"] == "1")
            #expect(try await third.isClosed())
            #expect(try await first.exchange(request).status == 200)
        }
    }

    @Test func `a place is free again once a client has gone`() async throws {
        try await TestServer.with(.echo) {
            $0.maxConnections = 1
        } body: { server in
            for _ in 0..<20 {
                var status = 503
                while status == 503 {
                    let client = try server.client()
                    status = (try? await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status) ?? 503
                }
                #expect(status == 200)
            }
        }
    }

    @Test func `requests beyond those in flight get 503 and the connection stays`() async throws {
        let gate = Gate()
        let responder = TestResponder { _ in
            await gate.wait()
            return .text("done")
        }
        try await TestServer.with(responder) {
            $0.maxRequestsInFlight = 1
        } body: { server in
            let slow = try server.client()
            try await slow.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await gate.arrival()
            let other = try server.client()
            let refused = try await other.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(refused.status == 503)
            #expect(refused.fields["retry-after"] == "1")
            gate.open()
            var rest: [UInt8] = []
            #expect(try await slow.response(rest: &rest).text == "done")
            var status = 503
            while status == 503 { status = try await other.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status }
            #expect(status == 200)
        }
    }
}

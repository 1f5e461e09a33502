import HTTPServing
import HTTPTypes
import MicroHTTPD
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(2))) struct LimitTests {
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
            let filler = String(repeating: "b", count: 4_096 - 2 * 64 - bare.utf8.count)
            let client = try server.client()
            #expect(try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\nY: \(filler)\r\n\r\n").status == 200)
            let refused = try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\nY: \(filler)b\r\n\r\n")
            #expect(refused.status == 431)
            #expect(refused.text == "refused: headerFieldsTooLarge(maxBytes: 4096)")
        }
    }

    /// A request and the length of a field that its answer has.
    struct Heads: CustomTestStringConvertible, Sendable {
        var target = "/"
        var fields: [String] = []
        var body: String?
        /// Whether another request follows at once.
        var isFollowed = false
        var answerBytes: Int

        var text: String {
            let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
            let lines = fields.map { $0 + "\r\n" }.joined()
            return "\(body == nil ? "GET" : "POST") \(target) HTTP/1.1\r\nHost: a\r\n\(length)\(lines)\r\n"
        }

        /// What the head counts, from the documentation alone.
        var bytes: Int {
            let cookies = fields.filter { $0.hasPrefix("Cookie: ") }.map { $0.dropFirst(8) }
            let values =
                1 + (body == nil ? 0 : 1) + fields.count + cookies.reduce(0) { $0 + $1.split(separator: "; ").count }
            return text.utf8.count + 64 * values + cookies.reduce(0) { $0 + $1.utf8.count }
        }

        var testDescription: String {
            "\(text.utf8.count) bytes, \(fields.count) fields, body \(body?.utf8.count ?? 0), followed \(isFollowed), "
                + "answer \(answerBytes)"
        }
    }

    /// Heads at the limit, one byte below and one above, of texts, fields, parameters and cookies, with answers that
    /// fit, hardly fit, and do not.
    static let heads: [Heads] = [0, 800, 1_100, 6_000, 20_000].flatMap { answerBytes in
        [nil, "body"].flatMap { body in
            [false, true].flatMap { isFollowed in
                let plain = Heads(body: body, isFollowed: isFollowed, answerBytes: answerBytes)
                var shapes = [plain, plain, plain, plain]
                shapes[1].fields = (0..<60).map { "X-\($0): a" }
                shapes[2].target = "/?" + (0..<50).map { "p\($0)=b" }.joined(separator: "&")
                shapes[3].fields = ["Cookie: " + (0..<40).map { "c\($0)=d" }.joined(separator: "; ")]
                return shapes.flatMap { shape in
                    [6_000, 8_191, 8_192, 8_193, 9_000].map { bytes in
                        var shape = shape
                        shape.fields.append("Y: ")
                        shape.fields[shape.fields.count - 1] += String(repeating: "e", count: bytes - shape.bytes)
                        return shape
                    }
                }
            }
        }
    }

    @Test func `an answer that fits neither beside the head nor into the socket's buffer is a refusal`() async throws {
        let responder = TestResponder { _ in
            var response = ServerResponse.text(String(repeating: "b", count: 8_000_000))
            response.head.headerFields[.location] = String(repeating: "l", count: 2_000)
            return response
        }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            let head = "GET / HTTP/1.1\r\nHost: a\r\nY: " + String(repeating: "e", count: 7_500) + "\r\n\r\n"
            let answer = try await client.exchange(head)
            #expect(answer.status == 431 && answer.fields["x-refused"] == "/, again")
        }
    }

    @Test func `whatever the heads of request and answer take, there is an answer`() async throws {
        let responder = TestResponder { request in
            guard let name = HTTPField.Name("X-Long") else { return .text("") }
            let length = Int(request.head.headerFields[name] ?? "") ?? 0
            var response = ServerResponse.text("done")
            response.head.headerFields[name] = String(repeating: "l", count: length)
            return response
        }
        try await TestServer.with(responder) { server in
            for heads in Self.heads {
                // The length of the answer takes the place of as many bytes of the last field.
                var heads = heads
                let field = "X-Long: \(heads.answerBytes)"
                let last = heads.fields.removeLast()
                heads.fields += [field, String(last.dropLast(field.utf8.count + 2 + 64))]
                let next = heads.isFollowed ? "GET / HTTP/1.1\r\nHost: a\r\n\r\n" : ""
                let client = try server.client()
                let answer = try await client.exchange(heads.text + (heads.body ?? "") + next)
                #expect(answer.status == (heads.bytes <= 8_192 ? 200 : 431), "\(heads.testDescription)")
                if answer.status == 200 {
                    #expect(answer.fields["x-long"]?.utf8.count ?? 0 == heads.answerBytes, "\(heads.testDescription)")
                    #expect(answer.text == "done")
                }
            }
        }
    }

    @Test func `a query has as many parameters as its target has room for`() async throws {
        try await TestServer.with(.echo) { server in
            // libmicrohttpd went silent where it could not keep all parameters.
            for count in [1, 100, 130, 150, 200, 1_000, 4_000, 5_000, 20_000] {
                for piece in ["a&", "a=%41&", "&"] {
                    let target = "/x?" + String(repeating: piece, count: count)
                    let head = "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n"
                    let answer = try await server.client().exchange(head)
                    let comment: Comment = "\(count) of \(piece)"
                    if head.utf8.count + 64 <= 8_192 {
                        #expect(answer.status == 200 && answer.text.contains(target), comment)
                    } else {
                        #expect([414, 431].contains(answer.status), comment)
                    }
                }
            }
        }
    }

    @Test func `more fields than allowed are refused with 431`() async throws {
        try await TestServer.with(.echo) {
            $0.maxHeadBytes = 1_024
        } body: { server in
            // Each takes 70 bytes, and the rest of the head 91.
            let fields = String(repeating: "Y: z\r\n", count: 13)
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
            #expect(refused.fields["x-refused"] == "/")
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

    @Test func `requests beyond those in flight get 503 unless they take no place, and the connection stays`()
        async throws
    {
        let latch = Latch()
        let responder = TestResponder { request in
            if request.head.target == "/always" { return .text("alive") }
            await latch.wait()
            return .text("done")
        }
        try await TestServer.with(responder) {
            $0.maxRequestsInFlight = 1
        } body: { server in
            let slow = try server.client()
            try await slow.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await latch.arrival()
            let other = try server.client()
            let refused = try await other.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(refused.status == 503)
            #expect(refused.fields["retry-after"] == "1" && refused.fields["x-refused"] == "/")
            #expect(refused.fields["x-client"] == "127.0.0.1")
            #expect(try await other.exchange("GET /always HTTP/1.1\r\nHost: a\r\n\r\n").text == "alive")
            latch.open()
            var rest: [UInt8] = []
            #expect(try await slow.response(rest: &rest).text == "done")
            var status = 503
            while status == 503 { status = try await other.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status }
            #expect(status == 200)
        }
    }
}

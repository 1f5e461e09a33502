import HTTPServing
import HTTPTypes
import Testing

@testable import MicroHTTPD

@Suite(.timeLimit(.minutes(2))) struct RequestTests {
    @Test func `a request is answered with the bytes of its body`() async throws {
        try await TestServer.with(.echo) { server in
            let response = try await server.client().exchange(
                "POST /a/%2F/../b?q=%20 HTTP/1.1\r\nHost: example:80\r\nX-One: 1 \r\nContent-Length: 5\r\n\r\nhello")
            #expect(response.status == 200)
            #expect(response.text == "POST /a/%2F/../b?q=%20 example:80|x-one=1|hello")
            #expect(response.fields["date"] != nil)
            #expect(response.fields["content-length"] == "47")
        }
    }

    @Test func `a request brings back what its head led to, whatever way its body takes`() async throws {
        let responder = TestResponder(
            plan: { $0.method == .put ? .stream(maxBytes: 10) : .collect(maxBytes: 1_000_000) },
            answer: { request in .text((request.context as? TestResponder.Target)?.text ?? "nothing") })
        try await TestServer.with(responder, { $0.maxGatheredBodyBytes = 100 }) { server in
            let client = try server.client()
            for (place, length) in [0, 1, 100].enumerated() {
                let body = String(repeating: "x", count: length)
                let response = try await client.exchange(
                    "POST /\(place) HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n\(body)")
                #expect(response.text == "/\(place)")
            }
            #expect(try await client.exchange("GET /last HTTP/1.1\r\nHost: a\r\n\r\n").text == "/last")
        }
        // The task starts before the body has arrived, and the answer ends the connection.
        for (target, line) in [("/long", "POST /long HTTP/1.1"), ("/streamed", "PUT /streamed HTTP/1.1")] {
            try await TestServer.with(responder, { $0.maxGatheredBodyBytes = 1 }) { server in
                let head = "\(line)\r\nHost: a\r\nContent-Length: 5\r\n\r\n"
                let client = try server.client()
                #expect(try await client.exchange(head).text == target)
            }
        }
    }

    @Test func `a connection serves many requests`() async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            for number in 0..<500 {
                let body = String(repeating: "x", count: number)
                let response = try await client.exchange(
                    "POST /\(number) HTTP/1.1\r\nHost: a\r\nContent-Length: \(number)\r\n\r\n\(body)")
                #expect(response.text == "POST /\(number) a|\(body)")
            }
        }
    }

    @Test func `pipelined requests are answered in order`() async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            let requests = (0..<100).map {
                "PUT /\($0) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n\($0 % 90 + 10)"
            }
            try await client.send(requests.joined())
            var rest: [UInt8] = []
            for number in 0..<100 {
                #expect(try await client.response(rest: &rest).text == "PUT /\(number) a|\(number % 90 + 10)")
            }
        }
    }

    @Test func `a head and a body that trickle in are one request`() async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            for byte in "POST /x HTTP/1.1\r\nHost: a\r\nX-A: b\r\nContent-Length: 3\r\n\r\nabc".utf8 {
                try await client.send([byte])
            }
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).text == "POST /x a|x-a=b|abc")
        }
    }

    @Test func `HEAD gets the head of GET and no body`() async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            try await client.send("HEAD /abc HTTP/1.1\r\nHost: a\r\n\r\nGET /abc HTTP/1.1\r\nHost: a\r\n\r\n")
            var rest: [UInt8] = []
            let head = try await client.response(rest: &rest, toHead: true)
            #expect(head.status == 200)
            #expect(head.fields["content-length"] == "12")
            #expect(try await client.response(rest: &rest).text == "GET /abc a|")
        }
    }

    @Test func `the responder's fields are sent, those of the server are its own`() async throws {
        let responder = TestResponder { _ in
            var head = ResponseHead(status: .created)
            head.headerFields[.contentType] = "text/x"
            head.headerFields[.contentLength] = "999"
            head.headerFields[.date] = "never"
            head.headerFields[.connection] = "close"
            head.headerFields[.transferEncoding] = "chunked"
            head.headerFields[.location] = "/a"
            return ServerResponse(head: head, body: .bytes(Array("ok".utf8)))
        }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            for _ in 0..<2 {
                let response = try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(response.status == 201)
                #expect(response.text == "ok")
                #expect(response.fields["content-type"] == "text/x")
                #expect(response.fields["location"] == "/a")
                #expect(response.fields["content-length"] == "2")
                #expect(response.fields["connection"] == nil)
                #expect(response.fields["transfer-encoding"] == nil)
                #expect(response.fields["date"] != "never")
            }
        }
    }

    @Test func `204 and 304 have no body`() async throws {
        let responder = TestResponder { request in
            guard request.head.target == "/304/stream" else {
                return .text("no", status: request.head.target == "/204" ? .noContent : .notModified)
            }
            let body = ResponseBody.stream(length: 7) { _ in Issue.record("the body is not due") }
            return ServerResponse(head: ResponseHead(status: .notModified), body: body)
        }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            for target in ["/304/stream", "/204", "/304"] {
                try await client.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            }
            var rest: [UInt8] = []
            let streamed = try await client.response(rest: &rest)
            #expect(streamed.status == 304 && streamed.fields["content-length"] == "7")
            let empty = try await client.response(rest: &rest)
            #expect(empty.status == 204 && empty.fields["content-length"] == nil)
            let unchanged = try await client.response(rest: &rest)
            #expect(unchanged.status == 304 && unchanged.fields["content-length"] == "2")
            #expect(rest.isEmpty)
        }
    }

    /// These answers go directly to the socket.
    @Test(
        arguments: [
            ("HEAD /200", "2"), ("HEAD /204", nil), ("HEAD /304", "2"), ("PUT /204", nil), ("PUT /304", "2"),
        ] as [(String, String?)])
    func `an answer before the end of the request has no body where none is due`(line: String, length: String?)
        async throws
    {
        let responder = TestResponder { _ in
            .stream(maxBytes: 10)
        } answer: { request in
            .text("no", status: HTTPResponse.Status(code: Int(request.head.target.dropFirst()) ?? 500))
        }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            try await client.send("\(line) HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
            var rest: [UInt8] = []
            let answer = try await client.response(rest: &rest, toHead: true)
            #expect(line.hasSuffix("/\(answer.status)") && answer.fields["content-length"] == length)
            #expect(answer.fields["connection"] == "close")
            #expect(try await (rest + client.receiveAll()).isEmpty)
        }
    }

    @Test func `the responder learns the client's address`() async throws {
        let responder = TestResponder { .text($0.remoteAddress) }
        for address in ["127.0.0.1", "0.0.0.0", "::"] {
            try await TestServer.with(responder) {
                $0.address = address
            } body: { server in
                let response = try await server.client().exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(response.text == "127.0.0.1")
            }
        }
    }

    @Test func `a large answer arrives whole`() async throws {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let responder = TestResponder { _ in ServerResponse(head: ResponseHead(status: .ok), body: .bytes(bytes)) }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            let response = try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(response.body == bytes)
        }
    }

    @Test func `an address that is none, or taken, is an error at once`() async throws {
        try await TestServer.with(.echo) { server in
            #expect(throws: HTTPServerError.invalidAddress("localhost")) {
                try TestServer.make(.echo) { $0.address = "localhost" }
            }
            let error = #expect(throws: HTTPServerError.self) {
                try TestServer.make(.echo) { $0.port = server.port }
            }
            #expect(error?.description.contains("port \(server.port): Address already in use") == true)
        }
    }
}

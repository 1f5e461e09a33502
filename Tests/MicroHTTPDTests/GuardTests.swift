import HTTPServing
import HTTPTypes
import MicroHTTPD
import Testing

/// Requests that two readers could interpret differently.
@Suite(.timeLimit(.minutes(2))) struct GuardTests {
    private static let ambiguous: [(String, String)] = [
        (
            "Content-Length with Transfer-Encoding",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        (
            "Transfer-Encoding with Content-Length",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
        ),
        (
            "two equal Content-Length",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"
        ),
        (
            "two different Content-Length",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"
        ),
        ("a list as length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello"),
        ("a negative length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
        ("a hexadecimal length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello"),
        ("an empty length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"),
        (
            "a length beyond all numbers",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n"
        ),
        ("a space before the colon", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello"),
        ("a tab before the colon", "GET / HTTP/1.1\r\nHost: a\r\nX-A\t: 5\r\n\r\n"),
        ("a folded line", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n"),
        (
            "a folded line that spells Transfer-Encoding",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"
        ),
        ("a folded last line", "GET / HTTP/1.1\r\nHost: a\r\n\tb\r\n\r\n"),
        (
            "a name that only begins with Transfer-Encoding",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encodingchunked: x\r\n\r\n"
        ),
        (
            "a coding other than chunked",
            "POST /stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
        ),
        (
            "a space after the coding",
            "POST /stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \r\n\r\n0\r\n\r\n"
        ),
        (
            "a tab after the coding",
            "POST /stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n"
        ),
        (
            "two Transfer-Encoding",
            "POST /stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        (
            "chunked where the body is collected",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        ("two Host", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
        ("no Host", "GET / HTTP/1.1\r\nX-A: b\r\n\r\n"),
        ("no field at all", "GET / HTTP/1.1\r\n\r\n"),
        ("an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        ("a list as Host", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
        ("a path in Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        ("HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\n\r\n"),
        ("HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
        (
            "two Authorization",
            "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nAuthorization: Bearer y\r\n\r\n"
        ),
        ("a name that is no token", "GET / HTTP/1.1\r\nHost: a\r\nX(A): b\r\n\r\n"),
        ("an empty name", "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"),
        ("a name beyond ASCII", "GET / HTTP/1.1\r\nHost: a\r\nX-é: b\r\n\r\n"),
        ("a control character in a value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\u{1}c\r\n\r\n"),
        ("a bare CR in a value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\rX-B: c\r\n\r\n"),
        ("a NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\u{0}c\r\nX-B: d\r\n\r\n"),
        ("a NUL in the last value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\u{0}c\r\n\r\n"),
        ("a NUL in the target", "GET /a\u{0}b HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        ("a bare LF between fields", "GET / HTTP/1.1\r\nHost: a\nX-A: b\r\n\r\n"),
        ("a bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n"),
        ("two spaces in the request line", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a target in absolute form", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a target without a slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a target beyond ASCII", "GET /é HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("a method that is no token", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]

    private static let responder = TestResponder { request in
        request.target == "/stream" ? .stream(maxBytes: 1_000) : .collect(maxBytes: 1_000)
    } answer: { _ in
        .text("taken")
    }

    @Test(arguments: ambiguous)
    func `is refused with 400 and the connection ends`(what: String, request: String) async throws {
        try await TestServer.with(Self.responder) { server in
            let client = try server.client()
            // A request that an attacker hides behind this one must not be answered.
            try await client.send(request + "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n")
            var rest: [UInt8] = []
            let response = try await client.response(rest: &rest)
            #expect(response.status == 400, "\(what)")
            #expect(response.text.hasPrefix("refused: badRequest"), "\(what)")
            #expect(response.fields["connection"] == "close", "\(what)")
            #expect(try await (rest + client.receiveAll()).isEmpty, "\(what)")
        }
    }

    @Test(arguments: [
        "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n",
        // libmicrohttpd accepts these.
        "5\nhello\n0\n\n", "5;a\nhello\r\n0\r\n\r\n",
    ])
    func `nothing follows a chunked body`(body: String) async throws {
        let responder = TestResponder { _ in
            .stream(maxBytes: 1_000)
        } answer: { request in
            guard case .stream(let chunks) = request.body else { return .text("collected") }
            do { for try await _ in chunks {} } catch { return .text("broken") }
            return .text("taken")
        }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            let head = "POST /stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            try await client.send(head + body + "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2, "\(answer)")
        }
    }

    /// libmicrohttpd refuses these by itself, before the guard sees them.
    @Test(
        arguments: [
            ("GET /\r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", 400),
            ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400),
        ] + OwnRefusalTests.requests.map { ($0.request, $0.status) })
    func `nonsense is refused once, in the form of all refusals, and the connection ends`(request: String, status: Int)
        async throws
    {
        try await TestServer.with(Self.responder) { server in
            let client = try server.client()
            try await client.send(request)
            let answer = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
            #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2)
            #expect(answer.components(separatedBy: "\r\n\r\n").last?.hasPrefix("refused: ") == true)
            #expect(!answer.contains("taken"))
        }
    }

    private static let fields = "HTTP/1.1\r\nHost: a\r\nOrigin: https://b\r\n"
    /// Each request, the status of its refusal, and what the service learns of its head.
    private static let readInPart: [(request: String, status: Int, known: String?)] = [
        // The guard refuses these.
        ("GET /\(longer(than: 100)) \(fields)\r\n", 414, "/aaaaaaaaaaaaaaaaaaa from https://b"),
        ("GET /b \(fields)X: \(longer(than: 4_000))\r\n\r\n", 431, "/b from https://b"),
        ("GET /b \(fields)Host: c\r\n\r\n", 400, "/b from https://b"),
        ("GET /b HTTP/1.1\r\nHost: a\r\nHost: c\r\n\r\n", 400, "/b from nowhere"),
        ("GET b \(fields)\r\n", 400, nil),
        // libmicrohttpd refuses these by itself. It has a field only once it has read the next line.
        ("GET /b \(fields)nonsense\r\n\r\n", 400, "/b from https://b"),
        ("POST /b \(fields)Content-Length: 0x5\r\n\r\n", 400, "/b from https://b"),
        ("GET /b \(fields)X: c\r\nY: \(longer(than: 16_384))", 431, "/b from https://b"),
        ("GET /\(longer(than: 16_384))", 414, nil),
    ]

    private static func longer(than length: Int) -> String { String(repeating: "a", count: length + 1) }

    @Test(arguments: readInPart)
    func `the service learns what could be read of a head that is refused`(
        request: String, status: Int, known: String?
    ) async throws {
        try await TestServer.with(Self.responder) {
            $0.maxTargetBytes = 100
            $0.maxHeadBytes = 4_096
        } body: { server in
            let client = try server.client()
            try await client.send(request)
            var rest: [UInt8] = []
            let response = try await client.response(rest: &rest)
            #expect(response.status == status)
            #expect(response.fields["x-head"] == known)
            #expect(response.text.hasPrefix("refused: "))
        }
    }

    @Test func `a malformed length is answered on its own connection, also where others are amid their heads`()
        async throws
    {
        try await TestServer.with(Self.responder) {
            $0.threads = 1
        } body: { server in
            let waiting = try server.client()
            try await waiting.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n")
            let wrong = try server.client()
            try await wrong.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Le")
            #expect(try await server.client().exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "taken")
            let refused = try await wrong.exchange("ngth: 0x5\r\n\r\n")
            #expect(refused.status == 400)
            #expect(try await wrong.isClosed())
            #expect(try await waiting.exchange("\r\nhello").text == "taken")
        }
    }

    @Test func `a line that is no request at all closes the connection`() async throws {
        try await TestServer.with(Self.responder) { server in
            let client = try server.client()
            try await client.send("hello\r\n\r\n")
            #expect(try await client.receiveAll().isEmpty)
        }
    }

    @Test(arguments: ["/%00", "/a%2Fb", "/a/../b", "/a/./b//c", "/%2e%2e/x?y=%00&z", "/a%zz"])
    func `the target reaches the responder as it was sent`(target: String) async throws {
        try await TestServer.with(.echo) { server in
            let response = try await server.client().exchange("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(response.text == "GET \(target) a|")
        }
    }

    @Test func `values keep their bytes and lose the spaces around them`() async throws {
        try await TestServer.with(.echo) { server in
            let response = try await server.client().exchange(
                "GET / HTTP/1.1\r\nHOST: a\r\nx-a:\t b  c\t \r\nX-B:\r\nX-C: é\r\nX-A: again\r\n\r\n")
            #expect(response.text == "GET / a|x-a=b  c|x-b=|x-c=é|x-a=again|")
        }
    }

    @Test func `a value that is not UTF-8 is refused`() async throws {
        try await TestServer.with(.echo) { server in
            let client = try server.client()
            try await client.send(Array("GET / HTTP/1.1\r\nHost: a\r\nX-A: ".utf8) + [0xFF] + Array("\r\n\r\n".utf8))
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).status == 400)
        }
    }
}

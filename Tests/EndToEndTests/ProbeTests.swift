import Foundation
import HTTPTesting
import TestSupport
import Testing

/// Hostile bytes at the running program. Each input gets the documented answer, and afterwards everything is as before.
@Suite(.deployment) struct ProbeTests {
    /// The bytes to send, and the expected answer.
    struct Probe: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let request: String
        let status: Int
        /// The code of the problem; `nil` where there is none.
        var code: String?

        /// A request without a body, given by its request line and further header lines.
        static func head(
            _ line: String, _ status: Int, _ code: String?, headers: String = "", _ description: String? = nil
        ) -> Probe {
            Probe(
                testDescription: description ?? line, request: "\(line) HTTP/1.1\r\nHost: a\r\n\(headers)\r\n",
                status: status, code: code)
        }

        /// A request in which only the header section is wrong.
        static func headers(_ lines: String, body: String = "", _ description: String) -> Probe {
            Probe(
                testDescription: description,
                request: "POST /v1/presigned-urls HTTP/1.1\r\n\(lines.replacing("\n", with: "\r\n"))\r\n\r\n\(body)",
                status: 400, code: "MalformedRequest")
        }
    }

    static let smuggling: [Probe] = [
        .headers("Host: a\nContent-Length: 5\nTransfer-Encoding: chunked", body: "0\r\n\r\n", "CL.TE"),
        .headers("Host: a\nTransfer-Encoding: chunked\nContent-Length: 5", body: "0\r\n\r\n", "TE.CL"),
        .headers("Host: a\nTransfer-Encoding: chunked", body: "0\r\n\r\n", "chunks where a body is collected"),
        .headers("Host: a\nTransfer-Encoding: chunked\nTransfer-Encoding: identity", body: "0\r\n\r\n", "TE.TE"),
        .headers("Host: a\nTransfer-Encoding: xchunked", body: "0\r\n\r\n", "another coding"),
        .headers("Host: a\nTransfer-Encoding:\n chunked", body: "0\r\n\r\n", "a coding on a folded line"),
        .headers("Host: a\nContent-Length: 2\nContent-Length: 2", body: "{}", "the same length twice"),
        .headers("Host: a\nContent-Length: 2\nContent-Length: 3", body: "{} ", "two lengths"),
        .headers("Host: a\nContent-Length : 2", body: "{}", "a space before the colon"),
        .headers("Host: a\nHost: b", "two hosts"),
        .headers("X-A: b", "no host"),
        .headers("Host: a/b", "a path as host"),
        .headers("Host: a\nAuthorization: Bearer a\nAuthorization: Bearer b", "two tokens"),
        .headers("Host: a\nX-A: b\n c", "a folded line"),
        .headers("Host: a\nX-A: b\u{0}c", "a NUL in a value"),
        .headers("Host: a\nX-A: b\u{1}c", "a control character in a value"),
        .headers("Host: a\nX(A): b", "a name that is no token"),
        .headers("Host: a\n: b", "an empty name"),
        Probe(
            testDescription: "HTTP/1.0", request: "GET /healthz HTTP/1.0\r\nHost: a\r\n\r\n", status: 400,
            code: "MalformedRequest"),
        Probe(
            testDescription: "a bare LF", request: "GET /healthz HTTP/1.1\nHost: a\r\n\r\n", status: 400,
            code: "MalformedRequest"),
        Probe(
            testDescription: "an absolute target", request: "GET http://a/healthz HTTP/1.1\r\nHost: a\r\n\r\n",
            status: 400, code: "MalformedRequest"),
        Probe(
            testDescription: "a length that is no number",
            request: "POST /v1/presigned-urls HTTP/1.1\r\nHost: a\r\nContent-Length: 0x2\r\n\r\n{}", status: 400,
            code: "MalformedRequest"),
        Probe(
            testDescription: "no version", request: "GET /healthz\r\nHost: a\r\n\r\n", status: 400,
            code: "MalformedRequest"),
        Probe(
            testDescription: "HTTP/2.0", request: "GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n", status: 400,
            code: "MalformedRequest"),
    ]

    @Test(arguments: smuggling)
    func `what two readers could take for different requests is refused and the connection ends`(
        probe: Probe
    ) async throws {
        let site = try Deployment.current
        let port = site.gateways[0].port
        let (answer, rest) = try await withConnection(to: port) { connection in
            try connection.send(probe.request + "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = try connection.response()
            var rest: [UInt8] = []
            while case let more = try connection.receive(), !more.isEmpty { rest += more }
            return (answer, rest)
        }
        #expect(answer.status == probe.status)
        #expect(answer["Connection"] == "close")
        if let code = probe.code {
            #expect(Answer(answer).code == code, "\(answer.text)")
            #expect(rest.isEmpty)
        }
        let hidden = String(decoding: answer.body + rest, as: UTF8.self)
        #expect(!hidden.contains("200 OK"), "what stands behind the request must not be answered")
        try await expectHealthy(site)
    }

    static let targets: [Probe] = [
        .head("GET /v1/access%00", 400, "MalformedRequest"),
        .head("GET /v1/access?x=%00", 400, "MalformedRequest"),
        .head("GET /v1/access%0d%0aX-A:%20b", 400, "MalformedRequest"),
        .head("GET /v1/access%", 400, "MalformedRequest"),
        .head("GET /v1/access%zz", 400, "MalformedRequest"),
        .head("GET /v1/access%ff", 400, "MalformedRequest"),
        .head("GET /v1%2Faccess", 404, "NoSuchRoute"),
        .head("GET /v1%2faccess", 404, "NoSuchRoute"),
        .head("GET /v1/./access", 404, "NoSuchRoute"),
        .head("GET /v1/../v1/access", 404, "NoSuchRoute"),
        .head("GET /v1/%2e%2e/v1/access", 404, "NoSuchRoute"),
        .head("GET //v1/access", 404, "NoSuchRoute"),
        .head("GET /v1//access", 404, "NoSuchRoute"),
        .head("GET /v1/access/", 404, "NoSuchRoute"),
        .head("GET /V1/access", 404, "NoSuchRoute"),
        .head("GET /v1/access;x=y", 404, "NoSuchRoute"),
        .head("GET /healthz/../admin/v1/grants", 404, "NoSuchRoute"),
        .head("GET /v1/%61ccess", 401, "Unauthenticated"),
        .head("GET /admin/v1/grants", 401, "Unauthenticated"),
        .head("GET /v1/access", 401, "Unauthenticated", headers: "Authorization: Basic YTpi\r\n", "basic"),
        .head("GET /v1/access", 401, "Unauthenticated", headers: "Authorization: Bearer\r\n", "no token"),
        .head("GET /v1/access", 401, "Unauthenticated", headers: "Authorization: Bearer a b\r\n", "two words"),
        .head("DELETE /v1/access", 405, "MethodNotAllowed"),
        .head("TRACE /healthz", 405, "MethodNotAllowed"),
        .head("GET /healthz", 417, "ExpectationFailed", headers: "Expect: miracles\r\n", "an expectation"),
        .head("GET /\(String(repeating: "a", count: 9000))", 414, "TargetTooLong", "a long target"),
        .head("GET /healthz", 431, nil, headers: "X-A: \(String(repeating: "a", count: 20_000))\r\n", "long headers"),
        .head("GET /healthz", 431, nil, headers: String(repeating: "X-A: b\r\n", count: 200), "many headers"),
    ]

    @Test(arguments: targets)
    func `a target is read in one way only, and an odd head is answered by what is odd`(probe: Probe) async throws {
        let site = try Deployment.current
        let answer = try await withConnection(to: site.gateways[0].port) { connection in
            try connection.send(probe.request)
            return try connection.response()
        }
        #expect(answer.status == probe.status, "\(answer.text)")
        if let code = probe.code { #expect(Answer(answer).code == code) }
        if answer.status == 405 { #expect(answer["Allow"] != nil) }
        try await expectHealthy(site)
    }

    static let bodies: [(body: String, status: Int, field: String?)] = [
        ("", 400, nil), ("{", 400, nil), ("[]", 400, nil), ("null", 400, nil), (#"{"a":1}x"#, 400, nil),
        (#"{"action":"GetObject","action":"PutObject","bucket":"probe","key":"k"}"#, 400, nil),
        (#"{"action":"GetObject","bucket":"probe","key":"k","more":1}"#, 400, "more"),
        (#"{"action":"GetObject","bucket":"probe"}"#, 400, "key"),
        (#"{"action":"GetObject","bucket":"probe","key":7}"#, 400, "key"),
        (#"{"action":"CopyObject","bucket":"probe","key":"k"}"#, 400, "action"),
        (#"{"action":"GetObject","bucket":"probe","key":"k","expiresIn":1e99}"#, 400, "expiresIn"),
        (#"{"action":"GetObject","bucket":"probe","key":"k","expiresIn":0}"#, 400, "expiresIn"),
        (#"{"action":"GetObject","bucket":"../probe","key":"k"}"#, 400, "bucket"),
        (String(repeating: "[", count: 10_000), 400, nil),
        (#"{"key":"\ud800"}"#, 400, nil),
        ("{\"key\":\"\u{1}\"}", 400, nil),
        (#"{"key":""# + String(repeating: "a", count: 70_000) + #""}"#, 413, nil),
    ]

    @Test(arguments: bodies)
    func `a body that is not what the contract describes is refused by name`(
        body: String, status: Int, field: String?
    ) async throws {
        let site = try Deployment.current
        let user = try await site.makeUser("prober-\(UUID().uuidString)")
        let head = [
            (name: "Host", value: "a"), (name: "Authorization", value: "Bearer \(user.client.token)"),
            (name: "Content-Type", value: "application/json"), (name: "Content-Length", value: "\(body.utf8.count)"),
        ]
        let request = RawRequest("POST", "/v1/presigned-urls", headers: head, body: Array(body.utf8))
        let answer = Answer(try await request.answer(fromPort: user.client.port))
        #expect(answer.status == status, "\(answer.text)")
        if let field { #expect(answer.json["field"].text == field) }
        try await expectHealthy(site)
    }

    static let keys: [(key: String, status: Int)] = [
        ("", 400), ("/k", 400), ("\\k", 400), ("a//b", 400), ("a/./b", 400), ("a/../b", 400), ("..", 400), (".", 400),
        ("a/", 400), ("a\u{0}b", 400), ("a\nb", 400), ("a\u{7F}b", 400), ("a${sub}b", 400), ("%00", 201),
        ("a%2Fb", 201),
        ("a%2F..%2Fb", 400), ("%2e%2e", 400), ("...", 400), ("..;/b", 400), ("a\\..\\b", 400), (".. ", 400),
        ("a?b", 201), ("a#b", 201), ("a;b", 201), (".a", 201), ("a\\b", 201),
        (String(repeating: "k", count: 1024), 400),
    ]

    @Test func `a key that a client or a store may rewrite is refused, any other one is signed as it is`() async throws
    {
        let site = try Deployment.current
        try await site.makeBucket("probe-keys")
        let user = try await site.makeUser("keys")
        try await site.grant(["GetObject"], to: user.principal, in: "probe-keys")
        for (key, status) in Self.keys {
            let answer = try await user.ask(.download(key, from: "probe-keys"))
            #expect(answer.status == status, "\(key.debugDescription): \(answer.text)")
            if status == 400 {
                // No text in any body may contain NUL.
                let field = key.utf8.contains(0) ? "body" : "key"
                #expect(answer.json["field"].text == field, "\(key.debugDescription)")
            } else {
                let path = try #require(answer.json["url"].text).dropFirst("https://store.example/probe-keys/".count)
                #expect(path.prefix { $0 != "?" }.removingPercentEncoding == key)
            }
        }
    }

    @Test func `another type than JSON is refused`() async throws {
        let site = try Deployment.current
        let user = try await site.makeUser("typist")
        var request = try user.client.request("POST", "/v1/presigned-urls", [:])
        request.headers = request.headers.map { $0.name == "Content-Type" ? (name: $0.name, value: "text/plain") : $0 }
        #expect(try await request.answer(fromPort: user.client.port).status == 415)
    }

    @Test func `clients that stall, hang up or send rubbish hold nobody up`() async throws {
        let site = try Deployment.current
        let port = site.gateways[0].port
        let stalling = Flag()
        let halves = [
            "", "GET", "GET /healthz HTTP/1.1\r\nHost: a\r\nX-",
            "POST /v1/presigned-urls HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{",
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await onThreads(100) { index in
                    let connection = try RawConnection(port: port)
                    try connection.send(halves[index % halves.count])
                    while !stalling.isRaised { Thread.sleep(forTimeInterval: 0.01) }
                }
            }
            defer { stalling.raise() }
            for round in 0..<100 {
                try await withConnection(to: port) { connection in
                    try connection.send((0..<(round * 7)).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ round) })
                }
                try await expectHealthy(site)
            }
        }
        try await expectHealthy(site)
    }

    @Test func `a request that does not arrive in the time set for it gets 408`() async throws {
        let site = try Deployment.current
        let gateway = try await site.startGateway(["SLUICE_HTTP_REQUEST_TIMEOUT": "1", "SLUICE_HTTP_IDLE_TIMEOUT": "2"])
        let post = "POST /v1/presigned-urls HTTP/1.1\r\nHost: a\r\n"
        for part in [post, post + "X-A: b", post + "Content-Length: 10\r\n\r\n{"] {
            let answer = try await withConnection(to: gateway.port) { connection in
                try connection.send(part)
                return try connection.response()
            }
            #expect(answer.status == 408)
            #expect(Answer(answer).code == "RequestTimeout")
            #expect(answer["Connection"] == "close")
        }
        let rest = try await withConnection(to: gateway.port) { connection in
            try connection.send("POST /v1/pre")
            return try connection.receive()
        }
        #expect(rest.isEmpty, "without a first line there is no request to answer")
        await site.end(gateway) { #expect(await gateway.terminate() == 0) }
    }

    private func expectHealthy(_ site: Deployment) async throws {
        let answer = try await site.client().call("GET", "/readyz")
        guard answer.status != 200 else { return }
        // A change of policy by another test holds up recordings for moments, and so does a busy machine.
        try await waitUntil("the gateway is ready, which was not: \(answer.text)", seconds: 5) {
            try await site.client().call("GET", "/readyz").status == 200
        }
    }
}

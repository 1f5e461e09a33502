import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import InMemoryLogging
import PrometheusMetrics
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("Headers, logs and metrics of every answer")
struct EdgeTests {
    private let upload =
        #"{"action":"PutObject","bucket":"photos","key":"uploads/s3cr3t-name.png","contentType":"image/png"}"#

    @Test("a path that does not exist is 404, another method 405 with Allow, OPTIONS 204, a target that is none 400")
    func paths() async {
        let gateway = TestGateway()
        #expect(await gateway.send(.get, "/nosuch").string("code") == "NoSuchRoute")
        let wrong = await gateway.send(.put, "/v1/access")
        #expect(wrong.status == 405)
        #expect(wrong.headers[.allow] == "GET, HEAD, OPTIONS")
        let options = await gateway.send(.options, "/admin/v1/grants")
        #expect(options.status == 204)
        #expect(options.headers[.allow] == "POST, GET, HEAD, OPTIONS")
        for target in ["*", "/%zz", "/%00", "/v1/access%ff", "http://x/v1/access"] {
            let answer = await gateway.send(.get, target)
            #expect(answer.status == 400 && answer.string("code") == "MalformedRequest", "\(target)")
        }
        #expect(await gateway.send(.head, "/healthz").status == 200)
        #expect(await gateway.send(.head, "/v1/presigned-urls").status == 405)
    }

    @Test("an encoded slash is data of its segment")
    func encodedSlash() async {
        let gateway = TestGateway()
        let created = await gateway.send(
            .post, "/admin/v1/groups/group:a%2Fb/members", token: "admin-token", json: #"{"member":"user:x/y z"}"#)
        #expect(created.string("group") == "group:a/b")
        #expect(created.headers[.location] == "/admin/v1/groups/group:a%2Fb/members/user:x%2Fy%20z")
        let read = await gateway.send(.get, created.headers[.location] ?? "", token: "admin-token")
        #expect(read.string("member") == "user:x/y z")
        #expect(await gateway.send(.get, "/admin/v1/groups/group:a/b/members", token: "admin-token").status == 404)
    }

    @Test("no answer has a header field that is not meant to leave")
    func allowList() async {
        let allowed: Set<String> = [
            "content-type", "cache-control", "x-request-id", "ratelimit", "ratelimit-policy", "location", "allow",
            "www-authenticate", "retry-after", "etag", "vary", "access-control-allow-origin",
            "access-control-expose-headers",
        ]
        let gateway = TestGateway(APISettings(allowedOrigins: ["https://app.example"]))
        let sent: [(HTTPRequest.Method, String, String?)] = [
            (.post, "/v1/presigned-urls", upload), (.get, "/v1/access", nil), (.get, "/healthz", nil),
            (.get, "/metrics", nil), (.get, "/nosuch", nil), (.put, "/v1/access", nil), (.get, "/admin/v1/grants", nil),
            (.post, "/admin/v1/groups/group:g/members", #"{"member":"user:a"}"#),
        ]
        for token in [nil, "admin-token"] {
            for (method, path, json) in sent {
                let answer = await gateway.send(
                    method, path, token: token, headers: [.origin: "https://app.example"], json: json)
                let names = Set(answer.headers.map { $0.name.canonicalName })
                #expect(names.isSubset(of: allowed), "\(path): \(names.subtracting(allowed))")
                #expect(names.contains("x-request-id") && names.contains("cache-control") || answer.status == 204)
            }
        }
    }

    @Test("request ids are UUIDs of version 7, or what a trusted proxy sent, if it is fit for a log")
    func requestIDs() async throws {
        let network = try #require(IPNetwork("10.0.0.0/8"))
        let gateway = TestGateway(APISettings(trustedProxies: TrustedProxies(networks: [network])))
        let sent: HeaderFields = [.requestID: "trace-0123456789"]
        #expect(
            await gateway.send(.get, "/healthz", headers: sent, from: "10.1.2.3").headers[.requestID]
                == "trace-0123456789")
        for (id, peer) in [("trace-0123456789", "192.0.2.1"), ("short", "10.1.2.3"), ("a b c d e f g h", "10.1.2.3")] {
            let answer = await gateway.send(.get, "/healthz", headers: [.requestID: id], from: peer)
            let made = try #require(answer.headers[.requestID].flatMap { UUID(uuidString: $0) })
            #expect(made.uuid.6 >> 4 == 7)
        }
    }

    @Test("browsers of configured origins may call the routes of app users, and only these")
    func crossOrigin() async {
        let gateway = TestGateway(APISettings(allowedOrigins: ["https://app.example"]))
        let preflight: HeaderFields = [.origin: "https://app.example", .accessControlRequestMethod: "POST"]
        let answer = await gateway.send(.options, "/v1/presigned-urls", headers: preflight)
        #expect(answer.status == 204)
        #expect(answer.headers[.accessControlAllowOrigin] == "https://app.example")
        #expect(answer.headers[.accessControlAllowMethods] == "POST, OPTIONS")
        #expect(
            answer.headers[.accessControlAllowHeaders]
                == "Authorization, Content-Type, Idempotency-Key, If-Match, traceparent, tracestate")
        #expect(answer.headers[.accessControlAllowCredentials] == nil)
        #expect(answer.headers[.vary] == "Origin")
        let refused = await gateway.send(.get, "/v1/access", headers: [.origin: "https://app.example"])
        #expect(refused.status == 401)
        #expect(refused.headers[.accessControlAllowOrigin] == "https://app.example")
        #expect(refused.headers[.accessControlExposeHeaders]?.contains("RateLimit") == true)
        for origin in ["https://evil.example", "null", "https://app.example.evil", "http://app.example"] {
            let other = await gateway.send(
                .options, "/v1/access", headers: [.origin: origin, .accessControlRequestMethod: "GET"])
            #expect(other.headers[.accessControlAllowOrigin] == nil, "\(origin)")
            #expect(other.headers[.vary] == "Origin")
        }
        let admin = await gateway.send(.options, "/admin/v1/grants", headers: preflight)
        #expect(admin.headers[.accessControlAllowOrigin] == nil)
        let closed = await TestGateway().send(.options, "/v1/access", headers: preflight)
        #expect(closed.headers[.accessControlAllowOrigin] == nil && closed.headers[.vary] == nil)
        let open = await TestGateway(APISettings(allowedOrigins: ["*"])).send(
            .options, "/v1/access", headers: preflight)
        #expect(open.headers[.accessControlAllowOrigin] == "*")
        // What a cache keeps of a request without an origin may answer one that has one.
        let plain = await TestGateway(APISettings(allowedOrigins: ["*"])).send(.get, "/v1/access")
        #expect(plain.headers[.accessControlAllowOrigin] == "*" && plain.headers[.vary] == nil)
        let listed = await gateway.send(.get, "/v1/access")
        #expect(listed.headers[.accessControlAllowOrigin] == nil && listed.headers[.vary] == "Origin")
    }

    /// What the server itself answers to a request, without a task.
    private func refusal(
        _ failure: ServerFailure, _ gateway: TestGateway, _ method: HTTPRequest.Method, _ target: String,
        _ fields: HeaderFields, from remoteAddress: String = "192.0.2.7"
    ) -> TestAnswer {
        let head = RequestHead(method: method, target: target, headerFields: fields)
        let request = RefusedRequest(
            head: head, remoteAddress: remoteAddress, context: gateway.responder.begin(head).context)
        return TestAnswer(gateway.responder.response(to: failure, of: request))
    }

    @Test func `a page of an allowed origin reads why the server itself refused its request`() {
        let gateway = TestGateway(APISettings(allowedOrigins: ["https://app.example"]))
        let busy = ServerFailure.unavailable(retryAfter: 3, lacking: .requests)
        for (failure, code) in [(busy, "SlowDown"), (.contentTooLarge(maxBytes: 9), "RequestTooLarge")] {
            let answer = refusal(failure, gateway, .post, "/v1/presigned-urls", [.origin: "https://app.example"])
            #expect(answer.status == failure.status.code && answer.string("code") == code)
            #expect(answer.headers[.accessControlAllowOrigin] == "https://app.example")
            #expect(answer.headers[.accessControlExposeHeaders]?.contains("Retry-After") == true)
            #expect(answer.headers[.vary] == "Origin")
        }
        let other = refusal(busy, gateway, .post, "/v1/presigned-urls", [.origin: "https://evil.example"])
        #expect(other.status == 503 && other.headers[.accessControlAllowOrigin] == nil)
        let admin = refusal(busy, gateway, .post, "/admin/v1/grants", [.origin: "https://app.example"])
        #expect(admin.status == 503 && admin.headers[.accessControlAllowOrigin] == nil)
        // The browser asks first, and tells the page nothing of a refusal of that.
        let preflight: HeaderFields = [.origin: "https://app.example", .accessControlRequestMethod: "POST"]
        let asked = refusal(busy, gateway, .options, "/v1/presigned-urls", preflight)
        #expect(asked.status == 204 && asked.headers[.accessControlAllowMethods] == "POST, OPTIONS")
        #expect(asked.headers[.requestID] != nil)
        let long = ServerFailure.contentTooLarge(maxBytes: 0)
        #expect(refusal(long, gateway, .options, "/v1/presigned-urls", preflight).status == 413)
        #expect(refusal(busy, gateway, .options, "/nosuch", preflight).status == 503)
    }

    @Test func `a page of an allowed origin reads why the server refused its head`() {
        let gateway = TestGateway(APISettings(allowedOrigins: ["https://app.example"]))
        let failures: [ServerFailure] = [.headerFieldsTooLarge(maxBytes: 9), .uriTooLong, .badRequest("Malformed.")]
        func refusal(_ failure: ServerFailure, _ target: String, _ origin: String?) -> TestAnswer {
            TestAnswer(gateway.responder.response(to: failure, of: RefusedHead(target: target, origin: origin)))
        }
        let query = "?a=" + String(repeating: "b", count: 9_000)
        for failure in failures {
            for target in ["/v1/access", "/v1/access" + query, "/v1/issuances/a:confirm"] {
                let answer = refusal(failure, target, "https://app.example")
                #expect(answer.status == failure.status.code && answer.string("code") != nil)
                #expect(answer.headers[.accessControlAllowOrigin] == "https://app.example", "\(target.prefix(30))")
                #expect(answer.headers[.accessControlExposeHeaders]?.contains("X-Request-Id") == true)
                #expect(answer.headers[.vary] == "Origin" && answer.headers[.requestID] != nil)
            }
            for origin in ["https://evil.example", nil] {
                let other = refusal(failure, "/v1/access", origin)
                #expect(other.headers[.accessControlAllowOrigin] == nil && other.headers[.vary] == "Origin")
            }
            for target in ["/admin/v1/grants", "/nosuch", "/v1/access?a=%zz", "*"] {
                let other = refusal(failure, target, "https://app.example")
                #expect(other.status == failure.status.code, "\(target)")
                #expect(other.headers[.accessControlAllowOrigin] == nil && other.headers[.vary] == nil, "\(target)")
            }
        }
        let open = TestGateway(APISettings(allowedOrigins: ["*"]))
        let answer = TestAnswer(open.responder.response(to: .uriTooLong, of: RefusedHead(target: "/v1/access")))
        #expect(answer.status == 414 && answer.headers[.accessControlAllowOrigin] == "*")
    }

    @Test func `a refused head is answered in the form of the path to which it leads`() {
        let gateway = TestGateway()
        let failure = ServerFailure.badRequest("There must be at most one Authorization field.")
        for route in gateway.responder.router.routes {
            let target = route.template.replacing(/\{[^}]*\}/, with: "a")
            let answer = TestAnswer(gateway.responder.response(to: failure, of: RefusedHead(target: target)))
            let (problem, id) = (Problem(failure), answer.headers[.requestID] ?? "")
            // The method is not known, so all routes of a path have one form.
            let form = TestAnswer(route.refusalForm?(problem, id) ?? problem.response(requestID: id))
            // One that answers everything with 200 would say that all is well.
            let expected = form.status < 400 ? TestAnswer(problem.response(requestID: id)) : form
            #expect(answer.status == expected.status && answer.text == expected.text, "\(route.method) \(target)")
            #expect(answer.headers[.contentType] == expected.headers[.contentType])
        }
        let lfs = TestAnswer(
            gateway.responder.response(to: failure, of: RefusedHead(target: "/lfs/photos/a/objects/verify?issuance=b")))
        #expect(lfs.status == 400 && lfs.string("message") == "There must be at most one Authorization field.")
    }

    @Test func `a request that the server itself refuses has the id and the client that a trusted proxy tells`() throws
    {
        let network = try #require(IPNetwork("10.0.0.0/8"))
        let gateway = TestGateway(APISettings(trustedProxies: TrustedProxies(networks: [network])))
        let sent: HeaderFields = [.requestID: "trace-0123456789", .forwardedFor: "198.51.100.3"]
        let failures: [ServerFailure] = [
            .contentTooLarge(maxBytes: 9), .badRequest("This route does not accept a chunked body."), .requestTimeout,
            .unavailable(retryAfter: 1, lacking: .requests),
        ]
        for failure in failures {
            let answer = refusal(failure, gateway, .post, "/v1/presigned-urls", sent, from: "10.1.2.3")
            #expect(answer.headers[.requestID] == "trace-0123456789", "\(failure)")
            #expect(answer.string("requestID") == "trace-0123456789")
            let line = try #require(gateway.logs.entries.last)
            #expect("\(line.message)" == "Request refused")
            let fields = line.metadata.mapValues { "\($0)" }
            #expect(fields["request.id"] == "trace-0123456789" && fields["client"] == "198.51.100.3")
            #expect(fields["method"] == "POST" && fields["route"] == "/v1/presigned-urls")
        }
        // Anybody else has an id of the gateway's own, and its own address.
        let stranger = refusal(.requestTimeout, gateway, .post, "/no/such", sent, from: "192.0.2.1")
        #expect(stranger.headers[.requestID].flatMap { UUID(uuidString: $0) } != nil)
        let fields = try #require(gateway.logs.entries.last).metadata.mapValues { "\($0)" }
        #expect(fields["client"] == "192.0.2.1" && fields["route"] == "none")
    }

    @Test func `an answer that the server gives in place of a late one has the id under which the request acted`() async
    {
        let gateway = TestGateway()
        let head = RequestHead(method: .get, target: "/v1/access", headerFields: [.authorization: "Bearer user-token"])
        let context = gateway.responder.begin(head).context
        let own = TestAnswer(await gateway.responder.respond(to: ServerRequest(head: head, context: context)))
        let late = RefusedRequest(head: head, context: context, isCounted: true)
        let told = TestAnswer(
            gateway.responder.response(to: .unavailable(retryAfter: 1, lacking: .time), of: late))
        #expect(own.status == 200 && told.status == 503)
        #expect(own.headers[.requestID] != nil && told.headers[.requestID] == own.headers[.requestID])
        #expect(told.string("requestID") == own.headers[.requestID])
    }

    @Test func `a late answer counts as what the caller got instead, once`() async {
        let gateway = TestGateway()
        for token in ["user-token", "wrong-token"] {
            let fields: HeaderFields = [.authorization: "Bearer \(token)"]
            let head = RequestHead(method: .get, target: "/v1/access", headerFields: fields)
            let context = gateway.responder.begin(head).context
            let late = RefusedRequest(head: head, context: context, isCounted: true)
            _ = gateway.responder.response(to: .unavailable(retryAfter: 1, lacking: .time), of: late)
            _ = await gateway.responder.respond(to: ServerRequest(head: head, context: context))
        }
        let metrics = await gateway.send(.get, "/metrics")
        for line in [
            #"sluice_http_requests_total{method="GET",route="/v1/access",status="2xx"} 0"#,
            #"sluice_http_requests_total{method="GET",route="/v1/access",status="4xx"} 0"#,
            #"sluice_http_requests_total{method="GET",route="/v1/access",status="5xx"} 2"#,
        ] {
            #expect(metrics.text.contains(line + "\n"), "\(metrics.text)")
        }
        #expect(!metrics.text.contains(#"sluice_refused_total{code="Unauthenticated"} 1"#))
    }

    @Test func `what tells whether the gateway lives is answered however many requests are in flight`() {
        let gateway = TestGateway()
        let free = gateway.responder.router.routes.filter { !$0.takesPlace }
        #expect(Set(free.map(\.template)) == ["/healthz", "/readyz", "/metrics"])
        for route in gateway.responder.router.routes {
            let head = RequestHead(method: route.method, target: route.template, headerFields: [:])
            #expect(gateway.responder.begin(head).takesPlace == route.takesPlace, "\(route.template)")
        }
    }

    @Test("logs and metrics hold templates and ids, and no token, URL, key, query or secret")
    func nothingLeaks() async {
        let gateway = TestGateway()
        let issued = await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: upload)
        #expect(issued.status == 201)
        _ = await gateway.send(.get, "/v1/access?s3cr3t=1", token: "wrong-s3cr3t-token")
        _ = await gateway.send(.get, "/s3cr3t/path", token: "user-token")
        _ = await gateway.send(HTTPRequest.Method("S3CR3T") ?? .get, "/v1/access")
        let credential = #"{"name":"n","accessKeyID":"AKID","secretAccessKey":"s3cr3t-s3cr3t"}"#
        let created = await gateway.send(.post, "/admin/v1/storage-credentials", token: "admin-token", json: credential)
        #expect(created.status == 201 && !created.text.contains("s3cr3t"))
        let key = await gateway.send(
            .post, "/admin/v1/api-keys", token: "admin-token", json: #"{"name":"n","principal":"user:a"}"#)
        let again = await gateway.send(.get, key.headers[.location] ?? "", token: "admin-token")
        #expect(again.status == 200 && again.string("key") == nil && !again.text.contains("hash"))
        let metrics = await gateway.send(.get, "/metrics")
        let secrets = [
            "s3cr3t", "S3CR3T", "user-token", "admin-token", "X-Amz", "store.example", StubPolicy.secret,
            key.string("key") ?? "?",
        ]
        for secret in secrets {
            #expect(!gateway.logLines.contains(secret), "\(secret) in the log")
            #expect(!metrics.text.contains(secret), "\(secret) in the metrics")
        }
        #expect(gateway.logLines.contains("/v1/presigned-urls") && gateway.logLines.contains("user:alice"))
        #expect(gateway.logLines.contains(issued.headers[.requestID] ?? "?"))
    }

    @Test("metrics count requests by template, method and class of status, and refusals by code")
    func metrics() async {
        let gateway = TestGateway()
        _ = await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: upload)
        _ = await gateway.send(.get, "/admin/v1/grants/018f0000-0000-7000-8000-00000000000c", token: "admin-token")
        _ = await gateway.send(.get, "/no/such", token: "admin-token")
        // Too many requests are under way.
        let head = RequestHead(method: .post, target: "/v1/post-policies", headerFields: [:])
        let plan = gateway.responder.begin(head)
        let refused = RefusedRequest(head: head, context: plan.context)
        _ = gateway.responder.response(to: .unavailable(retryAfter: 1, lacking: .requests), of: refused)
        // The answer to another took too long, but its task counts it when it ends.
        let late = RefusedRequest(head: head, context: plan.context, isCounted: true)
        _ = gateway.responder.response(to: .unavailable(retryAfter: 1, lacking: .time), of: late)
        // The SDKs of OSS get status 200 for every refusal.
        _ = await gateway.send(.get, "/v1/sts/oss?bucket=nosuch", token: "user-token")
        _ = refusal(.unavailable(retryAfter: 1, lacking: .requests), gateway, .get, "/v1/sts/oss", [:])
        let text = await gateway.send(.get, "/metrics").text
        for line in [
            #"sluice_http_requests_total{method="POST",route="/v1/presigned-urls",status="2xx"} 1"#,
            #"sluice_http_requests_total{method="GET",route="/admin/v1/grants/{id}",status="4xx"} 1"#,
            #"sluice_http_requests_total{method="PUT",route="/admin/v1/grants/{id}",status="4xx"} 0"#,
            #"sluice_http_requests_total{method="POST",route="/v1/post-policies",status="5xx"} 1"#,
            #"sluice_http_request_duration_seconds_count{route="/v1/post-policies"} 0"#,
            #"sluice_http_requests_total{method="GET",route="/v1/sts/oss",status="2xx"} 0"#,
            #"sluice_http_requests_total{method="GET",route="/v1/sts/oss",status="4xx"} 1"#,
            #"sluice_http_requests_total{method="GET",route="/v1/sts/oss",status="5xx"} 1"#,
            #"sluice_http_requests_total{method="other",route="none",status="4xx"} 1"#,
            #"sluice_refused_total{code="NoSuchGrant"} 1"#, #"sluice_refused_total{code="QuotaExceeded"} 0"#,
            #"sluice_refused_total{code="NoSuchRoute"} 1"#, "sluice_http_requests_in_flight 1",
            #"sluice_http_request_duration_seconds_count{route="/v1/presigned-urls"} 1"#,
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }

    @Test func `what clients send makes no new series, and every code has one`() async {
        let gateway = TestGateway()
        let names = { () -> Set<String> in
            let lines = String(decoding: gateway.metrics.text(), as: UTF8.self).split(separator: "\n")
            return Set(lines.compactMap { $0.hasPrefix("#") ? nil : String($0.prefix { $0 != " " }) })
        }
        let before = names()
        for (turn, route) in AccessControlTests.routes.enumerated() {
            let path = route.template.replacing("{", with: "%7B\(turn)").replacing("}", with: "\"")
            for method in ["GET", "HEAD", "OPTIONS", "BREW\(turn)", "DELETE", "POST"] {
                guard let method = HTTPRequest.Method(method) else { continue }
                _ = await gateway.send(method, path, token: "token-\(turn)")
                _ = await gateway.send(method, "/\(turn)" + path)
                // Public documents ignore what they are sent, and the contract does not describe that.
                if case .anyone = route.access { continue }
                _ = await gateway.send(method, path + "?a=\(turn)", token: "user-token", json: "{\"\(turn)\":1}")
            }
        }
        #expect(names() == before)
        let text = String(decoding: gateway.metrics.text(), as: UTF8.self)
        #expect(text.contains("\nsluice_refused_total{code=\"other\"} 0\n"), "a code is not among the known ones")
        #expect(!text.contains("\nsluice_refused_total{code=\"NoSuchRoute\"} 0\n"))
    }

    @Test("lists hand filters and pages on, and refuse sizes out of range and parameters that stand twice")
    func lists() async {
        let gateway = TestGateway()
        for name in ["a", "b", "c"] {
            _ = await gateway.send(
                .post, "/admin/v1/groups/group:g/members", token: "admin-token", json: #"{"member":"user:\#(name)"}"#)
        }
        let first = await gateway.send(.get, "/admin/v1/groups/group:g/members?pageSize=2", token: "auditor-token")
        #expect((first.json["items"] as? [Any])?.count == 2)
        let next = first.string("nextPageToken") ?? ""
        let second = await gateway.send(
            .get, "/admin/v1/groups/group:g/members?pageSize=2&pageToken=\(next)", token: "auditor-token")
        #expect((second.json["items"] as? [Any])?.count == 1)
        #expect(second.string("nextPageToken") == nil)
        _ = await gateway.send(.get, "/admin/v1/grants?principal=user:a%20b&bucket=photos", token: "auditor-token")
        #expect(
            gateway.stores.grants.queries.withLock { $0.last?.filters } == [
                "principal": "user:a b", "bucket": "photos",
            ])
        _ = await gateway.send(
            .get, "/admin/v1/grants?action=oss:PutObject&effect=deny&activeAt=2030-01-31T23:59:59.50Z",
            token: "auditor-token")
        #expect(
            gateway.stores.grants.queries.withLock { $0.last?.filters } == [
                "action": "PutObject", "effect": "deny", "activeAt": "2030-01-31T23:59:59.500Z",
            ])
        for (list, filter) in [
            ("grants", "action=Delete"), ("grants", "effect=Deny"), ("grants", "activeAt=2030-01-31"),
            ("buckets", "credentialID=7"), ("buckets", "provider="), ("quotas", "period=week"),
            ("quotas", "nearLimit=0"), ("quotas", "nearLimit=1.1"), ("quotas", "nearLimit=nan"),
            ("api-keys", "expiresBefore=soon"), ("storage-credentials", "expiresBefore=2030-01-31"),
            ("api-keys", "role=root"), ("storage-credentials", "kind=a&kind=b"), ("groups", "prefix=a"),
            ("grants", "principal=alice"), ("grants:export", "principal=alice"), ("quotas", "principal=User:alice"),
            ("quotas/018f0000-0000-7000-8000-000000000001/usage", "holder=alice"), ("api-keys", "principal=alice"),
            ("tickets", "principal=user:"), ("groups", "member=alice"), ("groups/group:g/members", "member=alice"),
            ("multipart-uploads", "principal=alice"), ("uploads", "principal=alice"),
        ] {
            let answer = await gateway.send(.get, "/admin/v1/\(list)?\(filter)", token: "auditor-token")
            #expect(answer.status == 400, "\(list) \(filter)")
            #expect(answer.string("field") == String(filter.prefix { $0 != "=" }))
        }
        for query in ["pageSize=0", "pageSize=1001", "pageSize=x", "pageSize=1&pageSize=2"] {
            let answer = await gateway.send(.get, "/admin/v1/grants?\(query)", token: "auditor-token")
            #expect(answer.status == 400 && answer.string("field") == "pageSize", "\(query)")
        }
    }

    @Test("a rotated key keeps its row, and the secret before it as long as was said")
    func rotation() async throws {
        let gateway = TestGateway()
        let created = await gateway.send(
            .post, "/admin/v1/api-keys", token: "admin-token", json: #"{"name":"n","principal":"user:a"}"#)
        let id = try #require(created.string("id"))
        func rotate(_ body: String, _ headers: HeaderFields = [:]) async -> TestAnswer {
            await gateway.send(
                .post, "/admin/v1/api-keys/\(id):rotate", token: "admin-token", headers: headers, json: body)
        }
        let first = await rotate(#"{"overlapSeconds": 60}"#, [.ifMatch: created.headers[.eTag] ?? ""])
        #expect(first.status == 200 && first.string("id") == id)
        #expect(first.headers[.eTag] != created.headers[.eTag])
        #expect(first.string("key") != created.string("key") && first.string("prefix") != created.string("prefix"))
        let row = try await gateway.stores.apiKeys.get(id)
        let before = try #require(APIKeyText(parsing: Secret(created.string("key") ?? "")))
        #expect(
            row.previousKey
                == .init(
                    prefix: before.prefix, hash: before.digest, expiresAt: TestGateway.now.addingTimeInterval(60)))
        #expect(row.hash == APIKeyText(parsing: Secret(first.string("key") ?? ""))?.digest)
        #expect(await rotate(#"{"overlapSeconds": 0}"#, [.ifMatch: created.headers[.eTag] ?? ""]).status == 412)
        let second = await rotate(#"{"overlapSeconds": 0}"#)
        #expect(second.status == 200 && second.json["previousKey"] == nil)
        #expect(try await gateway.stores.apiKeys.get(id).previousKey == nil)
        for body in [#"{"overlapSeconds": -1}"#, #"{"overlapSeconds": 604801}"#, #"{"overlapSeconds": "60"}"#] {
            #expect(await rotate(body).string("field") == "overlapSeconds")
        }
        let shown = await gateway.send(.get, "/admin/v1/api-keys/\(id)", token: "auditor-token")
        #expect(shown.string("key") == nil && !shown.text.contains("hash"))
    }

    @Test("the audit is exported to its end, one line a change")
    func auditExport() async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(.get, "/admin/v1/audit:export", token: "auditor-token")
        #expect(answer.headers[.contentType] == "application/x-ndjson")
        let lines = answer.text.split(separator: "\n")
        #expect(lines.count == 2 && answer.text.hasSuffix("\n"))
        for line in lines {
            let record = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect((record?["after"] as? [String: Any])?["note"] as? String == "a\nb")
        }
        let refused = await gateway.send(.get, "/admin/v1/audit:export?pageSize=2", token: "auditor-token")
        #expect(refused.status == 400 && refused.string("field") == "pageSize")
    }

    @Test("a quota is reset for a holder or for all, and for nobody by mistake")
    func quotaReset() async {
        let gateway = TestGateway()
        for (body, status) in [
            (#"{"holder": "user:a"}"#, 200), (#"{"all": true}"#, 200), (#"{"all": false}"#, 400),
            (#"{"holder": "user:a", "all": true}"#, 400), (#"{"holder": "a"}"#, 400),
        ] {
            let answer = await gateway.send(
                .post, "/admin/v1/quotas/\(StubPolicy.quotaID.lowercaseText):reset", token: "admin-token", json: body)
            #expect(answer.status == status, "\(body)")
        }
        let none = await gateway.send(.post, "/admin/v1/quotas/7:reset", token: "admin-token", json: #"{"all": true}"#)
        #expect(none.status == 404)
    }

    @Test("an API key's row holds the hash of what was shown, and changes name admin and request")
    func apiKeys() async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(
            .post, "/admin/v1/api-keys", token: "admin-token", json: #"{"name":"n","principal":"user:a"}"#)
        let id = try #require(answer.string("id"))
        let row = try await gateway.stores.apiKeys.get(id)
        let key = try #require(APIKeyText(parsing: Secret(answer.string("key") ?? "")))
        #expect(row.hash == key.digest && row.prefix == key.prefix)
        let change = gateway.stores.apiKeys.changes.withLock { $0.last }
        #expect(change?.actor.rawValue == "user:alice")
        #expect(change?.requestID == answer.headers[.requestID])
    }
}

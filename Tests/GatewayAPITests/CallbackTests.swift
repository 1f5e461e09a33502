import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("Inside of the server's callbacks")
struct CallbackTests {
    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]
    private static let headers: [HeaderFields] = [
        [:], [.authorization: "Bearer admin-token"], [.authorization: "Bearer wrong"], [.contentEncoding: "gzip"],
        [.contentLength: "99999999999999999999"], [.idempotencyKey: "k", .origin: "https://app.example"],
    ]

    /// A gateway that fails if a clock, random source, log or metrics page is used after its construction. Every other
    /// port is asynchronous, so a synchronous function cannot call it.
    private static func untouchable() -> APIResponder {
        var parts = TestGateway().parts
        parts.now = {
            Issue.record("The clock was read.")
            return TestGateway.now
        }
        parts.randomBytes = { count in
            Issue.record("Random bytes were drawn.")
            return [UInt8](repeating: 0, count: count)
        }
        parts.metricsText = {
            Issue.record("The metrics were read.")
            return []
        }
        parts.requestLog = UntouchedLog()
        return APIResponder(parts, APISettings(requestsPerSecond: 1), on: .everything)
    }

    private struct UntouchedLog: RequestLog {
        func answered(_ request: AnsweredRequest) { Issue.record("A request was logged.") }
    }

    private func path(_ route: Route) -> String {
        route.template.replacing("{bucket}", with: "photos").replacing("{group}", with: "group:staff")
            .replacing("{member}", with: "user:alice").replacing("{id}", with: "018f0000-0000-7000-8000-00000000000c")
            .replacing("{key}", with: "uploads/a").replacing("{file}", with: "style.css").replacing(
                "{kind}", with: "access-denied")
    }

    @Test(
        "the beginning of a request touches no port, whatever its head holds",
        arguments: AccessControlTests.routes.indices)
    func begin(index: Int) {
        let responder = Self.untouchable()
        let route = AccessControlTests.routes[index]
        for target in [path(route), path(route) + "?ticket=x", path(route) + "/..", "/nosuch", "*", "/%zz"] {
            for method in Self.methods {
                for headers in Self.headers {
                    let plan = responder.begin(RequestHead(method: method, target: target, headerFields: headers))
                    #expect(plan.context is RequestNotes)
                }
            }
        }
    }

    @Test("the beginning of a request finds its operation, which the answer does not look for again")
    func context() async throws {
        let gateway = TestGateway()
        for route in gateway.responder.router.routes {
            let head = RequestHead(method: route.method, target: path(route))
            let notes = try #require(gateway.responder.begin(head).context as? RequestNotes)
            let match = notes.match
            #expect(match.route === gateway.responder.router.match(route.method, path(route)).route)
            #expect(match.route?.template == route.template && match.template == route.template)
            // The context contains what the target no longer says.
            let moved = RequestHead(method: route.method, target: "/nosuch")
            let answer = await TestAnswer(
                collecting: gateway.responder.respond(to: ServerRequest(head: moved, context: notes)))
            #expect(answer.string("code") != "NoSuchRoute", "\(route.template)")
        }
    }

    @Test("a caller who is known, and a decision from memory, are answered without a suspension")
    func answer() async {
        // The task starts inside the callback, and the answer is there when the callback returns.
        let gateway = TestGateway()
        let responder = gateway.responder
        let upload = #"{"action":"PutObject","bucket":"photos","key":"uploads/a","contentType":"image/png"}"#
        let head = RequestHead(
            method: .post, target: "/v1/presigned-urls",
            headerFields: [.authorization: "Bearer user-token", .contentType: "application/json"])
        // The first request fills the cache.
        #expect(await gateway.send(.post, "/v1/presigned-urls", token: "user-token", json: upload).status == 201)
        let request = ServerRequest(
            head: head, body: .collected(Array(upload.utf8)), context: responder.begin(head).context)
        let status = Mutex<Int?>(nil)
        let task = Task.immediate {
            let response = await responder.respond(to: request)
            status.withLock { $0 = response.head.status.code }
        }
        #expect(status.withLock { $0 } == 201)
        await task.value
    }

    @Test(
        "what is given up is answered at once, by any thread",
        arguments: [
            .badRequest("no"), .requestTimeout, .contentTooLarge(maxBytes: 1), .uriTooLong, .expectationFailed,
            .headerFieldsTooLarge(maxBytes: 9), .unavailable(retryAfter: 1, lacking: .requests),
        ] as [ServerFailure])
    func failures(failure: ServerFailure) {
        let gateway = TestGateway()
        let response = gateway.responder.response(to: failure)
        #expect(response.head.status == failure.status)
        #expect(gateway.advances.count.withLock { $0 } == 0 && gateway.idempotency.calls.withLock { $0 } == 0)
    }
}

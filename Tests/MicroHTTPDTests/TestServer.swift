import HTTPServing
import HTTPTypes
import Logging
import MicroHTTPD
import ServiceLifecycle

/// A responder made of functions. It renders refusals as text that names them.
final class TestResponder: HTTPResponder {
    let plan: @Sendable (RequestHead) -> BodyPlan
    let answer: @Sendable (ServerRequest) async -> ServerResponse

    init(
        plan: @escaping @Sendable (RequestHead) -> BodyPlan = { _ in .collect(maxBytes: 1_000) },
        answer: @escaping @Sendable (ServerRequest) async -> ServerResponse
    ) {
        self.plan = plan
        self.answer = answer
    }

    /// Uses the target in the head as context. A request for `/always` takes no place.
    func begin(_ head: RequestHead) -> RequestPlan {
        RequestPlan(plan(head), takesPlace: head.target != "/always", context: Target(head.target))
    }

    func respond(to request: ServerRequest) async -> ServerResponse { await answer(request) }

    func response(to failure: ServerFailure) -> ServerResponse {
        var head = ResponseHead(status: failure.status)
        head.headerFields[.contentType] = "text/plain"
        if case .unavailable(let seconds, _) = failure { head.headerFields[.retryAfter] = "\(seconds)" }
        return ServerResponse(head: head, body: .bytes(Array("refused: \(failure)".utf8)))
    }

    /// Names, besides, what is known of the head.
    func response(to failure: ServerFailure, of head: RefusedHead) -> ServerResponse {
        var response = response(to: failure)
        if let name = HTTPField.Name("X-Head") {
            response.head.headerFields[name] = "\(head.target.prefix(20)) from \(head.origin ?? "nowhere")"
        }
        return response
    }

    /// Names, besides, the client and the target in the context, and says whether the request was counted before.
    func response(to failure: ServerFailure, of request: RefusedRequest) -> ServerResponse {
        var response = response(to: failure)
        let target = (request.context as? Target)?.text ?? "none"
        if let name = HTTPField.Name("X-Refused") {
            response.head.headerFields[name] = request.isCounted ? "\(target), again" : target
        }
        if let name = HTTPField.Name("X-Client") { response.head.headerFields[name] = request.remoteAddress }
        return response
    }

    /// A target, as a context.
    final class Target: Sendable {
        let text: String

        init(_ text: String) { self.text = text }
    }

    /// Answers with the method, the raw target, the body, and the fields whose names begin with `x-`.
    static let echo = TestResponder { request in
        guard case .collected(let body) = request.body else { return .text("streamed") }
        let fields = request.head.headerFields.filter { $0.name.canonicalName.hasPrefix("x-") }
        let lines =
            ["\(request.head.method.rawValue) \(request.head.target) \(request.head.authority)"]
            + fields.map { "\($0.name.canonicalName)=\($0.value)" } + [String(decoding: body, as: UTF8.self)]
        return .text(lines.joined(separator: "|"))
    }
}

extension ServerResponse {
    static func text(_ text: String, status: HTTPResponse.Status = .ok) -> ServerResponse {
        ServerResponse(head: ResponseHead(status: status), body: .bytes(Array(text.utf8)))
    }
}

/// A running server, for the duration of a test.
struct TestServer: Sendable {
    let server: HTTPServer
    let group: ServiceGroup

    var port: UInt16 { server.port }

    func client() throws -> AsyncConnection { try AsyncConnection(port: port) }

    /// Whether the server disconnects all clients within seconds, long before its usual time limits.
    func hasNoClientsSoon() async throws -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while server.connectionCount > 0 {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(10))
        }
        return true
    }

    /// Begins a graceful shutdown.
    func shutDown() async { await group.triggerGracefulShutdown() }

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @discardableResult
    static func make(
        _ responder: TestResponder, _ adjust: (inout HTTPServerConfiguration) -> Void
    ) throws(HTTPServerError) -> HTTPServer {
        var configuration = HTTPServerConfiguration()
        configuration.drain = DrainPeriod(.seconds(5))
        adjust(&configuration)
        return try HTTPServer(configuration: configuration, responder: responder, logger: logger)
    }

    /// Runs a server while `body` runs, then shuts the server down and waits for its end.
    static func with<Value: Sendable>(
        _ responder: TestResponder, _ adjust: (inout HTTPServerConfiguration) -> Void = { _ in },
        body: @Sendable (TestServer) async throws -> Value
    ) async throws -> Value {
        let server = try make(responder, adjust)
        let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        let running = TestServer(server: server, group: group)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let result: Result<Value, any Error>
            do { result = .success(try await body(running)) } catch { result = .failure(error) }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try result.get()
        }
    }
}

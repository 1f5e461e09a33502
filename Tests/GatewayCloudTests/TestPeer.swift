import HTTPServing
import HTTPTypes
import Logging
import MicroHTTPD
import ServiceLifecycle
import Synchronization
import Testing

/// A server on loopback that answers as the test sets, and records its requests.
final class TestPeer: HTTPResponder {
    private let answer: @Sendable (RequestHead) async -> ServerResponse
    private let state = Mutex<[(head: RequestHead, body: [UInt8])]>([])

    init(answer: @escaping @Sendable (RequestHead) async -> ServerResponse) {
        self.answer = answer
    }

    /// The requests so far.
    var requests: [RequestHead] { state.withLock { $0.map(\.head) } }

    /// The bodies of the requests so far.
    var bodies: [[UInt8]] { state.withLock { $0.map(\.body) } }

    func begin(_ head: RequestHead) -> RequestPlan { RequestPlan(.collect(maxBytes: 1 << 20)) }

    func respond(to request: ServerRequest) async -> ServerResponse {
        var body: [UInt8] = []
        switch request.body {
        case .collected(let bytes): body = bytes
        case .stream(let pieces): do { for try await piece in pieces { body += piece } } catch { Issue.record(error) }
        }
        state.withLock { $0.append((request.head, body)) }
        return await answer(request.head)
    }

    func response(to failure: ServerFailure) -> ServerResponse {
        ServerResponse(head: ResponseHead(status: failure.status))
    }

    /// Runs the server while `body` runs. `body` receives its origin.
    func serve<Value: Sendable>(_ body: @Sendable (_ origin: String) async throws -> Value) async throws -> Value {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var configuration = HTTPServerConfiguration()
        configuration.drain = DrainPeriod(.seconds(1))
        // The same memory also serves the heads of its answers.
        configuration.maxHeadBytes = 32 * 1_024
        let server = try HTTPServer(configuration: configuration, responder: self, logger: logger)
        let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let result: Result<Value, any Error>
            do {
                result = .success(try await body("http://127.0.0.1:\(server.port)"))
            } catch {
                result = .failure(error)
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try result.get()
        }
    }
}

extension ServerResponse {
    static func bytes(_ text: String, status: HTTPResponse.Status = .ok) -> ServerResponse {
        ServerResponse(head: ResponseHead(status: status), body: .bytes(Array(text.utf8)))
    }
}

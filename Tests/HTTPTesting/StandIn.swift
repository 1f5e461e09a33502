public import HTTPServing
public import HTTPTypes
import Logging
import MicroHTTPD
import ServiceLifecycle
import Synchronization
import Testing

/// A responder that answers as a test says, and keeps what it was asked.
public final class StandIn: HTTPResponder {
    /// A request with its whole body.
    public struct Request: Sendable {
        /// Method, target and header fields.
        public let head: RequestHead
        /// The body; at most 1 MiB.
        public let body: [UInt8]
    }

    private let answer: @Sendable (Request) async -> ServerResponse
    private let kept = Mutex<[Request]>([])

    /// Answers each request by a function.
    public init(_ answer: @escaping @Sendable (Request) async -> ServerResponse) {
        self.answer = answer
    }

    /// The requests so far.
    public var requests: [Request] { kept.withLock { $0 } }

    /// The heads of the requests so far.
    public var heads: [RequestHead] { requests.map(\.head) }

    /// Collects the body.
    public func begin(_ head: RequestHead) -> RequestPlan { RequestPlan(.collect(maxBytes: 1 << 20)) }

    /// Keeps the request and answers it.
    public func respond(to request: ServerRequest) async -> ServerResponse {
        var body: [UInt8] = []
        switch request.body {
        case .collected(let bytes): body = bytes
        case .stream(let pieces): do { for try await piece in pieces { body += piece } } catch { Issue.record(error) }
        }
        let asked = Request(head: request.head, body: body)
        kept.withLock { $0.append(asked) }
        return await answer(asked)
    }

    /// Returns a response without a body.
    public func response(to failure: ServerFailure) -> ServerResponse {
        ServerResponse(head: ResponseHead(status: failure.status))
    }
}

extension HTTPResponder {
    /// Serves on loopback while `body` runs, which receives the origin.
    public func serve<Value: Sendable>(_ body: (_ origin: String) async throws -> Value) async throws -> Value {
        let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
        var configuration = HTTPServerConfiguration()
        configuration.drain = DrainPeriod(.seconds(1))
        // The same memory also serves the heads of answers.
        configuration.maxHeadBytes = 32 * 1_024
        let server = try HTTPServer(configuration: configuration, responder: self, logger: logger)
        let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let result: Result<Value, any Error>
            do { result = .success(try await body("http://127.0.0.1:\(server.port)")) } catch {
                result = .failure(error)
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try result.get()
        }
    }
}

extension ServerResponse {
    /// A response with a text as its body.
    public static func bytes(_ text: String, status: HTTPResponse.Status = .ok) -> ServerResponse {
        ServerResponse(head: ResponseHead(status: status), body: .bytes(Array(text.utf8)))
    }
}

import HTTPServing
import HTTPTypes
import Logging
import MicroHTTPD
import ServiceLifecycle
import Synchronization

/// The site of a web front end: one page on loopback.
final class PageServer: HTTPResponder {
    private let page = Mutex("")

    /// Sets the page.
    func show(_ html: String) { page.withLock { $0 = html } }

    func begin(_ head: RequestHead) -> RequestPlan { RequestPlan(.collect(maxBytes: 0)) }

    func respond(to request: ServerRequest) async -> ServerResponse {
        guard request.head.method == .get, request.head.target == "/" else {
            return ServerResponse(head: ResponseHead(status: .notFound))
        }
        return ServerResponse(
            head: ResponseHead(status: .ok, headerFields: [.contentType: "text/html; charset=utf-8"]),
            body: .bytes(Array(page.withLock { $0 }.utf8)))
    }

    func response(to failure: ServerFailure) -> ServerResponse {
        ServerResponse(head: ResponseHead(status: failure.status))
    }
}

extension HTTPResponder {
    /// Serves on loopback while `body` runs. `body` receives the origin.
    func serve(_ body: (_ origin: String) async throws -> Void) async throws {
        let logger = Logger(label: "tests", factory: { _ in SwiftLogNoOpLogHandler() })
        var configuration = HTTPServerConfiguration()
        configuration.drain = DrainPeriod(.seconds(1))
        let server = try HTTPServer(configuration: configuration, responder: self, logger: logger)
        let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body("http://127.0.0.1:\(server.port)")) } catch {
                result = .failure(error)
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            try result.get()
        }
    }
}

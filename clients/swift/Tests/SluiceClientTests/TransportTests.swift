import Foundation
import Testing

@testable import SluiceClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct TransportTests {
    /// A request to a place where nobody listens.
    private static func request() throws -> URLRequest {
        URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
    }

    @Test("a task that has not begun is not cancelled, since nobody would be told of its end")
    func unbegun() throws {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try Self.request())
        Exchanges().cancel(task)
        #expect(task.state == .suspended)
    }

    @Test("a transfer whose task is cancelled before it begins ends", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let transport = Transport(timeout: .seconds(5))
        let request = try Self.request()
        for _ in 0..<20 {
            let sending = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await transport.send(request)
            }
            sending.cancel()
            // A transfer that hangs does not hear of the time limit.
            await #expect(throws: SluiceError.self) { _ = try await sending.valueUnlessCancelled }
        }
    }
}

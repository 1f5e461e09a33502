import Glibc
import HTTPServing
import HTTPTypes
import MicroHTTPD
import Synchronization
import Testing

/// Holds the thread that serves sockets.
private final class Hold: Sendable {
    let isHeld = Atomic<Bool>(false)
    let isReleased = Atomic<Bool>(false)

    func block() {
        isHeld.store(true, ordering: .sequentiallyConsistent)
        while !isReleased.load(ordering: .sequentiallyConsistent) { sched_yield() }
    }
}

@Suite(.timeLimit(.minutes(2))) struct ReadinessTests {
    /// Numbers near 128, the most that libmicrohttpd requests from `epoll_wait` at once. All connections become ready
    /// while its thread is held.
    @Test func `any number of connections may become ready at once`() async throws {
        let holds = (124...132).map { (count: $0, hold: Hold()) }
        let responder = TestResponder { request in
            if let count = Int(request.target.dropFirst()) {
                holds.first { $0.count == count }?.hold.block()
            }
            return .collect(maxBytes: 1_000)
        } answer: { _ in
            .text("taken")
        }
        try await TestServer.with(responder) {
            $0.threads = 1
        } body: { server in
            let clients = try (0..<132).map { _ in try server.client() }
            for client in clients { #expect(try await client.exchange(Self.request("/")).status == 200) }
            for (count, hold) in holds {
                defer { hold.isReleased.store(true, ordering: .sequentiallyConsistent) }
                let holder = try server.client()
                #expect(try await holder.exchange(Self.request("/")).status == 200)
                try await holder.send("POST /\(count) HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n")
                while !hold.isHeld.load(ordering: .sequentiallyConsistent) { await Task.yield() }
                for client in clients.prefix(count) { try await client.send(Self.request("/")) }
                hold.isReleased.store(true, ordering: .sequentiallyConsistent)
                var rest: [UInt8] = []
                #expect(try await holder.response(rest: &rest).status == 413)
                for client in clients.prefix(count) {
                    var rest: [UInt8] = []
                    #expect(try await client.response(rest: &rest).text == "taken", "\(count) ready")
                }
            }
        }
    }

    private static func request(_ target: String) -> String {
        "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n"
    }
}

import Figures
import HTTPServing
import HTTPTypes
import MicroHTTPD
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(2))) struct ShutdownTests {
    @Test func `requests under way are answered, and nobody else is taken on`() async throws {
        let latch = Latch()
        let responder = TestResponder { _ in
            await latch.wait()
            return .text("done")
        }
        try await TestServer.with(responder) { server in
            let idle = try server.client()
            let clients = try (0..<20).map { _ in try server.client() }
            for client in clients { try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
            await latch.arrival(20)
            await server.shutDown()
            while (try? server.client()) != nil { await Task.yield() }
            latch.open()
            for client in clients {
                var rest: [UInt8] = []
                let response = try await client.response(rest: &rest)
                #expect(response.text == "done")
                #expect(response.fields["connection"] == "close")
                #expect(try await client.isClosed())
            }
            #expect(try await idle.isClosed())
        }
    }

    @Test func `a server that is about to leave ends each connection with its next answer, and accepts others`()
        async throws
    {
        let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        try await TestServer.with(.echo) { server in
            let kept = try (0..<5).map { _ in try server.client() }
            for client in kept { #expect(try await client.exchange(request).fields["connection"] == nil) }
            server.server.beginToLeave()
            let others = try (0..<5).map { _ in try server.client() }
            for client in kept + others {
                let last = try await client.exchange(request)
                #expect(last.status == 200 && last.fields["connection"] == "close")
                #expect(try await client.isClosed())
            }
            #expect(try await server.hasNoClientsSoon())
        }
    }

    @Test func `what is not answered by the drain deadline gets 503`() async throws {
        let latch = Latch()
        let responder = TestResponder { _ in
            .stream(maxBytes: 1_000)
        } answer: { request in
            await latch.wait()
            return .text("late")
        }
        try await TestServer.with(responder) {
            $0.drain = DrainPeriod(.milliseconds(100))
        } body: { server in
            let plain = try server.client()
            try await plain.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let streaming = try server.client()
            try await streaming.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
            await latch.arrival(2)
            await server.shutDown()
            for client in [plain, streaming] {
                var rest: [UInt8] = []
                #expect(try await client.response(rest: &rest).status == 503)
                #expect(try await client.isClosed())
            }
            latch.open()
        }
    }

    @Test func `a body that is answered before its end holds nobody up`() async throws {
        let start = ContinuousClock.now
        let client = try await TestServer.with(.echo) {
            $0.drain = DrainPeriod(.seconds(20))
        } body: { server -> AsyncConnection in
            let client = try server.client()
            let head = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n"
            #expect(try await client.exchange(head).status == 413)
            return client
        }
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(try await client.isClosed())
    }

    @Test func `a task that was given up ends what it has begun before the server ends`() async throws {
        let (begun, ended) = (Counter(), Counter())
        let responder = TestResponder { _ in
            begun.add(1)
            try? await Task.sleep(for: .seconds(60))
            // What a cancelled task does nevertheless.
            await Task { _ = try? await Task.sleep(for: .milliseconds(100)) }.value
            ended.add(1)
            return .text("late")
        }
        try await TestServer.with(responder) {
            $0.drain = DrainPeriod(.milliseconds(10))
        } body: { server in
            let client = try server.client()
            try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while begun.value == 0 { await Task.yield() }
            await server.shutDown()
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).status == 503)
        }
        #expect(ended.value == 1)
    }

    @Test func `a stream that never ends does not keep the server from ending`() async throws {
        let responder = TestResponder { _ in
            ServerResponse(
                head: ResponseHead(status: .ok),
                body: .stream(length: nil) { writer in
                    while true { try await writer.write([UInt8](repeating: 7, count: 1_000)) }
                })
        }
        try await TestServer.with(responder) {
            $0.drain = DrainPeriod(.milliseconds(100))
        } body: { server in
            let reading = try server.client()
            try await reading.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await !reading.receive().isEmpty)
            await server.shutDown()
            _ = try? await reading.receiveAll()
        }
    }

    @Test func `a server under load stops and starts again and again`() async throws {
        for _ in 0..<10 {
            try await TestServer.with(.echo) {
                $0.drain = DrainPeriod(.milliseconds(50))
            } body: { server in
                let served = Counter()
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<8 {
                        tasks.addTask {
                            while let client = try? server.client(),
                                (try? await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))?.status == 200
                            { served.add(1) }
                        }
                    }
                    while served.value < 50 { await Task.yield() }
                    await server.shutDown()
                    try await tasks.waitForAll()
                }
            }
        }
    }
}

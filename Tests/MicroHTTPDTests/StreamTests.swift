import Figures
import HTTPServing
import HTTPTypes
import Testing
import TestSupport

@testable import MicroHTTPD

@Suite(.timeLimit(.minutes(2))) struct StreamTests {
    /// Answers with the number of bytes received, or with the error that ended them.
    private static func counting(maxBytes: Int64 = 10_000_000) -> TestResponder {
        TestResponder { _ in
            .stream(maxBytes: maxBytes)
        } answer: { request in
            guard case .stream(let chunks) = request.body else { return .text("collected") }
            var count = 0
            do {
                for try await chunk in chunks { count += chunk.count }
            } catch {
                return .text("\(error) after \(count)", status: .contentTooLarge)
            }
            return .text("\(count)")
        }
    }

    // MARK: In

    @Test func `a streamed body arrives whole, with a length or in chunks, after which the connection ends`()
        async throws
    {
        try await TestServer.with(Self.counting()) { server in
            let client = try server.client()
            var rest: [UInt8] = []
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n")
            try await client.send([UInt8](repeating: 1, count: 3_000_000))
            #expect(try await client.response(rest: &rest).text == "3000000")
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<30 {
                try await client.send("186A0;ext=1\r\n")
                try await client.send([UInt8](repeating: 1, count: 100_000) + Array("\r\n".utf8))
            }
            try await client.send("0\r\nX-Trailer: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let last = try await client.response(rest: &rest)
            #expect(last.text == "3000000" && last.fields["connection"] == "close")
            #expect(try await (rest + client.receiveAll()).isEmpty)
        }
    }

    @Test func `an announced body beyond the limit is refused with 413`() async throws {
        try await TestServer.with(Self.counting(maxBytes: 10)) { server in
            let refused = try await server.client().exchange(
                "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world")
            #expect(refused.text == "refused: contentTooLarge(maxBytes: 10)")
        }
    }

    @Test func `a chunked body that grows beyond the limit ends the stream, and the answer is sent`() async throws {
        try await TestServer.with(Self.counting(maxBytes: 150_000)) { server in
            let client = try server.client()
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await client.send("30D40\r\n")
            try await client.send([UInt8](repeating: 1, count: 200_000) + Array("\r\n0\r\n\r\n".utf8))
            var rest: [UInt8] = []
            let response = try await client.response(rest: &rest)
            #expect(response.status == 413)
            #expect(response.text.hasPrefix("tooLarge after "))
        }
    }

    @Test func `a chunked body without an end is answered, then cut off`() async throws {
        try await TestServer.with(Self.counting(maxBytes: 1_000)) {
            $0.maxDiscardedBytes = 100_000
        } body: { server in
            let client = try server.client()
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = Array("2710\r\n".utf8) + [UInt8](repeating: 1, count: 10_000) + Array("\r\n".utf8)
            await #expect(throws: AsyncConnectionError.self) {
                while true { try await client.send(chunk) }
            }
        }
    }

    @Test func `malformed chunks end the stream`() async throws {
        let ended = Latch()
        let responder = TestResponder { _ in
            .stream(maxBytes: 1_000)
        } answer: { request in
            guard case .stream(let chunks) = request.body else { return .text("collected") }
            do { for try await _ in chunks {} } catch RequestBodyError.disconnected { await ended.wait() } catch {}
            return .text("over")
        }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n")
            let answer = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 400 "))
            await ended.arrival()
            ended.open()
        }
    }

    @Test func `a reader that does not read holds the client back`() async throws {
        let latch = Latch()
        let responder = TestResponder { _ in
            .stream(maxBytes: 1_000_000_000)
        } answer: { request in
            guard case .stream(let chunks) = request.body else { return .text("collected") }
            var count = 0
            var isFirst = true
            do {
                for try await chunk in chunks {
                    count += chunk.count
                    if isFirst { await latch.wait() }
                    isFirst = false
                }
            } catch { return .text("\(error)") }
            return .text("\(count)")
        }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            let total = 100_000_000
            let sent = Counter()
            try await client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(total)\r\n\r\n")
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    let piece = [UInt8](repeating: 1, count: 1_000_000)
                    while sent.value < total {
                        try await client.send(piece)
                        sent.add(piece.count)
                    }
                }
                await latch.arrival()
                // Once nothing moves, only the kernel's buffers and one buffer of the server are full.
                var before = -1
                while before != sent.value {
                    before = sent.value
                    try await Task.sleep(for: .milliseconds(300))
                }
                #expect(before < total / 2)
                latch.open()
                try await tasks.waitForAll()
            }
            var rest: [UInt8] = []
            #expect(try await client.response(rest: &rest).text == "\(total)")
        }
    }

    @Test func `a body that is not read is not asked for`() async throws {
        let responder = TestResponder { _ in
            .stream(maxBytes: 1_000)
        } answer: { _ in
            .text("no", status: .forbidden)
        }
        try await TestServer.with(responder) { server in
            let waiting = try server.client()
            let refused = try await waiting.exchange(
                "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
            #expect(refused.status == 403)
            #expect(try await waiting.isClosed())
            let eager = try await server.client().exchange(
                "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
            #expect(eager.status == 403)
        }
    }

    // MARK: Out

    private static func streaming(_ length: Int64?, _ pieces: [Int]) -> TestResponder {
        TestResponder { _ in
            ServerResponse(
                head: ResponseHead(status: .ok),
                body: .stream(length: length) { writer in
                    for piece in pieces { try await writer.write([UInt8](repeating: 7, count: piece)) }
                })
        }
    }

    @Test(arguments: [nil, Int64(1_000_000)])
    func `a streamed answer arrives whole and the connection stays`(length: Int64?) async throws {
        let pieces = [1, 0, 399_999, 100_000, 500_000]
        try await TestServer.with(Self.streaming(length, pieces)) { server in
            let client = try server.client()
            for _ in 0..<3 {
                let response = try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(response.body == [UInt8](repeating: 7, count: 1_000_000))
                #expect(response.fields["transfer-encoding"] == (length == nil ? "chunked" : nil))
            }
            try await client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            var rest: [UInt8] = []
            let head = try await client.response(rest: &rest, toHead: true)
            #expect(head.fields["content-length"] == length.map { "\($0)" })
            if length == nil {
                #expect(try await (rest + client.receiveAll()).isEmpty)
            } else {
                #expect(try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").body.count == 1_000_000)
            }
        }
    }

    @Test(arguments: [[Int64(10), 5], [10, 15]])
    func `a streamed answer of another length than announced is cut`(lengths: [Int64]) async throws {
        try await TestServer.with(Self.streaming(lengths[0], [Int(lengths[1])])) { server in
            let client = try server.client()
            try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let bytes = try await client.receiveAll()
            #expect(bytes.count { $0 == 7 } < 10)
        }
    }

    @Test func `a streamed answer whose making fails is not ended as if whole`() async throws {
        struct Failure: Error {}
        let responder = TestResponder { _ in
            ServerResponse(
                head: ResponseHead(status: .ok),
                body: .stream(length: nil) { writer in
                    try await writer.write(Array("half".utf8))
                    throw Failure()
                })
        }
        try await TestServer.with(responder) { server in
            let client = try server.client()
            try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let text = String(decoding: try await client.receiveAll(), as: UTF8.self)
            #expect(!text.hasSuffix("0\r\n\r\n"))
        }
    }

    @Test func `a client that does not read holds the writer back, and its leaving ends the writer`() async throws {
        let written = Counter()
        let ended = Latch()
        let responder = TestResponder { _ in
            ServerResponse(
                head: ResponseHead(status: .ok),
                body: .stream(length: nil) { writer in
                    do {
                        while true {
                            try await writer.write([UInt8](repeating: 7, count: 100_000))
                            written.add(100_000)
                        }
                    } catch {
                        await ended.wait()
                        throw error
                    }
                })
        }
        try await TestServer.with(responder) { server in
            do {
                let client = try AsyncConnection(port: server.port, receiveBuffer: 4_096)
                try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                var before = -1
                while before != written.value {
                    before = written.value
                    try await Task.sleep(for: .milliseconds(300))
                }
                #expect(before < 50_000_000)
                #expect(try await !client.receive().isEmpty)
            }
            await ended.arrival()
            ended.open()
        }
    }
}

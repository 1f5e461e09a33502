import Figures
import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import InMemoryLogging
import LibCurl
import Logging
import Synchronization
import Testing

@testable import GatewayCloud

@Suite struct OutboundClientTests {
    private func client(
        _ origins: [String] = [], networks: [String] = [], timeout: Duration = .seconds(20)
    ) throws -> OutboundClient {
        OutboundClient(
            policy: try OutboundPolicy(origins: origins, networks: networks.compactMap(IPNetwork.init)),
            timeout: timeout)
    }

    private func outcome(
        _ client: OutboundClient, _ url: String, maxBytes: Int = 1000
    ) async -> Result<Int, OutboundError> {
        do throws(OutboundError) {
            return .success(try await client.send(.get, url, maxBytes: maxBytes).status)
        } catch {
            return .failure(error)
        }
    }

    @Test func aListedOriginIsReached() async throws {
        let peer = StandIn { _ in .bytes("{}") }
        try await peer.serve { origin in
            let answer = try await client([origin]).send(.get, origin + "/keys?v=1", maxBytes: 2)
            #expect(answer.status == 200 && answer.body == Array("{}".utf8) && answer.contentLength == 2)
        }
        #expect(peer.heads.map(\.target) == ["/keys?v=1"])
        #expect(peer.heads.first?.headerFields[.acceptEncoding] == nil)
    }

    @Test func `a request of a trace tells the other server of it, beside the URL`() async throws {
        let peer = StandIn { _ in .bytes("") }
        let trace = TraceContext(
            parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", state: ["a=1,\tc=3", "b=2"],
            spanBytes: [1, 2, 3, 4, 5, 6, 7, 8])
        try await peer.serve { origin in
            let client = try client([origin])
            for purpose in OutboundClient.Purpose.allCases {
                _ = try await TraceContext.$current.withValue(trace) {
                    try await client.send(.get, origin + "/a?X-Amz-Signature=b", maxBytes: 10, for: purpose)
                }
            }
            _ = try await client.send(.get, origin + "/a?X-Amz-Signature=b", maxBytes: 10)
        }
        let heads = peer.heads
        #expect(heads.count == 4 && heads.allSatisfy { $0.target == "/a?X-Amz-Signature=b" })
        let fields = heads.map { head in
            ["traceparent", "tracestate"].map { HTTPField.Name($0).flatMap { head.headerFields[$0] } }
        }
        let own = ["00-4bf92f3577b34da6a3ce929d0e0e4736-0102030405060708-01", "a=1, c=3,b=2"]
        #expect(fields == [own, own, own, [nil, nil]])
    }

    @Test func `requests are counted by what they came to`() async throws {
        let peer = StandIn { request in
            request.head.target == "/500" ? .bytes("", status: .internalServerError) : .bytes("{}")
        }
        let figures = try await peer.serve { origin in
            let client = try client([origin, "http://nowhere.invalid"])
            _ = try await client.send(.get, origin + "/", maxBytes: 10, for: .keySet)
            _ = try await client.send(.get, origin + "/500", maxBytes: 10)
            _ = await outcome(client, "http://127.0.0.2:1/")
            _ = await outcome(client, "http://nowhere.invalid/")
            return client.figures
        }
        var counted: [String: Int] = [:]
        for (purpose, figures) in figures.all {
            for (outcome, counter) in figures.outcomes.all where counter.value > 0 {
                counted["\(purpose.rawValue) \(outcome.rawValue)"] = counter.value
            }
            #expect(figures.inFlight.value == 0)
        }
        #expect(
            counted == ["key_set answered": 1, "store failed": 1, "store not_permitted": 1, "store not_connected": 1])
    }

    @Test func bodyMethodAndHeadersArriveAsTheyWereGiven() async throws {
        let peer = StandIn { _ in .bytes("") }
        let body = Array(String(repeating: "b", count: 70_000).utf8) + [0, 0xff]
        try await peer.serve { origin in
            let client = try client([origin])
            let fields: [HTTPTransfer.Field] = [.init("content-type", "image/png"), .init("x-empty", "")]
            _ = try await client.send(.post(body: body), origin + "/a", fields: fields, maxBytes: 10)
            _ = try await client.send(.post(body: []), origin + "/b", maxBytes: 10)
            _ = try await client.send(.delete, origin + "/c", maxBytes: 10)
            for bad in ["x\r\ny: z", "x\n", "\0"] {
                await #expect(throws: OutboundError.noAnswer(.malformedHeader)) {
                    try await client.send(.get, origin, fields: [.init("a", bad)], maxBytes: 10)
                }
            }
        }
        #expect(peer.heads.map(\.method) == [.post, .post, .delete])
        #expect(peer.requests.map(\.body) == [body, [], []])
        let heads = peer.heads.map(\.headerFields)
        #expect(heads[0][.contentType] == "image/png" && heads[0][HTTPField.Name("x-empty")!] == "")
        // Nothing that a signature would not cover.
        #expect(heads.allSatisfy { $0[.expect] == nil } && heads[1][.contentType] == nil)
        #expect(heads[1][.contentLength] == "0")
    }

    @Test func whatIsNotListedIsNotReached() async throws {
        let peer = StandIn { _ in .bytes("{}") }
        try await peer.serve { origin in
            let port = origin.split(separator: ":")[2]
            for url in [
                origin, "http://localhost:\(port)/", "https://127.0.0.1:\(port)/", "https://localhost:\(port)/",
                "https://[::ffff:127.0.0.1]:\(port)/", "https://0x7f.1:\(port)/", "https://2130706433:\(port)/",
                "https://user@127.0.0.1:\(port)/", "ftp://127.0.0.1:\(port)/", "file:///etc/passwd",
            ] {
                let result = await outcome(try client(), url)
                #expect(result == .failure(.notPermitted), "\(url)")
            }
            let other = try client(["http://127.0.0.1:1", "https://127.0.0.1:\(port)"])
            #expect(await outcome(other, origin) == .failure(.notPermitted))
            // A listed network permits https, which this server does not speak.
            let result = await outcome(try client(networks: ["127.0.0.0/8"]), "https://127.0.0.1:\(port)/")
            #expect(result == .failure(.noAnswer(.tls)))
        }
        #expect(peer.requests.isEmpty)
    }

    @Test func aStoreThatCannotBeReachedIsNamedInTheLogAndToTheCaller() async throws {
        for (error, phrase) in [
            (OutboundError.notPermitted, "SLUICE_OUTBOUND_ALLOW"), (.noAnswer(.nameNotFound), "nameNotFound"),
        ] {
            let cause = try #require(error.asGatewayError.cause)
            #expect(cause.description.contains(phrase))
            let advice = try #require(cause.advice)
            #expect(advice.contains("validate") && !advice.contains(phrase))
        }
    }

    @Test func redirectsAreNotFollowed() async throws {
        let peer = StandIn { _ in
            var answer = ServerResponse.bytes("", status: .found)
            answer.head.headerFields[.location] = "/secret"
            return answer
        }
        try await peer.serve { origin in
            let result = await outcome(try client([origin]), origin + "/keys")
            #expect(result == .success(302))
            let logs = InMemoryLogHandler()
            let sets = KeySets(client: try client([origin]), logger: Logger(label: "test") { _ in logs })
            await #expect(throws: GatewayError.unavailable(retryAfter: 5)) {
                try await sets.keySet(at: origin + "/keys")
            }
            #expect(logs.entries.contains { "\($0.metadata)".contains("302") })
        }
        #expect(peer.heads.allSatisfy { $0.target == "/keys" })
    }

    @Test(arguments: [true, false])
    func aLongBodyIsCutOff(isStated: Bool) async throws {
        let sent = Mutex(0)
        let peer = StandIn { _ in
            ServerResponse(
                head: ResponseHead(status: .ok),
                body: .stream(length: isStated ? 1 << 30 : nil) { writer in
                    for _ in 0..<1024 {
                        try await writer.write(Array(repeating: 0x20, count: 1 << 20))
                        sent.withLock { $0 += 1 }
                    }
                })
        }
        try await peer.serve { origin in
            let result = await outcome(try client([origin]), origin, maxBytes: 10_000)
            #expect(result == .failure(.noAnswer(.tooLarge)))
        }
        #expect(sent.withLock { $0 } < 100)
    }

    @Test func aLongHeadIsCutOff() async throws {
        let peer = StandIn { _ in
            var answer = ServerResponse.bytes("{}")
            for index in 0..<20 {
                answer.head.headerFields[HTTPField.Name("x-\(index)")!] = String(repeating: "a", count: 1000)
            }
            return answer
        }
        try await peer.serve { origin in
            let result = await outcome(try client([origin]), origin)
            #expect(result == .failure(.noAnswer(.tooLarge)))
        }
    }

    @Test(arguments: [true, false])
    func aStalledAnswerTimesOut(afterFirstByte: Bool) async throws {
        let (gone, goneIn) = AsyncStream.makeStream(of: Void.self)
        let peer = StandIn { _ in
            ServerResponse(
                head: ResponseHead(status: .ok),
                body: .stream(length: nil) { writer in
                    if afterFirstByte { try await writer.write([0x7b]) }
                    for await _ in gone {}
                })
        }
        try await peer.serve { origin in
            let result = await outcome(try client([origin], timeout: .milliseconds(300)), origin)
            #expect(result == .failure(.noAnswer(.timedOut)))
            goneIn.finish()
        }
    }

    @Test func aCancelledRequestEnds() async throws {
        let (asked, askedIn) = AsyncStream.makeStream(of: Void.self)
        let (gone, goneIn) = AsyncStream.makeStream(of: Void.self)
        let peer = StandIn { _ in
            askedIn.finish()
            for await _ in gone {}
            return .bytes("")
        }
        try await peer.serve { origin in
            let client = try client([origin], timeout: .seconds(60))
            let result = await withTaskGroup(of: Result<Int, OutboundError>.self) { tasks in
                tasks.addTask { await outcome(client, origin) }
                for await _ in asked {}
                tasks.cancelAll()
                return await tasks.next()
            }
            #expect(result == .failure(.noAnswer(.cancelled)))
            goneIn.finish()
        }
    }

    @Test func `a key set is fetched to its end, though whoever asked for it has gone`() async throws {
        let (asked, askedIn) = AsyncStream.makeStream(of: Void.self)
        let (gone, goneIn) = AsyncStream.makeStream(of: Void.self)
        let peer = StandIn { _ in
            askedIn.finish()
            for await _ in gone {}
            return .bytes("{}")
        }
        try await peer.serve { origin in
            let sets = KeySets(
                client: try client([origin]), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let document = await withTaskGroup(of: [UInt8]?.self) { tasks in
                tasks.addTask { try? await sets.keySet(at: origin + "/keys") }
                for await _ in asked {}
                tasks.cancelAll()
                goneIn.finish()
                return await tasks.next() ?? nil
            }
            #expect(document == Array("{}".utf8))
        }
    }

    /// In a process of its own, as the programs that other tests start would inherit the variables.
    @Test func proxiesOfTheEnvironmentAreIgnored() async throws {
        await #expect(processExitsWith: .success) {
            // Port 9 of loopback, where nobody listens.
            for name in ["http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
                #expect(unsafe setenv(name, "http://127.0.0.1:9", 1) == 0)
            }
            let peer = StandIn { _ in .bytes("{}") }
            try await peer.serve { origin in
                let client = OutboundClient(policy: try OutboundPolicy(origins: [origin]), timeout: .seconds(20))
                #expect(try await client.send(.get, origin, maxBytes: 1000).status == 200)
            }
        }
    }
}

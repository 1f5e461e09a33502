import Dispatch
import HTTPTesting
import LibCurl
import Logging
import Synchronization
import Testing

@testable import GatewayCloud

/// Names for which no name server ever answers.
@Suite struct HangingNameTests {
    /// Resolves names from a table. A name that ends in `.hangs` hangs until the end of the test, or until nobody can
    /// wait any longer.
    private final class Names: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        private let limit = DispatchTime.now() + 30
        private let state = Mutex((asked: [String: Int](), answered: 0, isOver: false))

        /// Number of look-ups of a name.
        func count(of name: String) -> Int { state.withLock { $0.asked[name, default: 0] } }

        /// Whether every look-up that hangs still does.
        var allHang: Bool { state.withLock { $0.answered == 0 } }

        func lookUp(_ name: String) -> [String] {
            let isOver = state.withLock { state in
                state.asked[name, default: 0] += 1
                return state.isOver
            }
            if name.hasSuffix(".hangs"), !isOver {
                if gate.wait(timeout: limit) == .success { gate.signal() }
                state.withLock { $0.answered += 1 }
            }
            return name == "nowhere.example" ? [] : ["127.0.0.1"]
        }

        /// Releases the look-ups that hang.
        func end() {
            state.withLock { $0.isOver = true }
            gate.signal()
        }
    }

    private static func outcome(
        _ client: OutboundClient, _ url: String, for purpose: OutboundClient.Purpose = .store
    ) async -> Result<Int, OutboundError> {
        do throws(OutboundError) {
            return .success(try await client.send(.get, url, maxBytes: 100, for: purpose).status)
        } catch {
            return .failure(error)
        }
    }

    /// Runs `body` with a client that uses the test's names, and a server that it may reach by all of them.
    private func withNames(
        timeout: Duration, _ body: @Sendable (Names, OutboundClient, _ port: Substring) async throws -> Void
    ) async throws {
        let peer = StandIn { _ in .bytes("{}") }
        try await peer.serve { origin in
            let port = origin.split(separator: ":")[2]
            let hosts = (0..<40).map { "store-\($0).hangs" } + ["good.example", "nowhere.example"]
            let policy = try OutboundPolicy(origins: hosts.map { "http://\($0):\(port)" })
            let names = Names()
            defer { names.end() }
            try await body(names, OutboundClient(policy: policy, timeout: timeout) { names.lookUp($0) }, port)
        }
    }

    @Test func `names that hang delay nobody else, and their callers are told in time`() async throws {
        try await withNames(timeout: .seconds(4)) { names, client, port in
            await withTaskGroup(of: Void.self) { calls in
                for turn in 0..<200 {
                    calls.addTask {
                        let result = await Self.outcome(client, "http://store-\(turn % 20).hangs:\(port)/")
                        #expect(result == .failure(.noAnswer(.timedOut)) && names.allHang)
                    }
                }
                for purpose in OutboundClient.Purpose.allCases {
                    for _ in 0..<10 {
                        let result = await Self.outcome(client, "http://good.example:\(port)/", for: purpose)
                        #expect(result == .success(200) && names.allHang)
                    }
                }
                await calls.waitForAll()
            }
            // However many calls there are, one thread waits for the name.
            for number in 0..<20 { #expect(names.count(of: "store-\(number).hangs") == 1) }
        }
    }

    @Test func `as many names hang as may be looked up, and key sets are fetched all the same`() async throws {
        try await withNames(timeout: .seconds(4)) { names, client, port in
            let stores = (0..<40).map { "store-\($0).hangs" }
            let underWay = { stores.reduce(0) { $0 + names.count(of: $1) } }
            await withTaskGroup(of: Void.self) { calls in
                for store in stores {
                    calls.addTask {
                        let result = await Self.outcome(client, "http://\(store):\(port)/")
                        #expect(result == .failure(.noAnswer(.timedOut)))
                    }
                }
                while underWay() < 32, names.allHang { await Task.yield() }
                let keySets = KeySets(client: client, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
                let document = try? await keySets.keySet(at: "http://good.example:\(port)/")
                #expect(document == Array("{}".utf8) && names.allHang)
                await calls.waitForAll()
            }
            #expect(underWay() == 32)
            // A later call waits for the look-up that hangs, and gets its answer.
            async let late = Self.outcome(client, "http://store-0.hangs:\(port)/")
            names.end()
            #expect(await late == .success(200))
        }
    }

    @Test func `a call that is given up ends at once, though its name hangs`() async throws {
        try await withNames(timeout: .seconds(60)) { names, client, port in
            let result = await withTaskGroup(of: Result<Int, OutboundError>.self) { calls in
                calls.addTask { await Self.outcome(client, "http://store-1.hangs:\(port)/") }
                while names.count(of: "store-1.hangs") == 0 { await Task.yield() }
                calls.cancelAll()
                return await calls.next() ?? .success(0)
            }
            #expect(result == .failure(.noAnswer(.cancelled)) && names.allHang)
        }
    }

    @Test func `a name without addresses is not found, and an address is not looked up`() async throws {
        try await withNames(timeout: .seconds(20)) { names, client, port in
            let result = await Self.outcome(client, "http://nowhere.example:\(port)/")
            #expect(result == .failure(.noAnswer(.nameNotFound)))
            #expect(await Self.outcome(client, "https://127.0.0.1:\(port)/") == .failure(.notPermitted))
            #expect(names.count(of: "127.0.0.1") == 0)
        }
    }
}

import GatewayCore
import HTTPTesting
import LibCurl
import Logging
import Testing

@testable import GatewayCloud

/// The cost that one hanging server may cause for calls to other servers.
@Suite struct HangingPeerTests {
    private static let timeout = Duration.seconds(5)

    /// Calls a server and measures how long that takes.
    private static func call(_ client: OutboundClient, _ origin: String) async -> (error: OutboundError?, Duration) {
        let start = ContinuousClock.now
        do throws(OutboundError) {
            _ = try await client.send(.get, origin + "/bucket?uploads", maxBytes: 1000)
            return (nil, .now - start)
        } catch {
            return (error, .now - start)
        }
    }

    @Test func `key sets are fetched at once while stores hang, and whoever asked those is told in time`() async throws
    {
        let stores = try HangingServer.Kind.allCases.map { try HangingServer($0) }
        let issuer = StandIn { _ in .bytes("{}") }
        try await issuer.serve { origin in
            let policy = try OutboundPolicy(origins: stores.map(\.origin) + [origin])
            let client = OutboundClient(policy: policy, timeout: Self.timeout)
            let keySets = KeySets(client: client, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let (slowestKeySet, slowestCall) = try await withThrowingTaskGroup(of: Duration.self) { calls in
                for turn in 0..<210 {
                    calls.addTask {
                        let (error, duration) = await Self.call(client, stores[turn % stores.count].origin)
                        #expect(error == .noAnswer(.timedOut))
                        return duration
                    }
                }
                var slowestKeySet = Duration.zero
                for _ in 0..<20 {
                    let start = ContinuousClock.now
                    _ = try await keySets.keySet(at: origin + "/keys")
                    slowestKeySet = max(slowestKeySet, .now - start)
                }
                return (slowestKeySet, try await calls.reduce(.zero, max))
            }
            #expect(slowestKeySet < Self.timeout / 2)
            // A call that waits for one that hangs takes nearly one timeout more.
            #expect(slowestCall < Self.timeout * 3 / 2)
        }
    }

    /// A request that fetches keys anew goes on with those that are held. It must not be too late for the ledger then.
    @Test(.timeLimit(.minutes(1)), arguments: HangingServer.Kind.allCases)
    func `an issuer that hangs is not waited for as long as a store`(kind: HangingServer.Kind) async throws {
        let issuer = try HangingServer(kind)
        let client = OutboundClient(policy: try OutboundPolicy(origins: [issuer.origin]), timeout: .seconds(3600))
        let keySets = KeySets(client: client, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        await #expect(throws: GatewayError.unavailable(retryAfter: 5)) {
            try await keySets.keySet(at: issuer.origin + "/keys")
        }
    }
}

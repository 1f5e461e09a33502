import Testing

@testable import GatewayCore

@Suite struct GateTests {
    /// Holds a place until the test lets it go.
    private func hold(
        _ gate: GatewayCore.Gate, for principal: Principal?, while body: () async throws -> Void
    ) async throws {
        let (inside, entered) = AsyncStream.makeStream(of: Void.self)
        let (end, letGo) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await gate.pass(for: principal) { () async throws(GatewayError) in
                    entered.yield()
                    for await _ in end {}
                }
            }
            var iterator = inside.makeAsyncIterator()
            await iterator.next()
            try await body()
            letGo.finish()
            try await group.waitForAll()
        }
    }

    private func passes(_ gate: GatewayCore.Gate, for principal: Principal?) async -> Bool {
        do throws(GatewayError) {
            return try await gate.pass(for: principal) { () async throws(GatewayError) in true }
        } catch {
            guard case .slowDown = error else { return true }
            return false
        }
    }

    @Test func `a principal has its share, others have what is left, and each place is given back`() async throws {
        let gate = GatewayCore.Gate(size: 3, share: 2)
        let (alice, bob) = (try Principal("user:alice"), try Principal("user:bob"))
        for _ in 0..<2 {
            try await hold(gate, for: alice) {
                #expect(await passes(gate, for: alice))
                try await hold(gate, for: alice) {
                    #expect(await !passes(gate, for: alice))
                    #expect(await passes(gate, for: bob))
                    #expect(await passes(gate, for: nil))
                    try await hold(gate, for: nil) {
                        #expect(await !passes(gate, for: bob))
                        #expect(await !passes(gate, for: nil))
                    }
                }
                #expect(await passes(gate, for: alice))
            }
        }
    }
}

import GatewayCore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ToTheEndTests {
    @Test func `work whose caller is cancelled goes on, and the caller gets its result`() async throws {
        let latch = Latch()
        let caller = Task {
            try await toTheEnd(within: .seconds(3_600)) { () async throws(GatewayError) -> Bool in
                await latch.wait()
                return Task.isCancelled
            }
        }
        await latch.arrival()
        caller.cancel()
        latch.open()
        let isCancelled = try await caller.value
        #expect(!isCancelled)
    }

    @Test func `work that has had its time is cancelled too`() async throws {
        let caller = Task {
            try await toTheEnd(within: .milliseconds(1)) { () async throws(GatewayError) -> Bool in
                try? await Task.sleep(for: .seconds(3_600))
                return Task.isCancelled
            }
        }
        caller.cancel()
        let isCancelled = try await caller.value
        #expect(isCancelled)
    }
}

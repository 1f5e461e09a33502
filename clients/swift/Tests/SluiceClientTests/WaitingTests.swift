import Testing

@testable import SluiceClient

struct WaitingTests {
    @Test("one who waits for a task goes on at its end or after some time, also if cancelled", .timeLimit(.minutes(1)))
    func atMost() async {
        let endless = Task { try? await Task.sleep(for: .seconds(600)) }
        await endless.wait(atMost: .milliseconds(10))
        #expect(!endless.isCancelled)
        endless.cancel()
        let waiting = Task {
            while !Task.isCancelled { await Task.yield() }
            let hasEnded = Locked(false)
            let work = Task {
                try? await Task.sleep(for: .milliseconds(50))
                hasEnded.withLock { $0 = true }
            }
            await work.wait(atMost: .seconds(600))
            return hasEnded.withLock { $0 }
        }
        waiting.cancel()
        let hasWaited = await waiting.value
        #expect(hasWaited)
    }
}

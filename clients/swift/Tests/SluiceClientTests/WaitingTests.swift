import Foundation
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

    @Test("a transfer whose token never comes ends when it is cancelled or paused", .timeLimit(.minutes(1)))
    func endlessToken() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let asked = Asked()
        let client = Sluice(url: url) { isRefresh in
            await asked.note(isRefresh)
            // Cancelling does not end it.
            _ = await Task { try? await Task.sleep(for: .seconds(600)) }.value
            return "key"
        }
        try await withDirectory { directory in
            let file = directory.appendingPathComponent("copy")
            for number in 1...2 {
                // The second download is not refused: the first one has ended.
                let download = client.download(.init(bucket: "demo", key: "a.bin"), to: file)
                while await asked.all.count < number { try await Task.sleep(for: .milliseconds(1)) }
                if number == 1 { download.cancel() } else { download.pause() }
                // A transfer that hangs does not hear of the time limit.
                let ending = Task { try await download.value }
                await #expect(throws: CancellationError.self) { _ = try await ending.valueUnlessCancelled }
            }
        }
    }
}

import Testing

@testable import DevStack

/// Programs that the demo runs.
@Suite struct CommandTests {
    /// Without input: the demo ignores the signal of a pipe that nobody reads, and tests do not.
    @Test func `a program whose task is cancelled ends, whatever has happened until then`() async {
        for step in 0..<60 {
            let task = Task { try await Command(["/bin/sleep", "60"]).run() }
            try? await Task.sleep(for: .microseconds(100 * step))
            task.cancel()
            let result = await task.result
            if case .success(let outcome) = result { #expect(!outcome.succeeded) }
        }
    }
}

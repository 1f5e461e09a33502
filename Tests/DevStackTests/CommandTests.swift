import Testing

@testable import DevStack

/// Programs that the demo runs.
@Suite struct CommandTests {
    /// No pipe holds the longer input, so it is never written to its end.
    @Test(arguments: [0, 1 << 17])
    func `a program whose task is cancelled ends, whatever has happened until then`(length: Int) async {
        let input = String(repeating: "a", count: length)
        for step in 0..<60 {
            let task = Task { try await Command(["/bin/sleep", "60"]).run(input: input) }
            try? await Task.sleep(for: .microseconds(100 * step))
            task.cancel()
            let result = await task.result
            if case .success(let outcome) = result { #expect(!outcome.succeeded) }
        }
    }
}

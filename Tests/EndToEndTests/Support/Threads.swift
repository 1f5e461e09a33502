import Foundation

/// Runs blocking calls on a thread of their own, so that hundreds of them hold up neither Swift's pool nor each other.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result { try body() }) }
        thread.stackSize = 1 << 20
        thread.start()
    }
}

/// Runs so many copies of a blocking loop side by side, each on a thread of its own, until all have returned.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<count {
            group.addTask { try await onThread { try body(index) } }
        }
        try await group.waitForAll()
    }
}

/// What a test waits for did not come about.
struct WaitedTooLong: Error, CustomStringConvertible {
    let description: String
}

/// Asks again and again until the answer is yes.
func waitUntil(
    _ what: String, seconds: Double = 60, _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw WaitedTooLong(description: "waited \(seconds) s until \(what)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

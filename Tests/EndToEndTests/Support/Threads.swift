import Foundation

/// Runs blocking calls on a separate thread, so that hundreds of them hold up neither Swift's pool nor one another.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result { try body() }) }
        thread.stackSize = 1 << 20
        thread.start()
    }
}

/// Runs `count` copies of a blocking loop in parallel, each on its own thread, until all have returned.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<count {
            group.addTask { try await onThread { try body(index) } }
        }
        try await group.waitForAll()
    }
}

/// The error of a test whose awaited condition did not come true.
struct WaitedTooLong: Error, CustomStringConvertible {
    let description: String
}

/// Checks a condition repeatedly until it is true.
func waitUntil(
    _ what: String, seconds: Double = 60, _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw WaitedTooLong(description: "waited \(seconds) s until \(what)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

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

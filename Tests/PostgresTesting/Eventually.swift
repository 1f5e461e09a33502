/// Waits until a condition holds. The test's time limit bounds the wait.
public func eventually(_ condition: () async throws -> Bool) async throws {
    while try await !condition() {
        try await Task.sleep(for: .milliseconds(10))
    }
}

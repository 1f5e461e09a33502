public import Testing

/// The error of a test whose awaited condition did not come true.
public struct WaitedTooLong: Error, CustomStringConvertible {
    /// What was awaited, and for how long.
    public let description: String

    /// Makes an error with a text for the report.
    public init(description: String) { self.description = description }
}

/// Waits until a condition holds.
///
/// - Parameters:
///   - what: The condition, as the error states it.
///   - seconds: The longest wait.
///   - isSo: Checks the condition. It is called repeatedly.
public func waitUntil(
    _ what: String, seconds: Double = 60, _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw WaitedTooLong(description: "waited \(seconds) s until \(what)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Waits until a condition holds, a minute at most. The error names the place of the call.
public func eventually(
    sourceLocation: SourceLocation = #_sourceLocation, _ isSo: () async throws -> Bool
) async throws {
    try await waitUntil("the condition at \(sourceLocation) holds", isSo)
}

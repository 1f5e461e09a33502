import Synchronization

/// Limits how many callers run an operation at the same time.
public final class Gate: Sendable {
    private let size: Int
    private let present = Mutex(0)

    /// Creates a gate.
    ///
    /// - Parameter size: Number of callers admitted at the same time.
    public init(size: Int) {
        self.size = size
    }

    /// Runs an operation unless the gate is full.
    ///
    /// - Parameter body: The operation.
    /// - Returns: The result of `body`.
    /// - Throws: `slowDown` if the gate is full, and whatever `body` throws.
    public func pass<Value: Sendable>(
        _ body: () async throws(GatewayError) -> Value
    ) async throws(GatewayError) -> Value {
        let isAdmitted = present.withLock { present in
            guard present < size else { return false }
            present += 1
            return true
        }
        guard isAdmitted else { throw .slowDown(retryAfter: 1, cause: "too many requests wait for stores") }
        defer { present.withLock { $0 -= 1 } }
        return try await body()
    }
}

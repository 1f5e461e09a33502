import Synchronization

/// Lets so many in at once and no more.
public final class Gate: Sendable {
    private let size: Int
    private let present = Mutex(0)

    /// Makes a gate for so many.
    public init(size: Int) {
        self.size = size
    }

    /// Does something, unless too many are at it.
    ///
    /// - Throws: `slowDown`, and what `body` throws.
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

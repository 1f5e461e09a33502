import Synchronization

/// Limits how many callers run an operation at the same time.
final class Gate: Sendable {
    private struct Present {
        var count = 0
        var byPrincipal: [Principal: Int] = [:]
    }

    private let size: Int
    private let share: Int
    private let purpose: StaticString
    private let present = Mutex(Present())

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - size: Number of callers admitted at the same time.
    ///   - share: How many of them may act for one principal; `nil` for all.
    ///   - purpose: What callers wait for, in the plural, for the refusal.
    init(size: Int, share: Int? = nil, for purpose: StaticString = "stores") {
        self.size = size
        self.purpose = purpose
        self.share = share ?? size
    }

    /// Runs an operation unless the gate is full.
    ///
    /// - Parameters:
    ///   - principal: The principal whose share counts; `nil` for none.
    ///   - body: The operation.
    /// - Returns: The result of `body`.
    /// - Throws: `slowDown` if the gate is full or the principal has its share, and whatever `body` throws.
    func pass<Value: Sendable>(
        for principal: Principal? = nil, _ body: () async throws(GatewayError) -> Value
    ) async throws(GatewayError) -> Value {
        let refusal = present.withLock { present -> Cause? in
            guard present.count < size else { return Cause("too many requests wait for \(purpose)") }
            if let principal {
                guard present.byPrincipal[principal, default: 0] < share else {
                    return Cause("the principal has all the requests that wait for \(purpose) which one may have")
                }
                present.byPrincipal[principal, default: 0] += 1
            }
            present.count += 1
            return nil
        }
        if let refusal { throw .slowDown(retryAfter: 1, cause: refusal) }
        defer {
            present.withLock { present in
                present.count -= 1
                if let principal {
                    let left = present.byPrincipal[principal, default: 0] - 1
                    present.byPrincipal[principal] = left > 0 ? left : nil
                }
            }
        }
        return try await body()
    }
}

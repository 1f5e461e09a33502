import GatewayCore
import Synchronization

/// How much memory the long bodies of each principal take, so that nobody takes all that there is for bodies.
final class LongBodies: Sendable {
    /// Bytes that those of one principal may have: two of the longest.
    static let maxBytes = 2 * GrantBulkEndpoints.maxBatchBytes

    private let bytes = Mutex<[Principal: Int]>([:])

    /// Runs while a body of so many bytes is held.
    ///
    /// - Throws: `slowDown` where the principal holds too many.
    func hold<Result>(
        _ count: Int, of principal: Principal, while body: () async throws -> Result
    ) async throws -> Result {
        let fits = bytes.withLock { bytes in
            let sum = bytes[principal, default: 0] + count
            guard sum <= Self.maxBytes else { return false }
            bytes[principal] = sum
            return true
        }
        guard fits else { throw GatewayError.slowDown(retryAfter: 1) }
        defer {
            bytes.withLock { bytes in
                let left = bytes[principal, default: 0] - count
                bytes[principal] = left > 0 ? left : nil
            }
        }
        return try await body()
    }
}

import GatewayCore
import Synchronization

/// The step that bounds the memory for long bodies: each principal has a share, so that none takes all that there is.
///
/// A body is long where the server hands it over as it arrives. It is read here, for a caller who is known.
final class LongBodies: Sendable {
    /// Bytes that the long bodies of one principal may have together: two of the longest.
    static let maxBytes = 2 * Route.longestBodyBytes

    private let bytes = Mutex<[Principal: Int]>([:])

    /// Runs `body` while so many bytes count as held.
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

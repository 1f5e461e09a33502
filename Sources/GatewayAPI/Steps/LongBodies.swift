import GatewayCore
import Synchronization

/// The step that bounds the memory for long bodies. Each principal has a share, so that none can take all of it.
///
/// A body is long if the server hands it over as it arrives. This step reads it, for a known caller.
final class LongBodies: Sendable {
    /// Bytes that the long bodies of one principal may take together: twice the longest body.
    static let maxBytes = 2 * Route.longestBodyBytes

    private let bytes = Mutex<[Principal: Int]>([:])

    /// Runs `body` while `count` bytes are counted as held.
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
        guard fits else {
            throw GatewayError.slowDown(
                retryAfter: 1, cause: "long bodies of the principal take all the memory that one may have")
        }
        defer {
            bytes.withLock { bytes in
                let left = bytes[principal, default: 0] - count
                bytes[principal] = left > 0 ? left : nil
            }
        }
        return try await body()
    }
}

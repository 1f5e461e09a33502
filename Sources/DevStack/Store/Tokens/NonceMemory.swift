import Synchronization

/// Remembers the nonces of recent calls, so that a call cannot be repeated.
final class NonceMemory: Sendable {
    private let ends = Mutex<[String: Int64]>([:])
    private static let most = 10_000

    /// Notes a nonce; returns whether it is new.
    ///
    /// - Parameters:
    ///   - end: When a call with this nonce is too old anyway, in seconds since 1970.
    ///   - now: The current time, likewise.
    func take(_ nonce: String, until end: Int64, at now: Int64) -> Bool {
        ends.withLock { ends in
            if ends.count >= Self.most { ends = ends.filter { $0.value > now } }
            guard ends.count < Self.most, ends[nonce] == nil else { return false }
            ends[nonce] = end
            return true
        }
    }
}

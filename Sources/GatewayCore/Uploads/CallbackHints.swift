import FoundationEssentials
import LibCrypto
import Synchronization

/// Limits what callbacks without a secret may cost. Anyone can have Alibaba OSS sign them, for any bucket, and can
/// replay them.
///
/// What a caller can see is decided before the bucket is looked up. Whoever uses up the share of a bucket is not told:
/// that would tell that the bucket exists.
final class CallbackHints: Sendable {
    /// SHA-256 of what was signed.
    typealias Digest = [UInt8]

    /// What one bucket at OSS may use.
    private struct Share {
        var allowance = TokenBucket(burst: CallbackHints.shareBurst, perSecond: CallbackHints.sharePerSecond)
        let looks = Gate(size: CallbackHints.looksOfShare)
    }

    private struct State {
        var allowance = TokenBucket(burst: CallbackHints.burst, perSecond: CallbackHints.perSecond)
        /// When each was admitted.
        var admitted = LeastRecentlyUsed<Digest, Date>(maxCount: 16_384, maxCost: .max)
        var shares = LeastRecentlyUsed<BucketName, Share>(maxCount: 4096, maxCost: .max)
    }

    /// Maximum burst of callbacks about whatever buckets, and the number per second after it.
    static let burst = 512.0
    static let perSecond = 512.0
    /// Maximum burst of callbacks about one bucket, and the number per second after it.
    static let shareBurst = 64.0
    static let sharePerSecond = 32.0
    /// How many requests to the store of one bucket may run at once.
    static let looksOfShare = 16
    /// Number of seconds for which the repetition of a callback is ignored.
    static let repetitionTime: TimeInterval = 300

    private let state = Mutex(State())
    /// Limits how many requests to all stores run at once.
    private let looks = Gate(size: 64)

    /// Admits a callback; `nil` if it repeats another of the last minutes, which costs nothing.
    ///
    /// - Parameter message: What was signed.
    /// - Throws: `slowDown` if there are too many.
    func admit(_ message: [UInt8], at now: Date) throws(GatewayError) -> Digest? {
        let digest = DigestAlgorithm.sha256.digest(of: message).bytes
        let isAdmitted = state.withLock { state -> Bool? in
            if let admittedAt = state.admitted.value(for: digest),
                abs(now.timeIntervalSince(admittedAt)) < Self.repetitionTime
            {
                return false
            }
            guard state.allowance.take(at: now) else { return nil }
            state.admitted.insert(now, for: digest, cost: 1)
            return true
        }
        guard let isAdmitted else {
            throw .slowDown(retryAfter: 1, cause: "too many callbacks without a secret")
        }
        return isAdmitted ? digest : nil
    }

    /// Forgets a callback that had no effect, so that it can be sent again.
    func forget(_ digest: Digest) {
        state.withLock { $0.admitted.remove(digest) }
    }

    /// Takes one callback from the share of a bucket; `nil` if none is left.
    func share(of bucket: BucketName, at now: Date) -> Gate? {
        state.withLock { state -> Gate? in
            if state.shares.value(for: bucket) == nil { state.shares.insert(Share(), for: bucket, cost: 1) }
            let looks = state.shares.withValue(for: bucket) { share -> Gate? in
                share.allowance.take(at: now) ? share.looks : nil
            }
            return looks ?? nil
        }
    }

    /// Runs a request to a store, unless too many run for its bucket or for all.
    func pass<Value: Sendable>(
        _ share: Gate, _ body: () async throws(GatewayError) -> Value
    ) async throws(GatewayError) -> Value {
        try await share.pass { () async throws(GatewayError) in try await looks.pass(body) }
    }
}

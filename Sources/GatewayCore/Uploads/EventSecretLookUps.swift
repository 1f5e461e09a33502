import FoundationEssentials
import Synchronization

/// Remembers recently received event secrets and limits how many unknown ones are looked up.
///
/// Secrets are random, so a text that is not a bucket's secret becomes one only if a restore or a failover undoes the
/// secret's rotation or removal. While it is remembered, such a text is not looked up again for a minute. Whether a
/// known secret is still valid is read each time, so a removed secret is refused at once.
final class EventSecretLookUps: Sendable {
    /// SHA-256 of the text of a secret.
    typealias Digest = [UInt8]

    private struct State {
        /// When each was refused.
        var refused = LeastRecentlyUsed<Digest, Date>(maxCount: 16_384, maxCost: .max)
        var accepted = LeastRecentlyUsed<Digest, Void>(maxCount: 4096, maxCost: .max)
        var allowance = TokenBucket(burst: EventSecretLookUps.burst, perSecond: EventSecretLookUps.perSecond)
    }

    /// Maximum burst of look-ups for unknown secrets, and the number per second after it.
    static let burst = 512.0
    static let perSecond = 512.0
    /// Number of seconds for which a refused text is not looked up again.
    static let refusalLife: TimeInterval = 60

    private let state = Mutex(State())

    /// Returns whether a digest was found to belong to no secret in the last minute. For an unknown digest, the call
    /// also uses up one look-up.
    ///
    /// - Throws: `slowDown` if too many unknown secrets are being looked up.
    func isRefused(_ digest: Digest, at now: Date) throws(GatewayError) -> Bool {
        let answer = state.withLock { state -> Bool? in
            if let refusedAt = state.refused.value(for: digest),
                abs(now.timeIntervalSince(refusedAt)) < Self.refusalLife
            {
                return true
            }
            if state.accepted.value(for: digest) != nil { return false }
            return state.allowance.take(at: now) ? false : nil
        }
        guard let answer else {
            throw .slowDown(retryAfter: 1, cause: "too many event secrets that are not known were asked for")
        }
        return answer
    }

    /// Remembers the result of a look-up.
    func note(_ digest: Digest, isGood: Bool, at now: Date) {
        state.withLock { state in
            if isGood {
                state.refused.remove(digest)
                state.accepted.insert((), for: digest, cost: 1)
            } else {
                state.accepted.remove(digest)
                state.refused.insert(now, for: digest, cost: 1)
            }
        }
    }
}

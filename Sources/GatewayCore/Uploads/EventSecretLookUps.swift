import FoundationEssentials
import Synchronization

/// Remembers recently received event secrets and limits how many unknown ones are looked up.
///
/// A text that is not a bucket's secret never becomes one, because secrets are random. Such a text is not looked up
/// twice. Whether a known secret is still valid is read each time, so a removed secret is refused at once.
final class EventSecretLookUps: Sendable {
    /// SHA-256 of the text of a secret.
    typealias Digest = [UInt8]

    private struct State {
        var refused = LeastRecentlyUsed<Digest, Void>(maxCount: 16_384, maxCost: .max)
        var accepted = LeastRecentlyUsed<Digest, Void>(maxCount: 4096, maxCost: .max)
        var allowance = TokenBucket(burst: EventSecretLookUps.burst, perSecond: EventSecretLookUps.perSecond)
    }

    /// Maximum burst of look-ups for unknown secrets, and the number per second after it.
    static let burst = 512.0
    static let perSecond = 512.0

    private let state = Mutex(State())

    /// Returns whether a digest is known to belong to no secret. For an unknown digest, the call also uses up one
    /// look-up.
    ///
    /// - Throws: `slowDown` if too many unknown secrets are being looked up.
    func isRefused(_ digest: Digest, at now: Date) throws(GatewayError) -> Bool {
        let answer = state.withLock { state -> Bool? in
            if state.refused.value(for: digest) != nil { return true }
            if state.accepted.value(for: digest) != nil { return false }
            return state.allowance.take(at: now) ? false : nil
        }
        guard let answer else {
            throw .slowDown(retryAfter: 1, cause: "too many event secrets that are not known were asked for")
        }
        return answer
    }

    /// Remembers the result of a look-up.
    func note(_ digest: Digest, isGood: Bool) {
        state.withLock { state in
            if isGood {
                state.accepted.insert((), for: digest, cost: 1)
            } else {
                state.accepted.remove(digest)
                state.refused.insert((), for: digest, cost: 1)
            }
        }
    }
}

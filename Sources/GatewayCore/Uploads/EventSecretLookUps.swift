import Foundation
import Synchronization

/// What is remembered of secrets that stores sent, and how many unknown ones are looked up.
///
/// A text that is no bucket's secret never becomes one, since secrets are drawn at random: it is not looked up twice. That a
/// secret is good is read each time, so that one which is removed is dead at once.
final class EventSecretLookUps: Sendable {
    /// SHA-256 of a secret's text.
    typealias Digest = [UInt8]

    private struct State {
        var refused = LeastRecentlyUsed<Digest, Void>(maxCount: 16_384, maxCost: .max)
        var accepted = LeastRecentlyUsed<Digest, Void>(maxCount: 4096, maxCost: .max)
        var allowance = Allowance(burst: EventSecretLookUps.burst, perSecond: EventSecretLookUps.perSecond)
    }

    /// Most look-ups of unknown secrets at once, and in a second after that.
    static let burst = 512.0
    static let perSecond = 512.0

    private let state = Mutex(State())

    /// Whether a secret is known to be nobody's; takes it into account where it has to be looked up.
    ///
    /// - Throws: `slowDown` where too many unknown ones are looked up already.
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

    /// Remembers what came of a look-up.
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

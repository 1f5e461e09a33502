import Foundation
import GatewayCore
import Synchronization

/// The claims of idempotency keys that this gateway works for.
final class LiveClaims: Sendable {
    private struct State {
        /// By attempt.
        var claims: [UUID: IdempotencyClaim] = [:]
        /// Attempts that were there in the last round.
        var seen: Set<UUID> = []
    }

    private let state = Mutex(State())

    func insert(_ claim: IdempotencyClaim) {
        state.withLock { $0.claims[claim.attempt] = claim }
    }

    func remove(_ claim: IdempotencyClaim) {
        state.withLock { _ = $0.claims.removeValue(forKey: claim.attempt) }
    }

    /// Begins a round; gives the claims that the last round met as well.
    func nextRound() -> [IdempotencyClaim] {
        state.withLock { state in
            defer { state.seen = Set(state.claims.keys) }
            return state.seen.compactMap { state.claims[$0] }
        }
    }
}

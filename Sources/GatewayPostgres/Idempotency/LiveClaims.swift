import FoundationEssentials
import GatewayCore
import Synchronization

/// The claims of idempotency keys that belong to requests this gateway is answering.
final class LiveClaims: Sendable {
    private struct State {
        /// The claims, by attempt.
        var claims: [UUID: IdempotencyClaim] = [:]
        /// Attempts that existed in the last round.
        var seen: Set<UUID> = []
    }

    private let state = Mutex(State())

    func insert(_ claim: IdempotencyClaim) {
        state.withLock { $0.claims[claim.attempt] = claim }
    }

    func remove(_ claim: IdempotencyClaim) {
        state.withLock { _ = $0.claims.removeValue(forKey: claim.attempt) }
    }

    /// Begins a round. Returns the claims that the last round saw too.
    func nextRound() -> [IdempotencyClaim] {
        state.withLock { state in
            defer { state.seen = Set(state.claims.keys) }
            return state.seen.compactMap { state.claims[$0] }
        }
    }
}

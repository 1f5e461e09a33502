import GatewayCore
import LibPQ

extension PostgresTransaction {
    /// Ties a change to the claim of the request's idempotency key, if it has one: both are committed, or neither is.
    ///
    /// - Throws: `idempotency` where another request acts for the key by now, so that this one must change nothing.
    func mark(_ change: ChangeContext) throws {
        guard let claim = change.claim else { return }
        guard try perform(IdempotencyStatements.mark, claim) == 1 else {
            throw GatewayError.idempotency(.inFlight(retryAfter: 1))
        }
    }
}

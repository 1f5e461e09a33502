/// A request that came with an idempotency key, as far as it is kept: digests only.
public struct IdempotentRequest: Sendable, Equatable {
    /// Who sent it.
    public var caller: Principal
    /// The operation: its method and the template of its path.
    public var route: String
    /// SHA-256 of the key, 32 bytes.
    public var keyDigest: [UInt8]
    /// SHA-256 of key, target and body, 32 bytes.
    public var bodyDigest: [UInt8]

    /// Puts it together.
    public init(caller: Principal, route: String, keyDigest: [UInt8], bodyDigest: [UInt8]) {
        self.caller = caller
        self.route = route
        self.keyDigest = keyDigest
        self.bodyDigest = bodyDigest
    }
}

/// What is known of a request with an idempotency key before it is answered.
public enum IdempotencyState: Sendable {
    /// Nothing has come of it yet.
    case fresh(IdempotencyClaim)
    /// It took effect, and the answer was kept, if such an answer is.
    case answered(IdempotencyClaim, answer: [UInt8]?)
    /// It took effect, and nobody knows whether it was answered: a gateway died between the two.
    case interrupted(IdempotencyClaim)
}

/// Remembers requests with idempotency keys for 24 hours.
public protocol IdempotencyStore: Sendable {
    /// Claims a key.
    ///
    /// - Throws: `idempotency` where the key came with another request or is being acted for, `unavailable`.
    func begin(_ request: IdempotentRequest) async throws(GatewayError) -> IdempotencyState

    /// Ends a claim that took effect.
    ///
    /// - Parameter answer: What to answer from now on; sealed at rest.
    /// - Throws: `unavailable`; the next request finds it interrupted then.
    func finish(_ claim: IdempotencyClaim, answer: [UInt8]?) async throws(GatewayError)

    /// Ends a claim that came to nothing, so that the same request may be tried again.
    ///
    /// - Throws: `unavailable`; the claim runs out by itself then.
    func abandon(_ claim: IdempotencyClaim) async throws(GatewayError)

    /// A ledger that records each of a claim's issuances once, in one transaction with the claim, and afterwards proves them
    /// only: the decision has to stand, and to be the one that is on record.
    func ledger(for claim: IdempotencyClaim) -> any IssuanceLedger
}

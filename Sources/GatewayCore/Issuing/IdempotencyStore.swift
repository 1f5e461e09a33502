/// A request that carries an idempotency key, in the form that is stored: digests only.
public struct IdempotentRequest: Sendable, Equatable {
    /// The principal that sent the request.
    public var caller: Principal
    /// The operation: HTTP method and path template.
    public var route: String
    /// SHA-256 of the key, 32 bytes.
    public var keyDigest: [UInt8]
    /// SHA-256 of all that distinguishes requests with one key: the key, the path and query, `If-Match`, the admin
    /// scopes of the credential and the body; 32 bytes.
    public var bodyDigest: [UInt8]

    /// Creates a stored form of a request from its digests.
    public init(caller: Principal, route: String, keyDigest: [UInt8], bodyDigest: [UInt8]) {
        self.caller = caller
        self.route = route
        self.keyDigest = keyDigest
        self.bodyDigest = bodyDigest
    }
}

/// The state of an idempotency key when a request with it arrives.
public enum IdempotencyState: Sendable {
    /// No request with this key has taken effect yet.
    case fresh(IdempotencyClaim)
    /// The request took effect. `answer` is the stored answer, or `nil` if this kind of answer is not stored.
    case answered(IdempotencyClaim, answer: [UInt8]?)
    /// The request took effect, but it is unknown whether it was answered: a gateway died in between.
    case interrupted(IdempotencyClaim)
}

/// Remembers requests with idempotency keys for 24 hours.
public protocol IdempotencyStore: Sendable {
    /// Claims a key for a request.
    ///
    /// - Throws: `idempotency` if the key was sent with another request, or if a request with the key is still in
    ///   progress; `unavailable`.
    func begin(_ request: IdempotentRequest) async throws(GatewayError) -> IdempotencyState

    /// Ends the claim of a request that took effect.
    ///
    /// - Parameter answer: The answer to repeat from now on; sealed at rest.
    /// - Throws: `unavailable`; the next request with this key then finds the state `interrupted`.
    func finish(_ claim: IdempotencyClaim, answer: [UInt8]?) async throws(GatewayError)

    /// Ends the claim of a request that had no effect. The same request can then be tried again.
    ///
    /// - Throws: `unavailable`; the claim then expires by itself.
    func abandon(_ claim: IdempotencyClaim) async throws(GatewayError)

    /// Returns a ledger that records each issuance of a claim once, in one transaction with the claim. When the request
    /// is repeated, the ledger only proves the issuance: the decision must still be valid and must equal the recorded
    /// one.
    func ledger(for claim: IdempotencyClaim) -> any IssuanceLedger
}

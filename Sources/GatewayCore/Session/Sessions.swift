public import Foundation

/// Issues temporary credentials: look up, decide, open a session, record, answer.
///
/// Nothing is answered that is not on record, and the record proves the decision again: what changed while the service was
/// asked counts.
public struct Sessions: Sendable {
    private let cache: PolicyCache
    private let authenticator: any Authenticator
    private var ledger: any IssuanceLedger
    private var repeatable: RepeatableIssuing?
    private let sessions: SessionCache
    private let now: @Sendable () -> Date
    private let randomBytes: @Sendable (Int) throws -> [UInt8]

    private static let maxAttempts = 32

    /// Puts the use case together.
    ///
    /// - Parameters:
    ///   - cache: The rows to decide by.
    ///   - authenticator: Checks a caller's token anew when policy changed meanwhile.
    ///   - ledger: Where issuances are proved, charged and recorded.
    ///   - sessions: Opens sessions, or shares those that are open.
    ///   - now: The clock that the services compare with.
    ///   - randomBytes: As many bytes as asked for that nobody can predict.
    public init(
        cache: PolicyCache, authenticator: any Authenticator, ledger: any IssuanceLedger, sessions: SessionCache,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.cache = cache
        self.authenticator = authenticator
        self.ledger = ledger
        self.sessions = sessions
        self.now = now
        self.randomBytes = randomBytes
    }

    /// The same use case for a request that came with an idempotency key: what it issued already is proved, and given again as
    /// long as it is held.
    public func repeating(_ issuing: RepeatableIssuing?) -> Sessions {
        guard let issuing else { return self }
        var copy = self
        copy.ledger = issuing.ledger
        copy.repeatable = issuing
        return copy
    }

    /// Issues temporary credentials.
    ///
    /// - Parameters:
    ///   - request: What is asked for.
    ///   - caller: Who asks, authenticated.
    ///   - sourceAddress: Where the request came from; `nil` where that cannot be known.
    ///   - requestID: Identifier of the request, as in logs.
    ///   - deadline: After this nothing is recorded any more.
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. No credential left then.
    public func issue(
        _ request: SessionRequest, for caller: Caller, sourceAddress: IPAddress?, requestID: String,
        deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> IssuedSession {
        var caller = caller
        var isConfirmed = false
        for _ in 0..<Self.maxAttempts {
            let found = try await cache.access(
                of: caller.principal, groups: caller.groups, to: request.bucket, around: request.prefix)
            guard let policy = found else { throw .notEnforceable(reason: Self.tooManyReason) }
            let instant = now()
            if let end = caller.expiresAt, end <= instant { throw .expiredToken }
            let decision = decideSession(
                request, for: caller.subject, under: policy, sourceAddress: sourceAddress, now: instant)
            switch decision {
            // No position covers both the caller's token and the rows: only after a failover or a restart of the cache.
            case _ where !caller.position.mayPrecede(policy.position): break
            // A role may have been set up since the rows were read, and a refusal is nowhere proved.
            case .permit(let permit) where permit.credential.sessionRole == nil && !isConfirmed: break
            case .permit(let permit):
                let session = try await open(permit, for: caller, policy)
                let proposal = try proposal(request, permit, session, caller, policy, requestID)
                switch try await ledger.record(proposal, deadline: deadline) {
                case .recorded(let remaining):
                    return IssuedSession(
                        id: proposal.id, credential: session, bucket: permit.bucket, scope: permit.scope,
                        omissions: permit.omissions,
                        quotas: caller.balances(of: permit.charges, remaining))
                case .quotaExceeded(let refusal): throw refused(caller.error(for: refusal), caller, policy)
                case .stale: break
                }
            case .refuse(let refusal):
                guard !isConfirmed else { throw refused(refusal.error, caller, policy) }
            }
            try await cache.advance()
            isConfirmed = true
            caller = try await authenticator.authenticate(caller.token)
        }
        throw .slowDown(retryAfter: 1)
    }

    private func open(
        _ permit: SessionPermit, for caller: Caller, _ policy: AccessPolicy
    ) async throws(GatewayError) -> SessionCredential {
        guard let role = permit.credential.sessionRole else {
            throw refused(.notEnforceable(reason: Self.noRoleReason), caller, policy)
        }
        let text = role.dialect.policy(of: permit.scope)
        guard text.utf8.count <= SessionPolicyDialect.maxCharacters else {
            let reason = "The session policy would have \(text.utf8.count) characters, and 2,048 are allowed; "
            throw refused(.notEnforceable(reason: reason + Self.otherDeliveries), caller, policy)
        }
        try prove(text, in: role.dialect, by: permit)
        let order = SessionOrder(
            credential: permit.credential, role: role, name: SessionName.text(for: caller.principal), policy: text,
            duration: min(permit.duration, role.maxDuration), principal: caller.principal)
        return try await sessions.session(order, endingBy: permit.latestEnd)
    }

    private func proposal(
        _ request: SessionRequest, _ permit: SessionPermit, _ session: SessionCredential, _ caller: Caller,
        _ policy: AccessPolicy, _ requestID: String
    ) throws(GatewayError) -> IssuanceProposal {
        guard let bytes = try? randomBytes(10), bytes.count == 10 else { throw .unavailable(retryAfter: 1) }
        return IssuanceProposal(
            id: repeatable?.issuance(at: 0).id(at: now()) ?? .version7(at: now(), randomBytes: bytes),
            position: caller.position,
            scopes: policy.scopes(with: caller),
            principal: caller.principal,
            matchedPrincipal: permit.grant.principal,
            grantID: permit.grant.id,
            credentialID: permit.credential.id,
            delivery: .sts,
            actions: permit.scope.actions,
            bucket: request.bucket,
            prefix: request.prefix,
            expiresAt: session.expiresAt,
            requestID: requestID,
            charges: permit.charges
        )
    }

    private func refused(_ error: GatewayError, _ caller: Caller, _ policy: AccessPolicy) -> GatewayError {
        ledger.count(Denial(principal: caller.principal, bucket: policy.bucket?.name, code: error.code))
        return error
    }

    private static let otherDeliveries =
        "ask for a narrower prefix, or for presigned URLs (POST /v1/presigned-urls) instead."
    private static let tooManyReason =
        "More grants bear on the prefix than a session policy can name; " + otherDeliveries
    private static let noRoleReason =
        "No role is set up for temporary credentials on this bucket; ask for presigned URLs instead."
}

/// Temporary credentials that are on record and may leave the process.
public struct IssuedSession: Sendable, CustomStringConvertible {
    /// Identifier of the row in the ledger.
    public let id: UUID
    /// The credentials.
    public let credential: SessionCredential
    /// The bucket they are for.
    public let bucket: Bucket
    /// What they permit.
    public let scope: SessionScope
    /// What they go without.
    public let omissions: [SessionOmission]
    /// The quotas that were charged, with what is left of each.
    public let quotas: [QuotaBalance]

    /// Names the issuance, never the credentials.
    public var description: String { "IssuedSession(\(id))" }
}

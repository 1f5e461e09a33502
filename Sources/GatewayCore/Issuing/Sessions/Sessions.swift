public import FoundationEssentials

/// Issues temporary credentials: look up, decide, open a session, record, answer.
///
/// Recording proves the decision again. A change of policy during the request to the token service therefore takes
/// effect.
public struct Sessions: Sendable {
    private let issuing: ProvenIssuing
    private let sessions: SessionCache

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - issuing: Proves and records.
    ///   - sessions: Opens sessions, or shares those already open.
    public init(_ issuing: ProvenIssuing, sessions: SessionCache) {
        self.issuing = issuing
        self.sessions = sessions
    }

    /// Issues temporary credentials. If a request with an idempotency key is repeated, the issuance is proved again and
    /// its credentials are returned as long as they are cached.
    ///
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. If it throws, no
    ///   credential has left the process.
    public func issue(
        _ request: SessionRequest, in context: RequestContext
    ) async throws(GatewayError) -> IssuedSession {
        try await issuing.issue(SessionBody(request: request, sessions: sessions), in: context)
    }
}

/// Temporary credentials from a security token service.
struct SessionBody: ProvenBody {
    struct Content {
        let session: SessionCredential
        let permit: SessionPermit
    }

    let request: SessionRequest
    let sessions: SessionCache

    var target: RefusalTarget {
        RefusalTarget(
            request.actions.flatMap { $0.count == 1 ? $0.first : nil }, on: request.prefix.rawValue,
            in: request.bucket)
    }

    func policy(for caller: Caller, in cache: PolicyCache) async throws(GatewayError) -> AccessPolicy {
        let policy = try await cache.access(
            of: caller.principal, groups: caller.groups, to: request.bucket, around: request.prefix)
        guard let policy else { throw .notEnforceable(reason: Self.tooManyReason) }
        return policy
    }

    func draft(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date, for issuing: ProvenIssuing
    ) async throws(GatewayError) -> Drafted<Content> {
        let decision = decideSession(
            request, for: attempt.caller.subject, under: policy, sourceAddress: attempt.context.sourceAddress,
            now: instant)
        switch decision {
        case .refuse(let refusal): return .refused(refusal)
        case .permit(let permit):
            guard let role = permit.credential.sessionRole else {
                return .refused(.unmet(.notEnforceable(reason: Self.noRoleReason), of: permit.grant))
            }
            let text = role.policy(of: permit.scope)
            guard text.utf8.count <= SessionPolicyDialect.maxCharacters else {
                let reason =
                    "The session policy would have \(text.utf8.count) characters, more than the 2,048 that are allowed; "
                return .refused(
                    .unmet(.notEnforceable(reason: reason + Self.otherDeliveries), of: permit.grant))
            }
            try prove(text, in: role.dialect, role.partition, key: role.kmsKey, by: permit)
            let duration = min(permit.duration, role.maxDuration)
            let isLongEnough =
                request.leastLife <= SessionRequest.defaultLeastLife
                || duration >= request.leastLife + SessionRequest.freshness
            guard isLongEnough || request.acceptsLess else {
                return .refused(.unmet(.notEnforceable(reason: Self.shortReason(duration)), of: permit.grant))
            }
            let order = SessionOrder(
                credential: permit.credential, role: role, name: SessionName.text(for: attempt.caller.principal),
                policy: text, duration: duration, principal: attempt.caller.principal)
            let session = try await sessions.session(
                order, endingBy: permit.latestEnd,
                leastLife: isLongEnough ? request.leastLife : SessionRequest.defaultLeastLife)
            let proposal = try proposal(for: session, permit, policy, attempt, issuing)
            return .draft(
                Draft(proposal, Content(session: session, permit: permit), by: permit.bucket.linkScheme))
        }
    }

    func issued(_ draft: Draft<Content>, quotas: [QuotaBalance]) -> IssuedSession {
        let permit = draft.content.permit
        return IssuedSession(
            id: draft.proposal.id, credential: draft.content.session, bucket: permit.bucket, scope: permit.scope,
            omissions: permit.omissions, quotas: quotas)
    }

    private func proposal(
        for session: SessionCredential, _ permit: SessionPermit, _ policy: AccessPolicy, _ attempt: ProofAttempt,
        _ issuing: ProvenIssuing
    ) throws(GatewayError) -> IssuanceProposal {
        let caller = attempt.caller
        return IssuanceProposal(
            id: try issuing.id(of: attempt.context.repeatable?.issuance(at: 0), at: issuing.now()),
            position: caller.position,
            scopes: policy.scopes(with: caller),
            principal: caller.principal,
            matchedPrincipal: permit.grant.principal,
            grantID: permit.grant.id,
            credentialID: permit.credential.id,
            delivery: .sts,
            actions: permit.scope.actions,
            bucket: request.bucket,
            prefix: permit.scope.commonPrefix,
            expiresAt: session.expiresAt,
            requestID: attempt.context.requestID,
            charges: permit.charges
        )
    }

    private static let otherDeliveries =
        "ask for a narrower prefix, or for presigned URLs (POST /v1/presigned-urls) instead."
    private static let tooManyReason =
        "More grants affect the prefix than a session policy can list; " + otherDeliveries
    private static func shortReason(_ seconds: Int) -> String {
        """
        The client needs temporary credentials that live for a quarter of an hour after they are fetched, and only \
        \(seconds) seconds are allowed here; the grant, the bucket or the role must allow 960.
        """
    }
    private static let noRoleReason =
        "This bucket's credential has no role for temporary credentials; ask for presigned URLs instead."
}

/// Temporary credentials that are recorded in the ledger and may leave the process.
public struct IssuedSession: Sendable, CustomStringConvertible {
    /// Identifier of the ledger row.
    public let id: UUID
    /// The temporary credentials.
    public let credential: SessionCredential
    /// The bucket that the credentials are for.
    public let bucket: Bucket
    /// The actions and prefixes that the credentials permit.
    public let scope: SessionScope
    /// Actions and prefixes that the credentials omit, with reasons.
    public let omissions: [SessionOmission]
    /// The quotas that were charged, and what remains of each.
    public let quotas: [QuotaBalance]

    /// The issuance id, without the credentials.
    public var description: String { "IssuedSession(\(id))" }
}

import FoundationEssentials
import Signing

/// Cookies of a content delivery network.
struct CookieBody: ProvenBody {
    struct Content {
        let signed: SignedCookies
        let permit: CookiePermit
    }

    let request: CookieRequest
    let signer: URLSigner

    var target: RefusalTarget { RefusalTarget(.getObject, on: request.prefix.rawValue, in: request.bucket) }

    func policy(for caller: Caller, in cache: PolicyCache) async throws(GatewayError) -> AccessPolicy {
        let policy = try await cache.access(
            of: caller.principal, groups: caller.groups, to: request.bucket, around: request.prefix)
        guard let policy else {
            throw .notEnforceable(reason: "Too many grants exist below the prefix; ask for a longer one.")
        }
        return policy
    }

    @inline(never)
    func draft(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date, for issuing: ProvenIssuing
    ) throws(GatewayError) -> Drafted<Content> {
        switch decided(under: policy, in: attempt, at: instant) {
        case .refuse(let refusal): return .refused(refusal)
        case .permit(let permit):
            let repeatable = attempt.context.repeatable?.issuance(at: 0).bound(to: permit.sourceAddress)
            let permit = try repeatable.permit(permit, at: instant) { decidedAt in
                decided(under: policy, in: attempt, at: decidedAt)
            }
            let signed = try signer.cookies(by: permit)
            let id = try issuing.id(of: repeatable, at: instant)
            return .draft(
                Draft(
                    IssuanceProposal(id, permit, for: request.actions, policy, attempt),
                    Content(signed: signed, permit: permit), by: permit.bucket.linkScheme))
        }
    }

    private func decided(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date
    ) -> Verdict<CookiePermit> {
        decideCookies(
            request, for: attempt.caller.subject, under: policy, sourceAddress: attempt.context.sourceAddress,
            now: instant)
    }

    func issued(_ draft: Draft<Content>, quotas: [QuotaBalance]) -> IssuedCookies {
        let (signed, permit) = (draft.content.signed, draft.content.permit)
        return IssuedCookies(
            id: draft.proposal.id, bucket: request.bucket, prefix: request.prefix, cookies: Secret(signed.cookies),
            url: signed.url, host: signed.host, path: signed.path, expiresAt: permit.expiresAt,
            expiresIn: permit.expiresIn, quotas: quotas)
    }
}

extension IssuanceProposal {
    /// Creates the proposal for cookies.
    fileprivate convenience init(
        _ id: UUID, _ permit: CookiePermit, for actions: Set<Action>, _ policy: AccessPolicy, _ attempt: ProofAttempt
    ) {
        let caller = attempt.caller
        self.init(
            id: id, position: caller.position, scopes: policy.scopes(with: caller), principal: caller.principal,
            matchedPrincipal: permit.grant.principal, grantID: permit.grant.id, credentialID: permit.credential.id,
            delivery: .cdnCookies, actions: actions,
            method: IssueRequest.Method.get.rawValue, bucket: permit.bucket.name, prefix: permit.prefix,
            expiresAt: permit.expiresAt, requestID: attempt.context.requestID, charges: permit.charges)
    }
}

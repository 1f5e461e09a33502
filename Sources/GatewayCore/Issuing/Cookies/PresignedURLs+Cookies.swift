public import FoundationEssentials
public import Signing

extension PresignedURLs {
    /// Issues cookies with which a client downloads from a bucket's content delivery network.
    ///
    /// - Throws: The same errors as ``issue(_:in:)`` for a URL.
    public func issue(
        _ request: CookieRequest, in context: RequestContext
    ) async throws(GatewayError) -> IssuedCookies {
        try await issuing.issue(CookieBody(request: request, signer: signer), in: context)
    }
}

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
            var repeatable = attempt.context.repeatable?.issuance(at: 0)
            if let address = permit.sourceAddress { repeatable = repeatable?.bound(to: address) }
            let permit = try repeatable.permit(permit, at: instant) { decidedAt in
                decided(under: policy, in: attempt, at: decidedAt)
            }
            let signed = try signer.cookies(by: permit)
            let id = try issuing.id(of: repeatable, at: permit.decidedAt)
            return .draft(
                Draft(
                    IssuanceProposal(id, permit, policy, attempt), Content(signed: signed, permit: permit),
                    by: permit.bucket.linkScheme))
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
    fileprivate convenience init(_ id: UUID, _ permit: CookiePermit, _ policy: AccessPolicy, _ attempt: ProofAttempt) {
        let caller = attempt.caller
        self.init(
            id: id, position: caller.position, scopes: policy.scopes(with: caller), principal: caller.principal,
            matchedPrincipal: permit.grant.principal, grantID: permit.grant.id, credentialID: permit.credential.id,
            delivery: .cdnCookies, actions: [.getObject],
            method: IssueRequest.Method.get.rawValue, bucket: permit.bucket.name, prefix: permit.prefix,
            expiresAt: permit.expiresAt, requestID: attempt.context.requestID, charges: permit.charges)
    }
}

/// Cookies that are recorded in the ledger and may leave the process.
public struct IssuedCookies: Sendable, CustomStringConvertible {
    /// Identifier of the ledger row.
    public let id: UUID
    /// The bucket.
    public let bucket: BucketName
    /// What the cookies open: all keys that begin with the prefix, or the one key that it is.
    public let prefix: ExactText
    /// Names and values of the cookies. Anyone who holds them can use them.
    public let cookies: Secret<[NamedValue]>
    /// The URL of the object, or what the URLs of all objects begin with; without a signature.
    public let url: String
    /// The host that must receive the cookies.
    public let host: String
    /// The percent-encoded path of the URL.
    public let path: String
    /// The instant from which the cookies are no longer valid, by the signing clock; a whole second.
    public let expiresAt: Date
    /// Lifetime in seconds.
    public let expiresIn: Int
    /// The quotas that were charged, and what remains of each.
    public let quotas: [QuotaBalance]

    /// The issuance id, without the cookies.
    public var description: String { "IssuedCookies(\(id))" }
}

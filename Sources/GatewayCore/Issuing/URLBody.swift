import FoundationEssentials

/// A presigned URL: returned to the client, used as a redirect, for an upload part, or used by the gateway itself.
struct URLBody: ProvenBody {
    struct Content {
        let url: Secret<String>
        let permit: Permit
    }

    let request: IssueRequest
    private let signer: URLSigner

    init(_ request: IssueRequest, _ signer: URLSigner) {
        self.request = request
        self.signer = signer
    }

    var target: RefusalTarget { RefusalTarget(request) }

    func policy(for caller: Caller, in cache: PolicyCache) async throws(GatewayError) -> AccessPolicy {
        try await cache.access(
            of: caller.principal, groups: caller.groups, to: request.bucket, key: request.key, listing: request.listing)
    }

    @inline(never)
    func draft(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date, for issuing: ProvenIssuing
    ) throws(GatewayError) -> Drafted<Content> {
        let subject = attempt.caller.subject
        let sourceAddress = attempt.context.sourceAddress
        switch decide(request, for: subject, under: policy, sourceAddress: sourceAddress, now: instant) {
        case .refuse(let refusal): return .refused(refusal)
        case .permit(let permit):
            let request = self.request.bound(to: permit.sourceAddress)
            let permit = try request.repeatable.permit(permit, at: instant) { decidedAt in
                decide(request, for: subject, under: policy, sourceAddress: sourceAddress, now: decidedAt)
            }
            let proposal = try IssuanceProposal(request, permit, policy, attempt, at: instant, for: issuing)
            return .draft(
                Draft(
                    proposal, Content(url: try signer.url(for: request, by: permit), permit: permit),
                    by: permit.bucketRow.bucket.linkScheme))
        }
    }

    func issued(_ draft: Draft<Content>, quotas: [QuotaBalance]) -> IssuedURL {
        let permit = draft.content.permit
        return IssuedURL(
            id: draft.proposal.id,
            method: request.method,
            bucket: request.bucket,
            key: request.key,
            listing: request.listing,
            url: draft.content.url,
            headers: permit.headers,
            expiresAt: permit.expiresAt,
            expiresIn: permit.expiresIn,
            isBoundToAddress: permit.sourceAddress != nil,
            enforcedBy: permit.enforcedBy,
            quotas: quotas
        )
    }
}

extension RefusalTarget {
    /// What a request asks for.
    init(_ request: IssueRequest) {
        self.init(request.action, on: request.key.rawValue, in: request.bucket)
    }
}

extension IssuanceProposal {
    /// Creates the proposal for an issuance, including the inputs that its decision is based on.
    ///
    /// - Parameters:
    ///   - instant: The time of the decision. A repetition decides at the same millisecond.
    ///   - form: The form that the issuance is for, if any. Its key may be a beginning, and it may name several content
    ///     types.
    convenience init(
        _ request: IssueRequest, _ permit: Permit, _ policy: AccessPolicy, _ attempt: ProofAttempt, at instant: Date,
        for issuing: ProvenIssuing, form: PostPolicyRequest? = nil
    ) throws(GatewayError) {
        let caller = attempt.caller
        let id =
            if let fixed = request.issuance { fixed } else {
                try issuing.id(of: request.repeatable, at: instant)
            }
        self.init(
            id: id,
            // The proof covers all changes since the oldest input of the decision: the token, which was checked first.
            position: caller.position,
            scopes: policy.scopes(with: caller),
            principal: caller.principal,
            matchedPrincipal: permit.grantRow.grant.principal,
            grantID: permit.grantRow.grant.id,
            credentialID: permit.credentialRow.credential.id,
            delivery: request.delivery,
            action: request.action,
            method: request.httpMethod,
            bucket: request.bucket,
            key: ExactText(form.map(ObjectKey.init(ofForm:))?.rawValue ?? request.key.rawValue),
            expiresAt: permit.expiresAt,
            contentType: form?.contentTypes.joined(separator: ", ") ?? request.contentType?.text,
            contentMD5: request.contentMD5,
            contentSHA256: request.checksumSHA256,
            signsPayload: permit.bucketRow.binding.closesUploads,
            contentLength: request.contentLength,
            requestID: attempt.context.requestID,
            charges: permit.charges
        )
    }
}

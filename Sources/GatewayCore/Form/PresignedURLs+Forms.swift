import Foundation
import Signing

extension PresignedURLs {
    /// Checks the fields of a request for a form; where the object's name is left to the gateway, it is made here.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, `unavailable` without random bytes for a name.
    public func request(_ fields: PostPolicyRequest.Fields) throws(GatewayError) -> PostPolicyRequest {
        try PostPolicyRequest(fields) { () throws(GatewayError) in try newName(at: 0) }
    }

    /// Issues the fields of a browser form.
    ///
    /// - Throws: As ``issue(_:for:sourceAddress:requestID:deadline:)``.
    public func issue(
        _ request: PostPolicyRequest, for caller: Caller, sourceAddress: IPAddress?, requestID: String,
        deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> IssuedPostPolicy {
        var caller = caller
        var isConfirmed = false
        let upload = identified(request.uploads[0], at: 0)
        for _ in 0..<Self.maxAttempts {
            let policy = try await policy(for: request, caller)
            let instant = now()
            if let end = caller.expiresAt, end <= instant { throw .expiredToken }
            let decision = decide(
                request, for: caller.subject, under: policy, sourceAddress: sourceAddress, now: instant
            )
            switch decision {
            // No position covers both the caller's token and the rows: only after a failover or a restart of the cache.
            case _ where !caller.position.mayPrecede(policy.position): break
            case .permit(let now):
                let permit = try again(upload, now, at: instant) { signedAt in
                    decide(request, for: caller.subject, under: policy, sourceAddress: sourceAddress, now: signedAt)
                }
                let proposal = try proposal(for: request, as: upload, permit, caller, policy, requestID)
                let form = try signer.form(for: request, by: permit)
                switch try await ledger.record(proposal, deadline: deadline) {
                case .recorded(let remaining):
                    return answer(form, to: request, proposal, permit, caller.balances(of: permit.charges, remaining))
                case .quotaExceeded(let refusal):
                    throw refused(caller.error(for: refusal), caller, policy.bucket?.name)
                case .stale: break
                }
            case .refuse(let refusal):
                guard !isConfirmed else { throw refused(refusal.error, caller, policy.bucket?.name) }
            }
            try await cache.advance()
            isConfirmed = true
            caller = try await authenticator.authenticate(caller.token)
        }
        throw .slowDown(retryAfter: 1)
    }

    /// The rows that bear on a form; on all keys that it leaves to the client.
    private func policy(
        for request: PostPolicyRequest, _ caller: Caller
    ) async throws(GatewayError) -> AccessPolicy {
        switch request.target {
        case .key(let key):
            return try await cache.access(
                of: caller.principal, groups: caller.groups, to: request.bucket, key: key
            )
        case .below(let prefix):
            let policy = try await cache.access(
                of: caller.principal, groups: caller.groups, to: request.bucket, around: prefix
            )
            guard let policy else {
                throw .notEnforceable(reason: "More grants lie below the text than can be looked at; name the key.")
            }
            return policy
        }
    }

    private func proposal(
        for request: PostPolicyRequest, as upload: IssueRequest, _ permit: Permit, _ caller: Caller,
        _ policy: AccessPolicy, _ requestID: String
    ) throws(GatewayError) -> IssuanceProposal {
        var proposal = try proposal(for: upload, permit, caller, policy, requestID)
        proposal.key = ExactText(ObjectKey(ofForm: request).rawValue)
        proposal.contentType = request.contentTypes.joined(separator: ", ")
        return proposal
    }

    private func answer(
        _ form: SignedPostForm, to request: PostPolicyRequest, _ proposal: IssuanceProposal, _ permit: Permit,
        _ quotas: [QuotaBalance]
    ) -> IssuedPostPolicy {
        IssuedPostPolicy(
            id: proposal.id, bucket: request.bucket, key: request.key, url: form.url, fields: Secret(form.fields),
            contentTypes: request.contentTypes.count > 1 ? request.contentTypes : [], expiresAt: permit.expiresAt,
            expiresIn: permit.expiresIn, quotas: quotas
        )
    }
}

extension PostPolicyRequest {
    /// The content types, as they were written.
    var contentTypes: [String] { uploads.compactMap { $0.contentType?.text } }
}

extension URLSigner {
    /// Signs the policy of a form: bucket, key, length, content type, metadata and status; and proves it for each type.
    ///
    /// - Throws: `unproven`, `unavailable` when the rows of bucket or credential cannot be signed with, which only an admin can mend.
    func form(for request: PostPolicyRequest, by permit: Permit) throws(GatewayError) -> SignedPostForm {
        let binding = permit.bucket.binding
        let types = request.contentTypes
        var fields = types.count == 1 ? [NamedValue("Content-Type", types[0])] : []
        for entry in request.uploads[0].metadata.entries {
            fields.append(NamedValue(binding.metadataPrefix + entry.name, entry.value))
        }
        if let status = request.successActionStatus {
            fields.append(NamedValue("success_action_status", String(status)))
        }
        var conditions = [PostPolicy.Condition.contentLengthRange(request.contentLength)]
        if types.count > 1 { conditions.append(.oneOf(field: "content-type", values: types)) }
        let form = try form(
            key: request.key, fields: fields, conditions: conditions, in: permit.bucket, with: permit.credential,
            expiresIn: permit.expiresIn, at: permit.signedAt
        )
        let artefact = try FormArtefact(form, of: request, binding: binding)
        try prove(artefact, by: permit, of: request.uploads[0])
        return form
    }
}

import FoundationEssentials
import Signing

/// The fields of a browser form with a signed policy.
struct FormBody: ProvenBody {
    struct Content {
        let form: SignedPostForm
        let permit: Permit
    }

    let request: PostPolicyRequest
    /// The upload that is recorded.
    let upload: IssueRequest
    let signer: URLSigner

    var target: RefusalTarget {
        let key =
            switch request.target {
            case .key(let key): key.rawValue
            case .below(let prefix): prefix.rawValue
            }
        return RefusalTarget(.putObject, on: key, in: request.bucket)
    }

    /// Collects the policy rows that apply to the form, including those for all keys that the client may choose.
    func policy(for caller: Caller, in cache: PolicyCache) async throws(GatewayError) -> AccessPolicy {
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
                throw .notEnforceable(reason: "Too many grants exist below the text; name the key.")
            }
            return policy
        }
    }

    @inline(never)
    func draft(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date, for issuing: ProvenIssuing
    ) throws(GatewayError) -> Drafted<Content> {
        let subject = attempt.caller.subject
        let sourceAddress = attempt.context.sourceAddress
        switch decide(request, for: subject, under: policy, sourceAddress: sourceAddress, now: instant) {
        case .refuse(let refusal):
            guard let limited = refusal.largestSize.flatMap({ request.limited(to: $0) }) else {
                return .refused(refusal)
            }
            let upload = limited.uploads[0].identified(at: 0, in: attempt.context)
            return try FormBody(request: limited, upload: upload, signer: signer)
                .draft(under: policy, in: attempt, at: instant, for: issuing)
        case .permit(let permit):
            let permit = try upload.repeatable.permit(permit, at: instant) { decidedAt in
                decide(request, for: subject, under: policy, sourceAddress: sourceAddress, now: decidedAt)
            }
            let proposal = try IssuanceProposal(
                upload, permit, policy, attempt, at: instant, for: issuing, form: request)
            return .draft(
                Draft(
                    proposal, Content(form: try signer.form(for: request, by: permit), permit: permit),
                    by: permit.bucketRow.bucket.linkScheme))
        }
    }

    func issued(_ draft: Draft<Content>, quotas: [QuotaBalance]) -> IssuedPostPolicy {
        let (form, permit) = (draft.content.form, draft.content.permit)
        return IssuedPostPolicy(
            id: draft.proposal.id, bucket: request.bucket, key: request.key, url: form.url,
            fields: Secret(form.fields), choice: choice(in: permit.bucket), expiresAt: permit.expiresAt,
            expiresIn: permit.expiresIn, quotas: quotas
        )
    }
}

extension FormBody {
    /// What the client has to choose; `nil` if the form has one content type, which is then among its fields.
    private func choice(in bucket: Bucket) -> IssuedPostPolicy.TypeChoice? {
        let types = request.contentTypes
        guard types.count > 1, let field = bucket.binding.form?.typeField else { return nil }
        return IssuedPostPolicy.TypeChoice(field: field, types: types)
    }
}

extension PostPolicyRequest {
    /// The content types as the client wrote them.
    var contentTypes: [String] { uploads.compactMap { $0.contentType?.text } }
}

extension URLSigner {
    /// Signs the policy of a form, and proves it against the permit, including each content type.
    ///
    /// - Throws: `unproven`; `unavailable` if the bucket or credential row is unusable for signing, which only an admin
    ///   can fix.
    func form(for request: PostPolicyRequest, by permit: Permit) throws(GatewayError) -> SignedPostForm {
        let form = try form(
            for: request, in: permit.bucket, with: permit.credential, expiresIn: permit.signedSeconds,
            at: permit.signedAt)
        let artefact = try FormArtefact(form, of: request, binding: permit.bucket.binding)
        try prove(artefact, by: permit, of: request.uploads[0])
        return form
    }

    /// Signs the policy of a form, which binds bucket, key, length, content type, encryption, metadata, status and, at
    /// Alibaba OSS, the ACL.
    ///
    /// - Throws: `unproven` if the scheme has no forms; `unavailable` if the bucket or credential is unusable for
    ///   signing.
    func form(
        for request: PostPolicyRequest, in bucket: Bucket, with credential: StorageCredential, expiresIn: Int,
        at signedAt: Date
    ) throws(GatewayError) -> SignedPostForm {
        let binding = bucket.binding
        guard let bound = binding.form else { throw .unproven(.scheme) }
        let types = request.contentTypes
        var fields = (types.count == 1 ? [NamedValue(bound.typeField, types[0])] : []) + bucket.encryptionHeaders
        for entry in request.uploads[0].metadata.entries {
            fields.append(NamedValue(binding.metadataPrefix + entry.name, entry.value))
        }
        if let status = request.successActionStatus {
            fields.append(NamedValue("success_action_status", String(status)))
        }
        if let accessList = bound.accessList { fields.append(accessList) }
        var conditions = [PostPolicy.Condition.contentLengthRange(request.contentLength)]
        if types.count > 1 { conditions.append(.oneOf(field: bound.typeField, values: types)) }
        return try form(
            key: request.key, fields: fields, conditions: conditions, in: bucket, with: credential,
            expiresIn: expiresIn, at: signedAt)
    }
}

package import FoundationEssentials
package import Signing

/// A link to try a store with. It binds what the link of a user binds.
package struct TrialLink: Sendable {
    package let method: String
    package let url: String
    package let headers: [NamedValue]
}

/// Links for trying a store, as users get them but without a caller, a grant and a row in the ledger. They are for an
/// operator's command that holds the credential itself, and never leave its process except to the store.
extension URLSigner {
    /// Signs a link for a request.
    ///
    /// - Parameters:
    ///   - fields: What the link is for.
    ///   - bucket: The bucket, perhaps with another scheme than its own.
    ///   - credential: The credential that signs.
    ///   - query: Parameters that name a step of a multipart upload.
    ///   - expiresIn: Life in seconds.
    ///   - signedAt: When it begins.
    /// - Throws: `notEnforceable` and `invalidArgument` if the scheme cannot bind the request, `unavailable`.
    package func trial(
        _ fields: IssueRequest.Fields, in bucket: Bucket, with credential: StorageCredential,
        query: [NamedValue] = [], expiresIn: Int, at signedAt: Date
    ) throws(GatewayError) -> TrialLink {
        // A store calls the bucket's own server for uploads that users make, not for these.
        var bucket = bucket
        bucket.callback = nil
        let request = try IssueRequest(fields)
        let binding = bucket.binding
        let conditions = GrantConditions(allowResponseContentType: true, allowVersions: true)
        if let flaw = binding.flaw(of: request, under: conditions) { throw flaw }
        // A part takes its type from the upload that it belongs to, and has no ACL of its own.
        let isPart = !query.isEmpty
        let headers = request.boundHeaders(by: binding, size: binding.size(of: request, limit: nil))
            .filter { header in
                !isPart || header.name != "content-type" && !SchemeBinding.closingHeaders.contains(header)
            }
        let parameters = query + request.boundQuery(by: binding, in: bucket, forcesDownload: false)
        let url = try url(
            request.method.rawValue, of: request.key, in: bucket, with: credential, headers: headers, query: parameters,
            expiresIn: expiresIn, at: signedAt)
        return TrialLink(method: request.method.rawValue, url: url.reveal(), headers: headers)
    }

    /// Signs a form for one key, one type and a range of lengths; `nil` if the scheme has no forms.
    package func trialForm(
        for key: String, contentType: String, lengths: ClosedRange<Int64>, metadata: NamedValue, in bucket: Bucket,
        with credential: StorageCredential, expiresIn: Int, at signedAt: Date
    ) throws(GatewayError) -> SignedPostForm? {
        let binding = bucket.binding
        guard let bound = binding.form else { return nil }
        var fields = [
            NamedValue(bound.typeField, contentType),
            NamedValue(binding.metadataPrefix + metadata.name, metadata.value),
            NamedValue("success_action_status", "201"),
        ]
        if let accessList = bound.accessList { fields.append(accessList) }
        return try form(
            key: key, fields: fields, conditions: [.contentLengthRange(lengths)], in: bucket, with: credential,
            expiresIn: expiresIn, at: signedAt)
    }
}

extension Bucket {
    /// What links of the bucket's scheme bind, as far as a trial has to know it.
    package var trialBinding:
        (length: Bool, sha256: Bool, createsOnly: Bool, downloads: Bool, needsSHA256: Bool, metadataPrefix: String)
    {
        (
            binding.bindsLength || binding.lengthRangeHeader != nil, binding.bindsChecksum,
            binding.createsOnlyHeader != nil, !binding.overrides.isEmpty, binding.closesUploads, binding.metadataPrefix
        )
    }

    /// Names of the fields that bind the content type and the ACL in the bucket's forms; `nil` if there are no forms.
    package var trialFormFields: (type: String, accessList: String?)? {
        binding.form.map { ($0.typeField, $0.accessList?.name) }
    }
}

extension SessionScope {
    /// The scope of a trial: reading and writing below one prefix.
    package init(tryingIn bucket: BucketName, below prefix: String) {
        let area = Areas(allowed: [KeyArea(prefix: ExactText(prefix))], denied: [])
        self.init(bucket: bucket, areas: [.putObject: area, .getObject: area])
    }
}

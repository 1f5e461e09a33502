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
    ///   - expiresIn: Life in seconds.
    ///   - signedAt: When it begins.
    /// - Throws: `notEnforceable` and `invalidArgument` if the scheme cannot bind the request, `unavailable`.
    package func trial(
        _ fields: IssueRequest.Fields, in bucket: Bucket, with credential: StorageCredential, expiresIn: Int,
        at signedAt: Date
    ) throws(GatewayError) -> TrialLink {
        try trial(IssueRequest(fields), in: bucket, with: credential, expiresIn: expiresIn, at: signedAt)
    }

    /// Signs a link for a part of an upload that the store has started.
    ///
    /// - Parameters:
    ///   - number: Number of the part.
    ///   - upload: The store's identifier of the upload.
    ///   - fields: The key, the length and the digests of the part.
    ///   - bucket: The bucket, perhaps with another scheme than its own.
    ///   - credential: The credential that signs.
    ///   - expiresIn: Life in seconds.
    ///   - signedAt: When it begins.
    /// - Throws: As for a whole object.
    package func trialPart(
        _ number: Int, of upload: String, _ fields: IssueRequest.Fields, in bucket: Bucket,
        with credential: StorageCredential, expiresIn: Int, at signedAt: Date
    ) throws(GatewayError) -> TrialLink {
        let part = MultipartStep.Part(
            storeUploadID: upload, number: number, issuance: .version7(at: signedAt, randomBytes: []))
        let request = try IssueRequest(
            fields, delivery: .multipartPart, multipart: .part(part), repeatable: nil, newName: nil)
        return try trial(request, in: bucket, with: credential, expiresIn: expiresIn, at: signedAt)
    }

    private func trial(
        _ request: IssueRequest, in bucket: Bucket, with credential: StorageCredential, expiresIn: Int,
        at signedAt: Date
    ) throws(GatewayError) -> TrialLink {
        // A store calls the bucket's own server for uploads that users make, not for these.
        var bucket = bucket
        bucket.callback = nil
        let binding = bucket.binding
        let conditions = GrantConditions(allowResponseContentType: true, allowVersions: true)
        if let flaw = binding.flaw(of: request, under: conditions) { throw flaw }
        let headers = request.boundHeaders(by: binding, in: bucket, size: binding.size(of: request, limit: nil))
        let link = try url(
            request.httpMethod, of: request.key, in: bucket, with: credential, headers: headers,
            query: request.boundQuery(by: binding, in: bucket, forcesDownload: false), expiresIn: expiresIn,
            at: signedAt)
        return TrialLink(method: request.httpMethod, url: link.reveal(), headers: headers)
    }

    /// Signs a form; `nil` if the scheme has no forms.
    ///
    /// - Throws: `invalidArgument`, `unavailable`.
    package func trialForm(
        _ fields: PostPolicyRequest.Fields, in bucket: Bucket, with credential: StorageCredential, expiresIn: Int,
        at signedAt: Date
    ) throws(GatewayError) -> SignedPostForm? {
        guard bucket.binding.form != nil else { return nil }
        let name = UUID.version7(at: signedAt, randomBytes: [])
        let request = try PostPolicyRequest(fields) { name }
        return try form(for: request, in: bucket, with: credential, expiresIn: expiresIn, at: signedAt)
    }
}

/// What links and forms of a bucket's scheme bind, as far as a trial has to know it.
package struct TrialBinding: Sendable {
    /// The fields of a form that a trial changes.
    package struct Form: Sendable {
        /// The field that determines the content type.
        package let typeField: String
        /// The field that binds the ACL, if one does.
        package let accessListField: String?
    }

    /// Whether uploads of a whole object bind their length.
    package let bindsLength: Bool
    /// Whether parts bind their length.
    package let bindsLengthOfParts: Bool
    /// Whether uploads bind a SHA-256.
    package let bindsSHA256: Bool
    /// Whether a link for an upload has to bind a SHA-256.
    package let requiresSHA256: Bool
    /// Whether an upload can bind that it replaces nothing.
    package let bindsCreation: Bool
    /// Whether downloads bind headers of the answer.
    package let bindsAnswerHeaders: Bool
    /// Text before the names of metadata.
    package let metadataPrefix: String
    /// What forms bind; `nil` if there are none.
    package let form: Form?

    init(_ binding: SchemeBinding) {
        bindsLength = binding.bindsLength || binding.lengthRangeHeader != nil
        bindsLengthOfParts = binding.bindsLength
        bindsSHA256 = binding.bindsChecksum
        requiresSHA256 = binding.closesUploads
        bindsCreation = binding.createsOnlyHeader != nil
        bindsAnswerHeaders = !binding.overrides.isEmpty
        metadataPrefix = binding.metadataPrefix
        form = binding.form.map { Form(typeField: $0.typeField, accessListField: $0.accessList?.name) }
    }
}

extension Bucket {
    /// What links and forms of the bucket's scheme bind, as far as a trial has to know it.
    package var trialBinding: TrialBinding { TrialBinding(binding) }
}

extension SessionScope {
    /// The scope of a trial: reading and writing below one prefix.
    package init(tryingIn bucket: BucketName, below prefix: String) {
        let area = Areas(allowed: [KeyArea(prefix: ExactText(prefix))], denied: [])
        self.init(bucket: bucket, areas: [.putObject: area, .getObject: area])
    }
}

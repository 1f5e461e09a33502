import Bytes

/// Signature V1 of Alibaba OSS: HMAC-SHA1, also known as the original signature.
///
/// The type, the MD5 and every `x-oss-` header of a request are bound to their values, and must be absent if they are
/// not given. No other header can be bound.
///
/// - SeeAlso: Alibaba Cloud OSS, "Include a V1 signature in a URL" and "Include signatures in the Authorization
///   header".
public enum OSSV1 {
    /// Signs a URL and shows each stage.
    ///
    /// - Parameters:
    ///   - request: What the URL allows.
    ///   - key: Key of the credential.
    ///   - instant: When the life of the URL begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func presign(
        _ request: PresignRequest, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        try V2Presigning.presignedURL(for: request, dialect: .oss, key: key, instant: instant)
    }

    /// Signs a URL and returns only the URL. It signs like ``presign(_:with:at:)``, at less cost.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func presignedURL(
        _ request: PresignRequest, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> String {
        try V2Presigning.url(for: request, dialect: .oss, key: key, instant: instant)
    }

    /// Signs a request in its `Authorization` header and shows each stage.
    ///
    /// - Parameters:
    ///   - request: The request. A date given in `Date` or `x-oss-date` is signed unchanged.
    ///   - key: Key of the credential.
    ///   - instant: When the request is made.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func authorize(
        _ request: SignableRequest, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> AuthorizedRequest {
        try V2Authorizing(request, pathForm: .slashKept, dialect: .oss, key: key, instant: instant).authorizedRequest
    }

    /// Writes the policy of a browser form and signs it.
    ///
    /// - Throws: ``SigningError`` for a form that the scheme cannot express.
    public static func sign(
        _ form: PostForm, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> SignedPostForm {
        let policy = try form.policy(signerFields: [], at: instant, life: V2Dialect.expiryRange, lists: true)
        let json = policy.json(expiration: .milliseconds)
        return try sign(policyBase64: Base64.encode(Array(json.utf8)), for: form, with: key)
    }

    /// Signs a policy in base64 unchanged. Its content is not checked, but anything other than base64 is refused, so
    /// that the signature serves no other purpose.
    ///
    /// - Throws: ``SigningError``; ``SigningError/invalidPolicy`` for anything but base64.
    public static func sign(
        policyBase64: String, for form: PostForm, with key: SigningKeyV2
    ) throws(SigningError) -> SignedPostForm {
        guard !policyBase64.isEmpty, Base64.decode(policyBase64) != nil else { throw .invalidPolicy }
        let signature = try key.signature(of: Array(policyBase64.utf8), dialect: .oss)
        var own = [NamedValue(V2Dialect.oss.parameters.accessKeyID, key.accessKeyID)]
        if let token = key.securityToken { own.append(NamedValue(V2Dialect.oss.tokenHeader, token)) }
        own.append(NamedValue("policy", policyBase64))
        own.append(NamedValue(V2Dialect.oss.parameters.signature, signature))
        return SignedPostForm(
            url: "\(form.address.origin)\(form.address.path)/", path: "\(form.address.path)/",
            fields: try form.fields(followedBy: own), policyBase64: policyBase64, signature: signature
        )
    }
}

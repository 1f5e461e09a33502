/// Signature version 4 of Alibaba OSS.
///
/// The type, the MD5 and every `x-oss-` header of a request are bound to their values, and must be absent if they are
/// not given. Every other given header is bound as an additional header. A given `host` must be the host of the
/// address.
///
/// - SeeAlso: Alibaba Cloud, "Use the V4 signature algorithm".
public enum OSSV4 {
    /// Signs a URL and shows each stage; ``V4Presigner`` returns only the URL, at less cost.
    ///
    /// - Parameters:
    ///   - request: What the URL allows.
    ///   - key: Key of the credential for the day of `instant`.
    ///   - instant: When the life of the URL begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    public static func presign(
        _ request: PresignRequest, with key: SigningKeyV4, at instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        try V4Presigning.presignedURL(for: request, vendor: .alibaba, key: key, instant: instant)
    }

    /// Signs a request in its `Authorization` header and shows each stage.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    public static func authorize(
        _ request: SignableRequest, with key: SigningKeyV4, at instant: SigningInstant
    ) throws(SigningError) -> AuthorizedRequest {
        try V4Authorizing(request, vendor: .alibaba, key: key, instant: instant).authorizedRequest()
    }

    /// Writes the policy of a browser form and signs it.
    ///
    /// - Throws: ``SigningError`` for a form that the scheme cannot express.
    public static func sign(
        _ form: PostForm, with key: SigningKeyV4, at instant: SigningInstant
    ) throws(SigningError) -> SignedPostForm {
        try V4PostSigning.sign(form, vendor: .alibaba, key: key, instant: instant)
    }

    /// Signs a policy in base64 unchanged. Its content is not checked.
    ///
    /// - Throws: ``SigningError``; ``SigningError/invalidPolicy`` for anything but base64.
    public static func sign(
        policyBase64: String, for form: PostForm, with key: SigningKeyV4, at instant: SigningInstant
    ) throws(SigningError) -> SignedPostForm {
        try V4PostSigning.sign(policyBase64, for: form, vendor: .alibaba, key: key, instant: instant)
    }
}

/// Signature V1 of Alibaba OSS: HMAC-SHA1, also known as the original signature.
///
/// - SeeAlso: Alibaba Cloud OSS, "Include a V1 signature in a URL" and "Include signatures in the Authorization header".
public enum OSSV1 {
    /// Signs a request and shows each stage.
    ///
    /// - Parameters:
    ///   - request: What the URL shall allow. Headers are `Content-Type`, `Content-MD5` and `x-oss-…`; a URL without a
    ///     content type holds only for requests without one.
    ///   - key: Key of the credential.
    ///   - instant: When the life of the URL begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func presign(
        _ request: PresignRequest, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        let stages = try V2Presigning(request, signer: key.signer, dialect: .oss, instant: instant)
        return stages.presigned(request, signature: key.signature(of: stages.stringToSign))
    }

    /// Signs a request and gives only the URL; the same as ``presign(_:with:at:)`` at less cost.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func presignedURL(
        _ request: PresignRequest, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> String {
        let stages = try V2Presigning(request, signer: key.signer, dialect: .oss, instant: instant)
        return String(decoding: stages.url(signature: key.signature(of: stages.stringToSign)), as: UTF8.self)
    }
}

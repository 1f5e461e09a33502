/// AWS Signature Version 2: HMAC-SHA1, for old stores and for the interoperability of Google Cloud Storage.
///
/// - SeeAlso: AWS, "Signing and authenticating REST requests (AWS signature version 2)"; Google Cloud Storage, "V2 signing
///   process with HMAC keys".
public enum AWSV2 {
    /// The words of the signature: parameters, headers and the scheme of `Authorization`.
    public enum Vendor: Sendable, Hashable, CaseIterable {
        /// `AWSAccessKeyId`, `x-amz-…`, `AWS`.
        case amazon
        /// `GoogleAccessId`, `x-goog-…`, `GOOG1`.
        case google

        var dialect: V2Dialect {
            switch self {
            case .amazon: .amazon
            case .google: .googleHMAC
            }
        }
    }

    /// Signs a request and shows each stage.
    ///
    /// - Parameters:
    ///   - request: What the URL shall allow. Headers are `Content-Type`, `Content-MD5` and the vendor's own; a URL without
    ///     a content type holds only for requests without one.
    ///   - vendor: Whose words are used.
    ///   - key: Key of the credential.
    ///   - instant: When the life of the URL begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func presign(
        _ request: PresignRequest, vendor: Vendor = .amazon, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        let stages = try V2Presigning(request, signer: key.signer, dialect: vendor.dialect, instant: instant)
        return stages.presigned(request, signature: key.signature(of: stages.stringToSign))
    }

    /// Signs a request and gives only the URL; the same as ``presign(_:vendor:with:at:)`` at less cost.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func presignedURL(
        _ request: PresignRequest, vendor: Vendor = .amazon, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> String {
        let stages = try V2Presigning(request, signer: key.signer, dialect: vendor.dialect, instant: instant)
        return String(decoding: stages.url(signature: key.signature(of: stages.stringToSign)), as: UTF8.self)
    }
}

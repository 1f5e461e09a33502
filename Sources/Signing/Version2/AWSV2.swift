/// AWS Signature Version 2: HMAC-SHA1, for old stores and for the S3-compatible API of Google Cloud Storage.
///
/// - SeeAlso: AWS, "Signing and authenticating REST requests (AWS signature version 2)"; Google Cloud Storage, "V2
///   signing process with HMAC keys".
public enum AWSV2 {
    /// The names that the signature uses: parameters, headers and the scheme of `Authorization`.
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
    ///   - request: What the URL allows. Headers are `Content-Type`, `Content-MD5` and the vendor's own. A URL without
    ///     a content type is valid only for requests without one.
    ///   - vendor: Vendor whose names are used.
    ///   - key: Key of the credential.
    ///   - instant: When the life of the URL begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func presign(
        _ request: PresignRequest, vendor: Vendor = .amazon, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        try V2Presigning.presignedURL(for: request, dialect: vendor.dialect, key: key, instant: instant)
    }

    /// Signs a request and returns only the URL. It signs like ``presign(_:vendor:with:at:)``, at less cost.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func presignedURL(
        _ request: PresignRequest, vendor: Vendor = .amazon, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> String {
        try V2Presigning.url(for: request, dialect: vendor.dialect, key: key, instant: instant)
    }

    /// Signs a request in its `Authorization` header and shows each stage.
    ///
    /// - Parameters:
    ///   - request: The request. Headers other than the type, the MD5 and the vendor's own are sent unbound. A date
    ///     given in `Date` or in the vendor's header is signed unchanged.
    ///   - pathForm: How the key is written in the path. The path is signed as it is sent.
    ///   - vendor: Vendor whose names are used.
    ///   - key: Key of the credential.
    ///   - instant: When the request is made.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    public static func authorize(
        _ request: SignableRequest, pathForm: PresignRequest.PathForm = .slashKept, vendor: Vendor = .amazon,
        with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> AuthorizedRequest {
        try V2Authorizing(request, pathForm: pathForm, dialect: vendor.dialect, key: key, instant: instant)
            .authorizedRequest
    }
}

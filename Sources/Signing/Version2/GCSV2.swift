/// Version 2 signatures of Google Cloud Storage with the key of a service account: RSA with SHA-256, for URLs only.
///
/// The type, the MD5 and every `x-goog-` header are bound. The query parameters `response-content-type`,
/// `response-content-disposition` and `generation` are not bound, as in Google's own clients: whoever holds the URL can
/// change them.
///
/// - SeeAlso: Google Cloud, "V2 signing process".
public enum GCSV2 {
    /// Signs a URL and shows each stage.
    ///
    /// - Parameters:
    ///   - request: What the URL allows.
    ///   - key: Key of a service account.
    ///   - instant: When the life of the URL begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    public static func presign(
        _ request: PresignRequest, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        try V2Presigning.presignedURL(for: request, dialect: .googleRSA, key: key, instant: instant)
    }

    /// Signs a URL and returns only the URL. It signs like ``presign(_:with:at:)``, at less cost.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    public static func presignedURL(
        _ request: PresignRequest, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> String {
        try V2Presigning.url(for: request, dialect: .googleRSA, key: key, instant: instant)
    }
}

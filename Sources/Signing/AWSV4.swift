import LibCrypto

/// AWS Signature Version 4 in the query: presigned URLs of S3 and compatible stores.
///
/// - SeeAlso: AWS, "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)".
public enum AWSV4 {
    static let dialect = V4Dialect.aws

    /// Signs a request and shows each stage.
    ///
    /// - Parameters:
    ///   - request: What the URL shall allow.
    ///   - key: Key of the credential for the day of `instant`.
    ///   - instant: When the life of the URL begins.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    public static func presign(
        _ request: PresignRequest, with key: SigningKeyV4, at instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        let stages = try Stages(request, key: key, instant: instant)
        return PresignedURL(
            url: String(decoding: stages.url, as: UTF8.self),
            path: String(decoding: stages.path, as: UTF8.self),
            query: stages.decodedQuery,
            canonicalRequest: String(decoding: stages.canonicalRequest.bytes, as: UTF8.self),
            stringToSign: String(decoding: stages.stringToSign, as: UTF8.self),
            signature: stages.signature.hex,
            requiredHeaders: request.headers.map { NamedValue($0.name.lowercased(), $0.value) }
        )
    }

    /// Signs a request and gives only the URL; the same as ``presign(_:with:at:)`` at less cost.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    public static func presignedURL(
        _ request: PresignRequest, with key: SigningKeyV4, at instant: SigningInstant
    ) throws(SigningError) -> String {
        String(decoding: try Stages(request, key: key, instant: instant).url, as: UTF8.self)
    }

    /// The stages of one signature, as bytes.
    private struct Stages {
        let canonicalRequest: V4CanonicalRequest
        let stringToSign: [UInt8]
        let signature: Digest
        let path: [UInt8]
        let url: [UInt8]

        init(_ request: PresignRequest, key: SigningKeyV4, instant: SigningInstant) throws(SigningError) {
            try check(request)
            guard key.dayNumber == instant.dayNumber else { throw .keyOfAnotherDay }
            let headers = try canonicalHeaders(of: request)
            canonicalRequest = AWSV4.canonicalRequest(request, headers: headers, key: key, instant: instant)
            stringToSign = AWSV4.stringToSign(canonicalRequest.bytes, scope: key.scope, instant: instant)
            signature = key.hmac.authenticationCode(for: stringToSign)
            path = try urlPath(of: request, canonicalPath: canonicalRequest.path)
            url = AWSV4.url(request.address.origin, path: path, query: canonicalRequest.query, signature: signature)
        }

        var decodedQuery: [NamedValue] {
            var pairs = ReceivedQuery.pairs(in: canonicalRequest.query) ?? []
            pairs.append(NamedValue(dialect.parameters.signature, signature.hex))
            return pairs
        }
    }
}

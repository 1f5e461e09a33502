import Signing

/// Which scheme signed a request, and where the signature is.
struct SignatureClaim: Sendable, Equatable {
    let scheme: StoreScheme
    /// Whether the signature is in the query instead of the `Authorization` header.
    let isPresigned: Bool

    /// Finds the signature of a request.
    ///
    /// - Returns: `nil` for a request without a signature.
    /// - Throws: ``StoreError`` for an unknown kind of signature, and for more than one.
    static func of(_ request: StoreRequest) throws(StoreError) -> SignatureClaim? {
        var claims = marks.filter { mark in mark.names.contains(where: request.has) }.map {
            SignatureClaim(scheme: $0.scheme, isPresigned: true)
        }
        if let authorization = request.headers["authorization"] {
            guard let scheme = beginnings.first(where: { authorization.hasPrefix($0.text) })?.scheme else {
                throw .invalidArgument("Unsupported Authorization Type")
            }
            claims.append(SignatureClaim(scheme: scheme, isPresigned: false))
        }
        guard claims.count <= 1 else {
            throw .invalidArgument(
                "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, "
                    + "Signature query string parameter or the Authorization header should be specified.")
        }
        return claims.first
    }

    /// The dialect that a refusal of a request is written in, whether or not the request can be verified.
    static func dialect(of request: StoreRequest) -> StoreDialect {
        if let authorization = request.headers["authorization"] { return authorization.hasPrefix("OSS") ? .oss : .s3 }
        return request.query.contains { $0.name == "OSSAccessKeyId" || $0.name.hasPrefix("x-oss-") } ? .oss : .s3
    }

    private static let marks: [(names: [String], scheme: StoreScheme)] = [
        (["X-Amz-Algorithm", "X-Amz-Signature"], .awsV4), (["AWSAccessKeyId"], .awsV2),
        (["x-oss-signature-version", "x-oss-signature"], .ossV4), (["OSSAccessKeyId"], .ossV1),
    ]
    private static let beginnings: [(text: String, scheme: StoreScheme)] = [
        ("AWS4-HMAC-SHA256 ", .awsV4), ("AWS ", .awsV2), ("OSS4-HMAC-SHA256 ", .ossV4), ("OSS ", .ossV1),
    ]
}

/// The caller of a verified request.
struct VerifiedCaller: Sendable {
    let scheme: StoreScheme
    /// The session that signed, unless the store's own credential did.
    let session: StoreSession?
    /// What verifies the chunks of the body, where they have signatures.
    var chunks: ChunkSeed?
}

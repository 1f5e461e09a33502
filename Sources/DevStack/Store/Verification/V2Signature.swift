import LibCrypto
import Signing

/// Recomputes the signatures of AWS version 2 and OSS version 1: HMAC-SHA1 over the method, three headers, the headers
/// of the vendor, and the resource.
///
/// - SeeAlso: AWS, "Signing and authenticating REST requests (AWS signature version 2)"; Alibaba Cloud OSS, "Include
///   signatures in the Authorization header".
struct V2Signature {
    let dialect: StoreDialect

    /// Returns the signature that a request should have, in base64.
    ///
    /// - Parameter expires: The end of a presigned URL as its query states it; `nil` for a request with an
    ///   `Authorization` header.
    func expected(for request: StoreRequest, expires: String?, secret: String) -> String {
        let lines = [
            request.method, request.headers["content-md5"] ?? "", request.headers["content-type"] ?? "",
            expires ?? date(of: request), headers(of: request) + resource(of: request),
        ]
        return Self.authenticate(lines.joined(separator: "\n"), secret)
    }

    /// The authentication code of a text, which may also be the policy of a form.
    static func authenticate(_ text: String, _ secret: String) -> String {
        HMACKey(Array(secret.utf8), algorithm: .sha1).authenticationCode(for: Array(text.utf8)).base64
    }

    /// The line of the date. AWS leaves it empty if the vendor's header has the date; OSS repeats the date there.
    private func date(of request: StoreRequest) -> String {
        let own = request.headers[dialect.headerPrefix + "date"]
        switch dialect {
        case .s3: return own == nil ? request.headers["date"] ?? "" : ""
        case .oss: return own ?? request.headers["date"] ?? ""
        }
    }

    private func headers(of request: StoreRequest) -> String {
        var fields = request.headers.filter { $0.key.hasPrefix(dialect.headerPrefix) }
        // In a presigned URL, AWS takes the token from the query and signs it as if it were a header.
        if dialect == .s3, let token = request.query.first(where: { $0.name == "x-amz-security-token" }) {
            fields[token.name] = token.value
        }
        return fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            .map { "\($0.key):\($0.value)\n" }.joined()
    }

    private func resource(of request: StoreRequest) -> String {
        let signed = dialect == .s3 ? SubresourceNames.aws : SubresourceNames.oss
        let parts = request.query.filter { signed.contains($0.name) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { $0.value.isEmpty ? $0.name : "\($0.name)=\($0.value)" }
        return path(of: request) + (parts.isEmpty ? "" : "?" + parts.joined(separator: "&"))
    }

    /// AWS signs the path as it is sent, with a slash after a bucket, and OSS the decoded names.
    private func path(of request: StoreRequest) -> String {
        switch dialect {
        case .s3:
            (request.hostBucket.map { "/" + $0 } ?? "") + request.rawPath
                + (request.place.key.isEmpty && !request.rawPath.hasSuffix("/") ? "/" : "")
        case .oss: request.place.bucket.map { "/\($0)/\(request.place.key)" } ?? "/"
        }
    }
}

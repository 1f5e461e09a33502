/// What differs between the version 4 schemes, and what a store expects in their scopes.
///
/// - SeeAlso: AWS, "Create a signed AWS API request"; Alibaba Cloud OSS, "Include a V4 signature".
struct V4Rules: Sendable {
    let algorithm: String
    /// Precedes the secret in the first step of the derivation of the key.
    let keyPrefix: String
    let terminator: String
    let service: String
    let region: String
    let headerPrefix: String
    /// Whether an empty value in the canonical query keeps its `=`.
    let keepsEquals: Bool
    let names: Names

    /// The names of the parameters of a presigned URL.
    struct Names: Sendable {
        let algorithm, credential, date, expires, headers, token, signature: String
    }

    /// The scheme of AWS for a service in a region.
    static func aws(region: String, service: String = "s3") -> V4Rules {
        V4Rules(
            algorithm: "AWS4-HMAC-SHA256", keyPrefix: "AWS4", terminator: "aws4_request", service: service,
            region: region, headerPrefix: "x-amz-", keepsEquals: true,
            names: Names(
                algorithm: "X-Amz-Algorithm", credential: "X-Amz-Credential", date: "X-Amz-Date",
                expires: "X-Amz-Expires", headers: "X-Amz-SignedHeaders", token: "X-Amz-Security-Token",
                signature: "X-Amz-Signature"))
    }

    /// The scheme of Alibaba OSS in a region.
    static func oss(region: String) -> V4Rules {
        V4Rules(
            algorithm: "OSS4-HMAC-SHA256", keyPrefix: "aliyun_v4", terminator: "aliyun_v4_request", service: "oss",
            region: region, headerPrefix: "x-oss-", keepsEquals: false,
            names: Names(
                algorithm: "x-oss-signature-version", credential: "x-oss-credential", date: "x-oss-date",
                expires: "x-oss-expires", headers: "x-oss-additional-headers", token: "x-oss-security-token",
                signature: "x-oss-signature"))
    }

    /// Whether the scheme is Alibaba's, which lists only additional headers and always signs the bucket's name.
    var isOSS: Bool { headerPrefix == "x-oss-" }
}

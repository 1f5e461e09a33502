/// The names and rules in which the vendors of "version 4" signatures differ.
final class V4Dialect: Sendable {
    /// How a secret becomes a signature.
    enum Secret: Sendable {
        /// HMAC with a key that is derived from this prefix and the secret.
        case derivedKey(prefix: String)
        /// RSASSA-PKCS1-v1_5 with SHA-256; the secret is a private key in PEM.
        case privateKey
    }

    /// Names of the query parameters that a signer writes. In lower case they are the names of a form's fields.
    struct Parameters: Sendable {
        let algorithm: String
        let credential: String
        let date: String
        let expires: String
        /// `nil` if the vendor has no temporary credentials.
        let securityToken: String?
        let headerNames: String
        let signature: String
    }

    let vendor: StoreVendor
    /// Name of the algorithm, first line of the string to sign.
    let algorithm: String
    let secret: Secret
    /// Last part of the credential scope.
    let terminator: String
    /// The signer's own parameters.
    let parameters: Parameters
    /// Prefix of the vendor's headers, which must be signed if they are sent.
    let headerPrefix: String
    /// How headers are written in a canonical request.
    let headerForm: CanonicalHeaderForm
    /// Separator between the parts of an `Authorization` value.
    let authorizationSeparator: String
    /// Format of a policy's expiration.
    let expirationForm: PostPolicy.ExpirationForm

    init(
        vendor: StoreVendor, algorithm: String, secret: Secret, terminator: String, parameters: Parameters,
        headerPrefix: String, authorizationSeparator: String, expirationForm: PostPolicy.ExpirationForm
    ) {
        self.vendor = vendor
        self.algorithm = algorithm
        self.secret = secret
        self.terminator = terminator
        self.parameters = parameters
        self.headerPrefix = headerPrefix
        headerForm = CanonicalHeaderForm(
            payloadHeader: "\(headerPrefix)content-sha256", collapsesWhiteSpace: vendor != .alibaba,
            unlistedPrefix: vendor == .alibaba ? headerPrefix : nil
        )
        self.authorizationSeparator = authorizationSeparator
        self.expirationForm = expirationForm
    }

    /// Allowed life of a URL or a form, in seconds.
    static let expiryRange = 1...604_800
}

extension V4Dialect {
    /// AWS Signature Version 4.
    static let aws = V4Dialect(
        vendor: .amazon,
        algorithm: "AWS4-HMAC-SHA256",
        secret: .derivedKey(prefix: "AWS4"),
        terminator: "aws4_request",
        parameters: Parameters(
            algorithm: "X-Amz-Algorithm",
            credential: "X-Amz-Credential",
            date: "X-Amz-Date",
            expires: "X-Amz-Expires",
            securityToken: "X-Amz-Security-Token",
            headerNames: "X-Amz-SignedHeaders",
            signature: "X-Amz-Signature"
        ),
        headerPrefix: "x-amz-",
        authorizationSeparator: ", ",
        expirationForm: .seconds
    )

    /// Alibaba OSS signature version 4.
    static let oss = V4Dialect(
        vendor: .alibaba,
        algorithm: "OSS4-HMAC-SHA256",
        secret: .derivedKey(prefix: "aliyun_v4"),
        terminator: "aliyun_v4_request",
        parameters: Parameters(
            algorithm: "x-oss-signature-version",
            credential: "x-oss-credential",
            date: "x-oss-date",
            expires: "x-oss-expires",
            securityToken: "x-oss-security-token",
            headerNames: "x-oss-additional-headers",
            signature: "x-oss-signature"
        ),
        headerPrefix: "x-oss-",
        authorizationSeparator: ",",
        expirationForm: .milliseconds
    )

    /// Google Cloud Storage, with the key of a service account.
    static let gcsRSA = gcs(algorithm: "GOOG4-RSA-SHA256", secret: .privateKey)

    /// Google Cloud Storage, with an HMAC key.
    static let gcsHMAC = gcs(algorithm: "GOOG4-HMAC-SHA256", secret: .derivedKey(prefix: "GOOG4"))

    private static func gcs(algorithm: String, secret: Secret) -> V4Dialect {
        V4Dialect(
            vendor: .google,
            algorithm: algorithm,
            secret: secret,
            terminator: "goog4_request",
            parameters: Parameters(
                algorithm: "X-Goog-Algorithm",
                credential: "X-Goog-Credential",
                date: "X-Goog-Date",
                expires: "X-Goog-Expires",
                securityToken: nil,
                headerNames: "X-Goog-SignedHeaders",
                signature: "X-Goog-Signature"
            ),
            headerPrefix: "x-goog-",
            authorizationSeparator: ", ",
            expirationForm: .seconds
        )
    }
}

extension V4Dialect {
    /// The text before a key in the signed path. OSS always includes the bucket, wherever the URL names it.
    func signedFront(of address: BucketAddress) -> [UInt8] {
        vendor == .alibaba ? address.front.naming : address.front.signed
    }

    /// Whether a parameter without value is written without `=`.
    var writesBareNames: Bool { vendor == .alibaba }

    /// Whether `host` is bound even if the request does not give it.
    var bindsHost: Bool { vendor != .alibaba }

    /// Whether policies support conditions that list values.
    var hasListConditions: Bool { vendor == .alibaba }
}

extension V4Dialect.Parameters {
    /// Whether a parameter is one of these, regardless of case, because some stores ignore case.
    func contain(_ name: String) -> Bool {
        // Few names in requests are as long as the shortest of these.
        guard name.utf8.count >= date.utf8.count else { return false }
        let name = name.lowercased()
        return [algorithm, credential, date, expires, securityToken, headerNames, signature].contains {
            $0?.lowercased() == name
        }
    }
}

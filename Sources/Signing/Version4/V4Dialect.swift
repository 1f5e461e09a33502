/// The words in which the vendors of "version 4" signatures differ.
final class V4Dialect: Sendable {
    /// How a secret becomes a signature.
    enum Secret: Sendable {
        /// HMAC with a key derived from this text and the secret.
        case derivedKey(prefix: String)
        /// RSASSA-PKCS1-v1_5 with SHA-256; the secret is a private key in PEM.
        case privateKey
    }

    /// Names of the query parameters that a signer writes, and in lower case of the fields of a form.
    struct Parameters: Sendable {
        let algorithm: String
        let credential: String
        let date: String
        let expires: String
        /// `nil` where temporary credentials do not exist.
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
    /// What the names of the vendor's own headers begin with; such a header must be signed when sent.
    let headerPrefix: String
    /// How headers stand in a canonical request.
    let headerForm: CanonicalHeaderForm
    /// Between the parts of an `Authorization` value.
    let authorizationSeparator: String
    /// How the expiration of a policy is written.
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

    /// Seconds that a URL or a form may live.
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
    /// What stands in front of a key in the path that is signed: OSS has the bucket in it wherever the URL does.
    func signedFront(of address: BucketAddress) -> [UInt8] {
        vendor == .alibaba ? address.front.naming : address.front.signed
    }

    /// Whether a parameter without value is written without `=`.
    var writesBareNames: Bool { vendor == .alibaba }

    /// Whether the host is bound when nobody asks for it.
    var bindsHost: Bool { vendor != .alibaba }

    /// Whether policies know conditions that list values.
    var hasListConditions: Bool { vendor == .alibaba }
}

extension V4Dialect.Parameters {
    /// Whether a parameter is one of these, in whatever case: some stores do not tell cases apart.
    func contain(_ name: String) -> Bool {
        // Of the names that requests bring, few are as long as the shortest of these.
        guard name.utf8.count >= date.utf8.count else { return false }
        let name = name.lowercased()
        return [algorithm, credential, date, expires, securityToken, headerNames, signature].contains {
            $0?.lowercased() == name
        }
    }
}

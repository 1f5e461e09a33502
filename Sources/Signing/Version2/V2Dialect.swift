/// The names and rules in which the vendors of "version 2" signatures differ.
final class V2Dialect: Sendable {
    /// How the path and the sub-resources are written into the string to sign.
    enum ResourceForm: Sendable {
        /// Path and values decoded; the path always includes the bucket.
        case raw
        /// The path percent-encoded, as sent; values decoded.
        case pathAsSent
        /// The path percent-encoded; names in lower case and values as an HTML form writes them.
        case form
    }

    /// How the token of temporary credentials travels in a URL.
    enum TokenForm: Sendable {
        /// The scheme does not support them in a URL.
        case unsupported
        /// As a parameter that is a sub-resource.
        case subResource(String)
        /// As a parameter that is signed like the header of that name.
        case header(String)
    }

    /// Names of the query parameters that a signer writes.
    struct Parameters: Sendable {
        let accessKeyID: String
        let expires: String
        let signature: String

        /// Whether a parameter is one of these, regardless of case, because some stores ignore case.
        func contain(_ name: String) -> Bool {
            let name = name.lowercased()
            return [accessKeyID, expires, signature].contains { $0.lowercased() == name }
        }
    }

    /// Whether the signature is RSA with SHA-256 rather than HMAC with SHA-1.
    let usesPrivateKey: Bool
    /// First word of the `Authorization` header.
    let authorizationScheme: String
    /// The signer's own parameters.
    let parameters: Parameters
    /// Prefix of the headers that are signed if they are sent.
    let headerPrefix: String
    /// Headers with that prefix that the store does not verify.
    let unsignedHeaders: [String]
    /// Whether a run of white space inside the value of such a header becomes one space.
    let collapsesWhiteSpace: Bool
    /// The query parameters that are signed.
    let subResources: SubResources
    /// How the resource is written.
    let resourceForm: ResourceForm
    /// Where the token goes in a URL.
    let tokenForm: TokenForm
    /// Whether the query of a URL repeats the type and the MD5 that it binds, as `botocore` does. The client must send
    /// the headers nevertheless.
    let showsContentHeaders: Bool

    init(
        usesPrivateKey: Bool, authorizationScheme: String, parameters: Parameters, headerPrefix: String,
        unsignedHeaders: [String], collapsesWhiteSpace: Bool, subResources: SubResources, resourceForm: ResourceForm,
        tokenForm: TokenForm, showsContentHeaders: Bool
    ) {
        self.usesPrivateKey = usesPrivateKey
        self.authorizationScheme = authorizationScheme
        self.parameters = parameters
        self.headerPrefix = headerPrefix
        self.unsignedHeaders = unsignedHeaders
        self.collapsesWhiteSpace = collapsesWhiteSpace
        self.subResources = subResources
        self.resourceForm = resourceForm
        self.tokenForm = tokenForm
        self.showsContentHeaders = showsContentHeaders
    }

    /// Whether the date line repeats the vendor's date header. Otherwise the line is empty if the header is given.
    var vendorDateFillsLine: Bool {
        if case .raw = resourceForm { true } else { false }
    }
    /// Header that replaces `Date`.
    var dateHeader: String { headerPrefix + "date" }
    /// Header that carries the token of temporary credentials.
    var tokenHeader: String { headerPrefix + "security-token" }

    /// Allowed life of a URL, in seconds. The schemes themselves set no limit; this is the limit of the others.
    static let expiryRange = 1...604_800
}

extension V2Dialect {
    /// Alibaba OSS, V1.
    static let oss = V2Dialect(
        usesPrivateKey: false,
        authorizationScheme: "OSS",
        parameters: Parameters(accessKeyID: "OSSAccessKeyId", expires: "Expires", signature: "Signature"),
        headerPrefix: "x-oss-",
        unsignedHeaders: [],
        collapsesWhiteSpace: false,
        subResources: .oss,
        resourceForm: .raw,
        tokenForm: .subResource("security-token"),
        showsContentHeaders: false
    )

    /// AWS Signature Version 2, which Google Cloud Storage accepts too.
    static let amazon = V2Dialect(
        usesPrivateKey: false,
        authorizationScheme: "AWS",
        parameters: Parameters(accessKeyID: "AWSAccessKeyId", expires: "Expires", signature: "Signature"),
        headerPrefix: "x-amz-",
        unsignedHeaders: [],
        collapsesWhiteSpace: false,
        subResources: .amazon,
        resourceForm: .pathAsSent,
        tokenForm: .header("x-amz-security-token"),
        showsContentHeaders: true
    )

    /// Google Cloud Storage with an HMAC key and Google's own names.
    static let googleHMAC = V2Dialect(
        usesPrivateKey: false,
        authorizationScheme: "GOOG1",
        parameters: Parameters(accessKeyID: "GoogleAccessId", expires: "Expires", signature: "Signature"),
        headerPrefix: "x-goog-",
        unsignedHeaders: googleUnsignedHeaders,
        collapsesWhiteSpace: true,
        subResources: .amazon,
        resourceForm: .pathAsSent,
        tokenForm: .unsupported,
        showsContentHeaders: false
    )

    /// Google Cloud Storage with the private key of a service account.
    static let googleRSA = V2Dialect(
        usesPrivateKey: true,
        authorizationScheme: "GOOG1-RSA-SHA256",
        parameters: Parameters(accessKeyID: "GoogleAccessId", expires: "Expires", signature: "Signature"),
        headerPrefix: "x-goog-",
        unsignedHeaders: googleUnsignedHeaders,
        collapsesWhiteSpace: true,
        subResources: .google,
        resourceForm: .form,
        tokenForm: .unsupported,
        showsContentHeaders: false
    )

    private static let googleUnsignedHeaders = ["x-goog-encryption-key", "x-goog-encryption-key-sha256"]
}

extension StoreVendor {
    /// The names and rules of the vendor's "version 2" signatures.
    var version2: V2Dialect {
        switch self {
        case .alibaba: .oss
        case .amazon: .amazon
        case .google: .googleHMAC
        }
    }
}

import Signing

/// The answer to one line of `sluice sign`: the stages of the signature. A stage that the scheme lacks is absent.
struct SignOutput: Encodable {
    var name: String?
    var url: String?
    var path: String?
    /// Decoded pairs, in the order of the URL.
    var query: [[String]]?
    var canonicalRequest: String?
    var stringToSign: String?
    var signature: String?
    var authorization: String?
    var body: String?
    var fields: [String: String]?
    var cookies: [String: String]?
    var policyBase64: String?
    var requiredHeaders: [String: String]?

    init(_ signed: PresignedURL) {
        url = signed.url
        path = signed.path
        query = signed.query.map { [$0.name, $0.value] }
        canonicalRequest = signed.canonicalRequest.isEmpty ? nil : signed.canonicalRequest
        stringToSign = signed.stringToSign
        signature = signed.signature
        requiredHeaders = Self.dictionary(signed.requiredHeaders)
    }

    init(_ signed: AuthorizedRequest) {
        url = signed.url
        path = signed.path
        query = signed.query.map { [$0.name, $0.value] }
        canonicalRequest = signed.canonicalRequest
        stringToSign = signed.stringToSign
        signature = signed.signature
        authorization = signed.authorization.isEmpty ? nil : signed.authorization
        body = signed.body
        requiredHeaders = Self.dictionary(signed.headers.filter { $0.name != "authorization" })
    }

    init(_ signed: SignedPostForm) {
        url = signed.url
        path = signed.path
        query = []
        fields = Self.dictionary(signed.fields)
        policyBase64 = signed.policyBase64
        stringToSign = signed.policyBase64
        signature = signed.signature
        requiredHeaders = [:]
    }

    init(_ signed: SignedCookies) {
        url = signed.url
        path = signed.path
        cookies = Self.dictionary(signed.cookies)
        stringToSign = signed.stringToSign
        signature = signed.signature
        requiredHeaders = [:]
    }

    private static func dictionary(_ pairs: [NamedValue]) -> [String: String] {
        Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
}

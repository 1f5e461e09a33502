import Signing

/// The answer to one line of `sluice sign`: each stage, as far as the scheme has it, or an error.
struct SignOutput: Encodable {
    var name: String?
    var url: String?
    var path: String?
    /// Decoded pairs in the URL's order.
    var query: [[String]]?
    var canonicalRequest: String?
    var stringToSign: String?
    var signature: String?
    var requiredHeaders: [String: String]?
    var error: SignFailure?

    init(name: String, _ signed: PresignedURL) {
        self.name = name
        url = signed.url
        path = signed.path
        query = signed.query.map { [$0.name, $0.value] }
        canonicalRequest = signed.canonicalRequest.isEmpty ? nil : signed.canonicalRequest
        stringToSign = signed.stringToSign
        signature = signed.signature
        requiredHeaders = Dictionary(signed.requiredHeaders.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }

    init(name: String?, _ failure: SignFailure) {
        self.name = name
        error = failure
    }
}

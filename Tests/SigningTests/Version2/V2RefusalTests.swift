import Signing
import Testing

@Suite("Version 2 query, refusals")
struct V2RefusalTests {
    private enum Scheme: CaseIterable {
        case oss, amazon, google
    }

    private func sign(
        _ scheme: Scheme = .oss, token: String? = nil, _ change: (inout PresignRequest) -> Void = { _ in }
    ) throws -> PresignedURL {
        var request = PresignRequest(
            method: "PUT",
            address: try BucketAddress(endpoint: StoreEndpoint("https://h"), bucket: "b", addressing: .path),
            key: "k/l",
            expiresInSeconds: 60
        )
        change(&request)
        let instant = try #require(SigningInstant(basic: "20240517T083000Z"))
        let key = try SigningKeyV2(SigningCredential(accessKeyID: "id", secretAccessKey: "s", securityToken: token))
        return switch scheme {
        case .oss: try OSSV1.presign(request, with: key, at: instant)
        case .amazon: try AWSV2.presign(request, with: key, at: instant)
        case .google: try AWSV2.presign(request, vendor: .google, with: key, at: instant)
        }
    }

    @Test(arguments: ["", "put", "PUT ", "PUT\n"])
    func methodsAreUpperCaseLetters(method: String) {
        #expect(throws: SigningError.invalidMethod(method)) { try sign { $0.method = method } }
    }

    @Test func aLifeIsFromOneSecondToSevenDays() throws {
        _ = try sign { $0.expiresInSeconds = 604_800 }
        for seconds in [0, -1, 604_801, .max, .min] {
            #expect(throws: SigningError.expiryOutOfRange(seconds: seconds, allowed: 1...604_800)) {
                try sign { $0.expiresInSeconds = seconds }
            }
        }
    }

    @Test(arguments: ["Content-Length", "cache-control", "X-Other", "host", "x-amz-meta-a", "x-goog-meta-a"])
    func ossBindsItsOwnHeadersOnly(name: String) {
        #expect(throws: SigningError.headerNotBindable(name)) { try sign { $0.headers = [NamedValue(name, "v")] } }
    }

    @Test(arguments: ["x-goog-encryption-key", "X-Goog-Encryption-Key-Sha256", "x-amz-meta-a"])
    func googleBindsNoKeysOfItsCustomers(name: String) {
        #expect(throws: SigningError.headerNotBindable(name)) {
            try sign(.google) { $0.headers = [NamedValue(name, "v")] }
        }
    }

    @Test(arguments: ["x-oss-date", "X-OSS-Date", "x-oss-security-token"])
    func theSignersOwnHeadersAreRefused(name: String) {
        #expect(throws: SigningError.reservedHeader(name)) { try sign { $0.headers = [NamedValue(name, "v")] } }
    }

    @Test(arguments: ["OSSAccessKeyId", "ossaccesskeyid", "Expires", "expires", "Signature", "security-token"])
    func theSignersOwnParametersAreRefused(name: String) {
        #expect(throws: SigningError.reservedQueryParameter(name)) { try sign { $0.query = [NamedValue(name, "")] } }
    }

    @Test(arguments: ["AWSAccessKeyId", "Signature", "x-amz-security-token", "X-Amz-Meta-A", "content-type"])
    func amazonsHeadersStandInNoQuery(name: String) {
        #expect(throws: SigningError.reservedQueryParameter(name)) {
            try sign(.amazon) { $0.query = [NamedValue(name, "")] }
        }
    }

    @Test(arguments: ["a?acl", "?", "a\nb"])
    func ossKeysCannotBeReadAsSubResources(key: String) throws {
        let error = #expect(throws: SigningError.self) { try sign { $0.key = key } }
        #expect(error?.code == "AmbiguousKey")
        // Where the path is signed percent-encoded, nothing is ambiguous.
        #expect(try sign(.amazon) { $0.key = key }.stringToSign.split(separator: "\n").count == 3)
    }

    @Test(arguments: [
        "a&tagging", "a&response-content-type=text/html", "&acl", "b&acl&c", "\u{600}&acl", "a\nb", "a\r",
    ])
    func valuesCannotBeReadAsParameters(value: String) {
        for scheme in [Scheme.oss, .amazon, .google] {
            #expect(throws: SigningError.ambiguousQueryParameter("response-cache-control")) {
                try sign(scheme) { $0.query = [NamedValue("response-cache-control", value)] }
            }
        }
    }

    @Test(arguments: ["R&D.pdf", "a&aclx", "a&Acl", "a=acl", "&", "\u{212A}&b"])
    func otherAmpersandsAreText(value: String) throws {
        let signed = try sign { $0.query = [NamedValue("response-content-disposition", value)] }
        #expect(signed.stringToSign.hasSuffix("?response-content-disposition=\(value)"))
    }

    @Test func aSignedParameterIsGivenOnce() {
        #expect(throws: SigningError.duplicateQueryParameter("uploadId")) {
            try sign { $0.query = [NamedValue("uploadId", "a"), NamedValue("uploadId", "b")] }
        }
    }

    @Test func theCaseOfANameDecidesWhetherItIsSigned() throws {
        let signed = try sign { $0.query = [NamedValue("ACL", ""), NamedValue("uploadid", "1")] }
        #expect(signed.stringToSign.hasSuffix("/b/k/l"))
        #expect(signed.url.contains("?ACL&uploadid=1&"))
    }

    @Test(arguments: ["a\nb", "a\r", "\u{0}"])
    func headerValuesAreOneLine(value: String) {
        for name in ["Content-Type", "content-md5", "x-oss-meta-a"] {
            #expect(throws: SigningError.invalidHeaderValue(name: name)) {
                try sign { $0.headers = [NamedValue(name, value)] }
            }
        }
    }

    @Test func aHeaderIsGivenOnce() {
        #expect(throws: SigningError.duplicateHeader("X-Oss-Meta-A")) {
            try sign { $0.headers = [NamedValue("x-oss-meta-a", "1"), NamedValue("X-Oss-Meta-A", "2")] }
        }
    }

    @Test(arguments: ["", "a b", "a\n", "a\u{7F}"])
    func accessKeyIDsFitIntoAHeader(id: String) {
        let error = #expect(throws: SigningError.self) {
            try SigningKeyV2(SigningCredential(accessKeyID: id, secretAccessKey: "s"))
        }
        #expect(error?.code == "InvalidCredential")
    }

    @Test func aColonInAnIDIsRefusedWhereClientsSplit() throws {
        let key = try SigningKeyV2(SigningCredential(accessKeyID: "account:user", secretAccessKey: "s"))
        let request = SignableRequest(
            method: "GET",
            address: try BucketAddress(endpoint: StoreEndpoint("https://h"), bucket: "b", addressing: .path),
            key: "k")
        let instant = SigningInstant(clampingEpochSeconds: 0)
        let signed = try AWSV2.authorize(request, with: key, at: instant)
        #expect(signed.authorization.hasPrefix("AWS account:user:"))
        let error = #expect(throws: SigningError.self) { try OSSV1.authorize(request, with: key, at: instant) }
        #expect(error?.code == "InvalidCredential")
    }

    @Test(arguments: ["", "a\nb", "a b"])
    func tokensFitIntoAHeader(token: String) {
        #expect(throws: SigningError.self) { try sign(token: token) }
    }

    @Test func googleHasNoPlaceForAToken() {
        #expect(throws: SigningError.self) { try sign(.google, token: "t") }
    }

    @Test func amazonSignsATokenAsAHeaderAndSendsItInTheQuery() throws {
        let signed = try sign(.amazon, token: "t/1") { $0.headers = [NamedValue("x-amz-meta-a", " 1  2 ")] }
        #expect(signed.stringToSign == "PUT\n\n\n1715934660\nx-amz-meta-a:1  2\nx-amz-security-token:t/1\n/b/k/l")
        #expect(signed.url.contains("x-amz-security-token=t%2F1&"))
    }

    @Test func theSlashAsSentIsTheSlashAsSigned() throws {
        #expect(try sign(.amazon) { $0.pathForm = .slashEscaped }.stringToSign.hasSuffix("\n/b/k%2Fl"))
        #expect(try sign(.oss) { $0.pathForm = .slashEscaped }.stringToSign.hasSuffix("\n/b/k/l"))
        #expect(throws: SigningError.pathNamesAnotherObject("/b/k")) {
            try sign(.amazon) { $0.pathForm = .asSent("/b/k") }
        }
    }
}

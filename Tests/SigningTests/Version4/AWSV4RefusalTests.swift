import Signing
import Testing

@Suite("AWS V4 query, refusals")
struct AWSV4RefusalTests {
    private let credential = SigningCredential(
        accessKeyID: "AKID", secretAccessKey: "hidden-key", securityToken: "hidden-token")

    private func sign(_ change: (inout PresignRequest) -> Void, daysLater: Int = 0) throws -> PresignedURL {
        let instant = try #require(SigningInstant(basic: "20240517T083000Z"))
        var request = PresignRequest(
            method: "PUT",
            address: try BucketAddress(endpoint: StoreEndpoint("https://h"), bucket: "b", addressing: .path),
            key: "k/l",
            expiresInSeconds: 60
        )
        change(&request)
        let key = try SigningKeyV4(credential, scope: .aws(region: "r"), at: instant)
        return try AWSV4.presign(request, with: key, at: #require(instant.advanced(bySeconds: daysLater * 86_400)))
    }

    @Test(arguments: ["", "get", "GET ", "GET\n", "G-T"])
    func methodsAreUpperCaseLetters(method: String) {
        #expect(throws: SigningError.invalidMethod(method)) { try sign { $0.method = method } }
    }

    @Test func aLifeIsFromOneSecondToSevenDays() throws {
        _ = try sign { $0.expiresInSeconds = 1 }
        _ = try sign { $0.expiresInSeconds = 604_800 }
        for seconds in [0, -1, 604_801, .max, .min] {
            #expect(throws: SigningError.expiryOutOfRange(seconds: seconds, allowed: 1...604_800)) {
                try sign { $0.expiresInSeconds = seconds }
            }
        }
    }

    @Test(arguments: ["", "a b", "a:b", "a\n", "é", "a\u{0}"])
    func headerNamesAreTokens(name: String) {
        #expect(throws: SigningError.invalidHeaderName(name)) { try sign { $0.headers = [NamedValue(name, "v")] } }
    }

    @Test(arguments: ["a\nb", "a\r", "\u{0}", "\r\nhost:evil"])
    func headerValuesAreOneLine(value: String) {
        #expect(throws: SigningError.invalidHeaderValue(name: "x")) {
            try sign { $0.headers = [NamedValue("x", value)] }
        }
    }

    @Test func headersAreGivenOnceAndHostIsTheAddress() {
        #expect(throws: SigningError.duplicateHeader("X-A")) {
            try sign { $0.headers = [NamedValue("x-a", "1"), NamedValue("X-A", "2")] }
        }
        #expect(throws: SigningError.reservedHeader("Host")) { try sign { $0.headers = [NamedValue("Host", "other")] } }
        #expect(throws: SigningError.reservedHeader("authorization")) {
            try sign { $0.headers = [NamedValue("authorization", "")] }
        }
    }

    @Test(arguments: [
        "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature",
        "X-Amz-Security-Token", "x-amz-signature",
    ])
    func parametersOfTheSignatureAreTheSigners(name: String) {
        #expect(throws: SigningError.reservedQueryParameter(name)) { try sign { $0.query = [NamedValue(name, "")] } }
    }

    @Test func aKeyServesItsOwnDayOnly() {
        #expect(throws: SigningError.keyOfAnotherDay) { try sign({ _ in }, daysLater: 1) }
    }

    @Test(arguments: ["/b/k%2Fl", "/b/k/l", "/%62/k/l"])
    func aPathAsSentNamesTheObject(path: String) throws {
        let signed = try sign { $0.pathForm = .asSent(path) }
        #expect(signed.path == path)
        #expect(try signed.signature == sign { _ in }.signature)
    }

    @Test(arguments: [
        "/b/k", "/b/k/l/", "b/k/l", "/b//k/l", "/b/k/l?x", "/b/k/l#", "/b/k/%", "/b/k/l ", "/b/./k/l", "",
    ])
    func aPathThatNamesAnotherObjectIsRefused(path: String) {
        #expect(throws: SigningError.pathNamesAnotherObject(path)) { try sign { $0.pathForm = .asSent(path) } }
    }

    @Test(arguments: [
        ("", "r", "s3"), ("a/b", "r", "s3"), ("a", "", "s3"), ("a", "r/s", "s3"), ("a", "r", ""), ("a", "r\n", "s3"),
    ])
    func aScopeIsFiveParts(accessKeyID: String, region: String, service: String) throws {
        let instant = try #require(SigningInstant(epochSeconds: 0))
        let error = #expect(throws: SigningError.self) {
            try SigningKeyV4(
                SigningCredential(accessKeyID: accessKeyID, secretAccessKey: "s"),
                scope: .aws(region: region, service: service), at: instant
            )
        }
        #expect(error?.code == "InvalidCredentialScope")
    }

    @Test func aSignedPayloadHeaderStandsForTheBody() throws {
        let signed = try sign { $0.headers = [NamedValue("X-Amz-Content-SHA256", "abc")] }
        #expect(signed.canonicalRequest.hasSuffix("\nhost;x-amz-content-sha256\nabc"))
    }

    @Test func aCredentialNeverShowsItsSecrets() {
        var dumped = "\(credential) \(String(reflecting: credential)) \([credential]) \(Optional(credential) as Any)"
        dump(credential, to: &dumped)
        #expect(dumped.contains("AKID"))
        #expect(!dumped.contains("hidden"))
    }
}

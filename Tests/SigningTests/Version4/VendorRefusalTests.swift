import Signing
import Testing

@Suite("OSS V4 and GCS V4, what differs")
struct VendorRefusalTests {
    private let instant = SigningInstant(clampingEpochSeconds: 1_715_934_600)
    private let credential = SigningCredential(accessKeyID: "id", secretAccessKey: "s")

    private func request(_ change: (inout PresignRequest) -> Void) throws -> PresignRequest {
        var request = PresignRequest(
            method: "PUT",
            address: try BucketAddress(endpoint: StoreEndpoint("https://h/prefix"), bucket: "b", addressing: .virtual),
            key: "k/ü", expiresInSeconds: 60)
        change(&request)
        return request
    }

    private func signAtOSS(_ change: (inout PresignRequest) -> Void) throws -> PresignedURL {
        let key = try SigningKeyV4(credential, scope: .oss(region: "cn-hangzhou"), at: instant)
        return try OSSV4.presign(request(change), with: key, at: instant)
    }

    private func signAtGCS(_ change: (inout PresignRequest) -> Void) throws -> PresignedURL {
        let key = try SigningKeyV4(credential, scope: .gcsHMAC(), at: instant)
        return try GCSV4.presign(request(change), with: key, at: instant)
    }

    @Test func ossSignsTheBucketAndSendsThePathOfTheAddress() throws {
        let signed = try signAtOSS { $0.query = [NamedValue("acl", ""), NamedValue("a", "b/c")] }
        #expect(signed.path == "/prefix/k/%C3%BC")
        #expect(signed.canonicalRequest.hasPrefix("PUT\n/b/k/%C3%BC\na=b%2Fc&acl&x-oss-credential="))
        #expect(signed.canonicalRequest.hasSuffix("\n\n\nUNSIGNED-PAYLOAD"))
        #expect(signed.url.hasPrefix("https://b.h/prefix/k/%C3%BC?a=b%2Fc&acl&x-oss-credential="))
        #expect(!signed.url.contains("additional"))
        #expect(!signed.canonicalRequest.contains("host"))
    }

    @Test func ossNamesOnlyTheHeadersThatItDoesNotBindAnyway() throws {
        let signed = try signAtOSS {
            $0.headers = [
                NamedValue("Range", " bytes=0-1  "), NamedValue("Content-Type", "a/b"),
                NamedValue("x-oss-meta-a", "1  2"),
                NamedValue("Host", "b.h"),
            ]
        }
        #expect(
            signed.canonicalRequest.hasSuffix(
                "\ncontent-type:a/b\nhost:b.h\nrange:bytes=0-1\nx-oss-meta-a:1  2\n\nhost;range\nUNSIGNED-PAYLOAD"))
        #expect(signed.url.contains("x-oss-additional-headers=host%3Brange&"))
        #expect(signed.requiredHeaders.map(\.name) == ["range", "content-type", "x-oss-meta-a"])
    }

    @Test(arguments: [
        "x-oss-signature-version", "x-oss-credential", "x-oss-date", "x-oss-expires", "x-oss-additional-headers",
        "x-oss-security-token", "x-oss-signature", "X-OSS-Signature",
    ])
    func parametersOfTheSignatureAreTheSigners(name: String) throws {
        #expect(throws: SigningError.reservedQueryParameter(name)) {
            try signAtOSS { $0.query = [NamedValue(name, "")] }
        }
        _ = try signAtOSS { $0.query = [NamedValue("x-oss-process", "image/resize,w_1")] }
    }

    @Test func aHostToBindIsThatOfTheAddress() {
        #expect(throws: SigningError.reservedHeader("host")) {
            try signAtOSS { $0.headers = [NamedValue("host", "evil")] }
        }
    }

    @Test(arguments: [0, 604_801])
    func livesAreThoseOfVersion4(seconds: Int) {
        let error = SigningError.expiryOutOfRange(seconds: seconds, allowed: 1...604_800)
        #expect(throws: error) { try signAtOSS { $0.expiresInSeconds = seconds } }
        #expect(throws: error) { try signAtGCS { $0.expiresInSeconds = seconds } }
    }

    @Test(arguments: ["/prefix/k/%C3%BC", "/prefix/k%2F%c3%bc"])
    func thePathAsSentIsThatOfTheURL(path: String) throws {
        let signed = try signAtOSS { $0.pathForm = .asSent(path) }
        #expect(signed.path == path)
        #expect(try signed.signature == signAtOSS { _ in }.signature)
        #expect(throws: SigningError.pathNamesAnotherObject("/b/k/%C3%BC")) {
            try signAtOSS { $0.pathForm = .asSent("/b/k/%C3%BC") }
        }
    }

    @Test func googleTakesNoHeadersOfAmazonAndNoTokens() throws {
        #expect(throws: SigningError.headerNotBindable("X-Amz-Meta-A")) {
            try signAtGCS { $0.headers = [NamedValue("X-Amz-Meta-A", "1")] }
        }
        let temporary = SigningCredential(accessKeyID: "id", secretAccessKey: "s", securityToken: "t")
        let error = #expect(throws: SigningError.self) {
            try SigningKeyV4(temporary, scope: .gcsHMAC(), at: instant)
        }
        #expect(error?.code == "InvalidCredential")
    }

    @Test func aBoundHashStandsForTheBody() throws {
        let signed = try signAtGCS { $0.headers = [NamedValue("x-goog-content-sha256", " abc ")] }
        #expect(signed.canonicalRequest.hasSuffix("\nhost;x-goog-content-sha256\nabc"))
    }

    @Test(arguments: ["", "s", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
    func aServiceAccountNeedsAPrivateKey(pem: String) {
        let credential = SigningCredential(accessKeyID: "a@b", secretAccessKey: pem)
        let error = #expect(throws: SigningError.self) { try SigningKeyV4(credential, scope: .gcsRSA(), at: instant) }
        #expect(error?.code == "InvalidPrivateKey")
        #expect(error?.detail.contains("AAAA") == false)
    }

    @Test func aKeyServesItsOwnVendorOnly() throws {
        let aws = try SigningKeyV4(credential, scope: .aws(region: "r"), at: instant)
        #expect(throws: SigningError.keyOfAnotherScheme) { try OSSV4.presign(request { _ in }, with: aws, at: instant) }
        #expect(throws: SigningError.keyOfAnotherScheme) { try GCSV4.presign(request { _ in }, with: aws, at: instant) }
        let oss = try SigningKeyV4(credential, scope: .oss(region: "r"), at: instant)
        #expect(throws: SigningError.keyOfAnotherScheme) { try AWSV4.presign(request { _ in }, with: oss, at: instant) }
    }

    @Test func headersThatTheSignerWritesMayBeGivenWithTheSameValue() throws {
        let key = try SigningKeyV4(credential, scope: .oss(region: "r"), at: instant)
        let address = try BucketAddress(endpoint: StoreEndpoint("https://h"), bucket: "b", addressing: .virtual)
        var request = SignableRequest(method: "GET", address: address, key: "k")
        let signed = try OSSV4.authorize(request, with: key, at: instant)
        request.headers = [NamedValue("X-OSS-Date", "20240517T083000Z")]
        #expect(try OSSV4.authorize(request, with: key, at: instant).signature == signed.signature)
        request.headers = [NamedValue("x-oss-date", "20240517T083001Z")]
        #expect(throws: SigningError.reservedHeader("x-oss-date")) {
            try OSSV4.authorize(request, with: key, at: instant)
        }
        request.headers = [NamedValue("Authorization", "OSS a:b")]
        #expect(throws: SigningError.reservedHeader("Authorization")) {
            try OSSV4.authorize(request, with: key, at: instant)
        }
        request = SignableRequest(
            method: "GET", address: BucketAddress(service: try StoreEndpoint("https://h")), key: "")
        #expect(try OSSV4.authorize(request, with: key, at: instant).canonicalRequest?.hasPrefix("GET\n/\n\n") == true)
    }

    @Test func aTokenThatNoHeaderCanHoldIsRefused() throws {
        let credential = SigningCredential(accessKeyID: "id", secretAccessKey: "s", securityToken: "a\r\nx: y")
        let key = try SigningKeyV4(credential, scope: .aws(region: "r"), at: instant)
        let address = try BucketAddress(endpoint: StoreEndpoint("https://h"), bucket: "b", addressing: .virtual)
        #expect(throws: SigningError.invalidHeaderValue(name: "x-amz-security-token")) {
            try AWSV4.authorize(SignableRequest(method: "GET", address: address, key: "k"), with: key, at: instant)
        }
    }
}

import Foundation
import Signing
import Testing

@Suite("Strings to sign of clients")
struct StringToSignTests {
    /// A permitted string in the vendor's form, with the values that may be inserted.
    struct Draft {
        var method = "PUT"
        var contentMD5 = ""
        var contentType = "image/png"
        var date = "Fri, 17 May 2024 08:30:00 GMT"
        var headers: [String] = []
        var resource = "/demo-bucket/u/42/a.png"

        var text: String { ([method, contentMD5, contentType, date] + headers + [resource]).joined(separator: "\n") }
    }

    private func permit(
        _ draft: Draft, _ vendor: StoreVendor = .alibaba, token: String? = nil, partsNeedType: Bool = false
    ) throws -> PermittedString {
        let now = try #require(SigningInstant(extended: "2024-05-17T08:30:00Z"))
        let rules = StringRules(
            now: now, maxLifeSeconds: 3600, securityToken: token, partsNeedType: partsNeedType)
        return try ReceivedStringToSign(draft.text, vendor: vendor).permitted(by: rules)
    }

    private func refused(
        _ refusal: StringToSignRefusal, _ vendor: StoreVendor = .alibaba, token: String? = nil,
        _ change: (inout Draft) -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var draft = Draft()
        change(&draft)
        #expect(throws: refusal, sourceLocation: sourceLocation) { try permit(draft, vendor, token: token) }
    }

    @Test(arguments: [
        ("PUT", "", ObjectOperation.putObject), ("GET", "", .getObject), ("HEAD", "", .headObject),
        ("HEAD", "?objectMeta", .getObjectMeta), ("HEAD", "?versionId=CAEQ", .headObject),
        ("POST", "?uploads", .initiateMultipartUpload),
        ("POST", "?sequential&uploads", .initiateMultipartUpload),
        ("PUT", "?partNumber=10000&uploadId=0004B", .uploadPart), ("POST", "?uploadId=0004B", .completeMultipartUpload),
        ("DELETE", "?uploadId=0004B", .abortMultipartUpload), ("DELETE", "", .deleteObject),
        ("GET", "?uploadId=0004B", .listParts),
        ("GET", "?versionId=CAEQ", .getObject), ("GET", "?x-oss-process=image/resize,w_1/quality,q_80", .getObject),
        ("GET", "?response-cache-control=no-cache&response-content-disposition=a; b=\"c\"&versionId=1", .getObject),
    ])
    func eachOperationIsKnown(method: String, query: String, operation: ObjectOperation) throws {
        let draft = Draft(method: method, resource: "/demo-bucket/u/ 日本+%?".dropLast() + query)
        let permitted = try permit(draft)
        #expect(permitted.permission.operation == operation)
        #expect(permitted.permission.key == "u/ 日本+%")
        #expect(permitted.permission.uploadID == (query.contains("uploadId") ? "0004B" : nil))
        #expect(permitted.permission.partNumber == (operation == .uploadPart ? 10_000 : nil))
        #expect(permitted.text == draft.text)
    }

    @Test(arguments: [
        ("PUT", "?acl"), ("PUT", "?uploads"), ("PUT", "?tagging"), ("PUT", "?symlink"), ("PUT", "?uploadId=1"),
        ("PUT", "?partNumber=1"), ("PUT", "?versionId=1"), ("PUT", "?x-oss-process=image/info"),
        ("PUT", "?response-content-type=a"), ("GET", "?acl"), ("GET", "?tagging"), ("GET", "?symlink"),
        ("GET", "?partNumber=1&uploadId=1"), ("GET", "?uploads"), ("GET", "?objectMeta"),
        ("HEAD", "?objectMeta&versionId=1"), ("HEAD", "?response-content-type=a"),
        ("HEAD", "?uploadId=1"), ("POST", ""), ("POST", "?delete"), ("POST", "?append&position=0"),
        ("POST", "?restore"),
        ("POST", "?x-oss-process=image/info"), ("POST", "?x-oss-async-process=a"),
        ("DELETE", "?versionId=1"), ("DELETE", "?tagging"), ("POST", "?uploadId=1&uploads"),
        ("GET", "?x-oss-traffic-limit=1"),
    ])
    func nothingElseIs(method: String, query: String) {
        refused(.subResourceNotAllowed) {
            $0.method = method
            $0.resource += query
        }
    }

    @Test func callbacksHaveAReasonOfTheirOwn() {
        refused(.callback) { $0.resource += "?callback=e30=" }
        refused(.callback) { $0.headers = ["x-oss-callback:e30="] }
        refused(.callback) { $0.headers = ["x-oss-callback-var:e30="] }
    }

    @Test(arguments: ["", "put", "PATCH", "OPTIONS", "PUT ", " PUT", "GET\u{301}", "P\u{FF35}T"])
    func methodsAreFive(method: String) {
        refused(.methodNotAllowed) { $0.method = method }
    }

    @Test func aDateIsWithin15Minutes() throws {
        for date in ["Fri, 17 May 2024 08:15:01 GMT", "Fri, 17 May 2024 08:45:00 GMT"] {
            _ = try permit(Draft(date: date))
        }
        for date in ["Fri, 17 May 2024 08:15:00 GMT", "Fri, 17 May 2024 08:45:01 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"]
        {
            refused(.dateOutsideWindow) { $0.date = date }
        }
        let now = try #require(SigningInstant(extended: "2024-05-17T08:30:00Z"))
        #expect(try permit(Draft()).permission.use == .header(now))
        #expect(try permit(Draft()).permission.validUntil == now.advanced(bySeconds: 900))
    }

    @Test func anExpiryIsBetweenNowAndTheCap() throws {
        let end = try #require(SigningInstant(epochSeconds: 1_715_938_200))
        #expect(try permit(Draft(date: "1715938200")).permission.use == .presignedURL(expiresAt: end))
        #expect(try permit(Draft(date: "1715934601")).permission.validUntil.epochSeconds == 1_715_934_601)
        refused(.expiryTooFar) { $0.date = "1715938201" }
        refused(.expired) { $0.date = "1715934600" }
        refused(.expired) { $0.date = "0999999999" }
        refused(.expiryTooFar) { $0.date = "9999999999" }
        for date in [
            "", "0", "17159382001", "-171593820", "+1715938200", " 1715938200", "1715938200 ", "１７１５９３８２００", "1e9",
        ] {
            refused(.invalidDate) { $0.date = date }
        }
    }

    @Test(arguments: [
        "Fri, 17 May 2024 08:30:00 +0000", "17 May 2024 08:30:00 GMT", "Sat, 17 May 2024 08:30:00 GMT",
        "2024-05-17T08:30:00Z", "20240517T083000Z",
    ])
    func otherDatesAreNoneToOSS(date: String) {
        refused(.invalidDate) { $0.date = date }
    }

    @Test func aVendorsDateSaysTheSame() throws {
        _ = try permit(Draft(headers: ["x-oss-date:Fri, 17 May 2024 08:30:00 GMT"]))
        refused(.datesDiffer) { $0.headers = ["x-oss-date:Fri, 17 May 2024 08:30:01 GMT"] }
        refused(.datesDiffer) {
            $0.date = "1715936400"
            $0.headers = ["x-oss-date:1715936400"]
        }
        refused(.datesDiffer, .amazon) { $0.headers = ["x-amz-date:Fri, 17 May 2024 08:30:00 GMT"] }
        let draft = Draft(date: "", headers: ["x-amz-date:Fri, 17 May 2024 08:30:00 GMT"])
        _ = try permit(draft, .amazon)
        refused(.invalidDate, .amazon) { $0.date = "" }
        refused(.datesDiffer, .amazon) {
            $0.date = ""
            $0.headers = ["x-amz-date:1715936400"]
        }
    }

    @Test(arguments: [
        "/", "//", "//a", "/?acl", "/?delete",
    ])
    func theServiceIsRefused(resource: String) {
        refused(.serviceResource) { $0.resource = resource }
    }

    @Test(arguments: [
        "/demo-bucket", "/demo-bucket/", "/demo-bucket/?delete", "/demo-bucket?acl", "/demo-bucket/?policy",
    ])
    func bucketsAreRefused(resource: String) {
        refused(.bucketResource) { $0.resource = resource }
    }

    @Test(arguments: ["/B/a", "/ab/a", "/_ab/a", "/ab_/a", "/-ab/a", "/a..b/a", "/demo%2dbucket/a", "/demo-bucket /a"])
    func bucketsHaveNames(resource: String) {
        refused(.invalidBucketName) { $0.resource = resource }
    }

    @Test(arguments: [
        "/a", "\\a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "${x}", "a/${filename}",
        String(repeating: "k", count: 1024),
    ])
    func keysAreOnesThatNobodyRewrites(key: String) {
        refused(.invalidKey) { $0.resource = "/demo-bucket/\(key)" }
    }

    @Test(arguments: ["a\u{0}", "a\r", "a\t", "a\u{1B}", "a\u{7F}"])
    func controlCharactersAreRefused(key: String) {
        refused(.controlCharacter) { $0.resource = "/demo-bucket/\(key)" }
        refused(.controlCharacter) { $0.contentType = key }
    }

    @Test(arguments: [
        "?", "?a", "?acl=&", "?uploads=", "?&", "?uploadId", "?uploadId=a?b", "?UploadId=a", "?prefix=a", "?acl?",
        "?response-content-disposition=R&D", "?uploads&", "?x-oss-process", "?%61cl", "?\u{212A}",
    ])
    func theTextAfterTheQuestionMarkIsParameters(query: String) {
        for method in ["GET", "PUT", "POST"] {
            var draft = Draft(method: method)
            draft.resource += query
            #expect(throws: StringToSignRefusal.self) { try permit(draft) }
        }
    }

    @Test func parametersAreAscending() {
        refused(.notAscending) { $0.resource += "?uploadId=1&partNumber=1" }
        refused(.notAscending) { $0.resource += "?uploadId=1&uploadId=1" }
        refused(.notAscending) { $0.headers = ["x-oss-meta-b:1", "x-oss-meta-a:1"] }
        refused(.notAscending) { $0.headers = ["x-oss-meta-a:1", "x-oss-meta-a:1"] }
    }

    @Test(arguments: ["0", "10001", "01", "+1", "-1", "1.0", "", "a", "１"])
    func partsHaveNumbers(number: String) {
        var draft = Draft()
        draft.resource += "?partNumber=\(number)&uploadId=1"
        #expect(throws: StringToSignRefusal.self) { try permit(draft) }
    }

    @Test(arguments: ["a b", "a\u{301}", "a%20", "a;b", String(repeating: "a", count: 1025)])
    func idsAreTokens(id: String) {
        refused(.valueNotAllowed) { $0.resource += "?partNumber=1&uploadId=\(id)" }
    }

    @Test(arguments: [
        "image/info|sys/saveas,o_YQ,b_Yg", "sys/saveas,o_YQ", "sys/SaveAs,o_YQ", "image/resize|image/info", "image/ x",
        "image/%7C",
    ])
    func processingStoresNothing(process: String) {
        refused(.processNotAllowed) {
            $0.method = "GET"
            $0.resource += "?x-oss-process=\(process)"
        }
    }

    @Test(arguments: [
        "x-oss-meta-a:", "x-oss-meta-a:1:2", "x-oss-meta-a:日本", "x-oss-forbid-overwrite:true",
        "x-oss-hash-sha1:2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "x-oss-storage-class:IA", "x-oss-object-acl:private",
        "x-oss-object-acl:default", "x-oss-range-behavior:standard",
    ])
    func someHeadersAreAllowed(line: String) throws {
        let permitted = try permit(Draft(headers: [line]))
        #expect(permitted.permission.headers.map { "\($0.name):\($0.value)" } == [line])
    }

    @Test(arguments: [
        ("x-oss-copy-source:/demo-bucket/u/7/secret", StringToSignRefusal.copySource),
        ("x-oss-copy-source-range:bytes=0-1", .copySource), ("x-oss-object-acl:public-read", .accessControl),
        ("x-oss-object-acl:Private", .accessControl), ("x-oss-acl:private", .accessControl),
        ("x-oss-tagging:a=b", .headerNotAllowed), ("x-oss-symlink-target:b", .headerNotAllowed),
        ("x-oss-server-side-encryption:KMS", .headerNotAllowed), ("x-oss-process:image/info", .headerNotAllowed),
        ("x-oss-meta-:a", .headerNotAllowed), ("x-oss-meta-snowball-auto-extract:true", .headerNotAllowed),
        ("x-oss-meta-minio-snowball-prefix:b", .headerNotAllowed), ("x-oss-meta-deleted:1", .headerNotAllowed),
        ("x-oss-unknown:a", .headerNotAllowed),
        ("x-oss-forbid-overwrite:TRUE", .valueNotAllowed), ("x-oss-forbid-overwrite:", .valueNotAllowed),
        ("x-oss-storage-class:Unknown", .valueNotAllowed), ("x-oss-range-behavior:", .valueNotAllowed),
        ("x-oss-meta-a: 1", .valueNotAllowed),
        ("x-oss-meta-a:1 ", .valueNotAllowed), ("X-Oss-Meta-A:1", .invalidLine), ("x-oss-:1", .invalidLine),
        ("x-oss-meta-a", .invalidLine), ("x-oss-meta a:1", .invalidLine), ("x-amz-meta-a:1", .invalidLine),
        ("", .invalidLine),
        ("content-length:1", .invalidLine), (" ", .invalidLine), ("x-oss-met\u{E4}:1", .invalidLine),
    ])
    func otherHeadersAreNot(line: String, refusal: StringToSignRefusal) {
        refused(refusal) { $0.headers = [line] }
    }

    @Test func aTokenIsTheKeysOwn() throws {
        refused(.securityToken) { $0.headers = ["x-oss-security-token:theirs"] }
        refused(.securityToken, token: "ours") { _ in }
        refused(.securityToken, token: "ours") { $0.headers = ["x-oss-security-token:theirs"] }
        let inHeader = try permit(Draft(headers: ["x-oss-security-token:ours"]), token: "ours")
        #expect(inHeader.permission.headers.isEmpty)
        let inURL = Draft(date: "1715936400", resource: "/demo-bucket/a?security-token=ours")
        #expect(try permit(inURL, token: "ours").permission.query.isEmpty)
        refused(.securityToken, token: "ours") {
            $0.date = "1715936400"
            $0.headers = ["x-oss-security-token:ours"]
        }
        refused(.securityToken, token: "ours") { $0.resource += "?security-token=ours" }
        let amazon = Draft(date: "1715936400", headers: ["x-amz-security-token:ours"])
        _ = try permit(amazon, .amazon, token: "ours")
        refused(.securityToken, .amazon) { $0.headers = ["x-amz-security-token:theirs"] }
    }

    @Test(arguments: [
        "a", "1B2M2Y8AsgTpgAmY7PhCfg", "ODBGOERFMDMzQTczRUY3NUE3NzA5QzdFNUYzMDQxNEM=", "1B2M2Y8AsgTpgAmY7PhCfh==",
    ])
    func anMD5Is16Bytes(text: String) {
        refused(.invalidContentMD5) { $0.contentMD5 = text }
    }

    @Test(arguments: [" a/b", "a/b ", "é", String(repeating: "a", count: 256)])
    func aTypeIsPrintable(text: String) {
        refused(.invalidContentType) { $0.contentType = text }
    }

    @Test(arguments: [StoreVendor.alibaba, .amazon, .google])
    func anUploadHasAType(vendor: StoreVendor) throws {
        for (method, query) in [("PUT", ""), ("POST", "?uploads")] {
            refused(.contentTypeNeeded, vendor) {
                ($0.method, $0.contentType) = (method, "")
                $0.resource += query
            }
        }
        // The type of a part matters only where the store may take the part for an object.
        let part = Draft(contentType: "", resource: "/demo-bucket/a?partNumber=1&uploadId=A")
        for isTaken in [false, true] {
            guard isTaken || vendor == .alibaba else {
                #expect(try permit(part, vendor).permission.contentType == nil)
                continue
            }
            #expect(throws: StringToSignRefusal.contentTypeNeeded) {
                try permit(part, vendor, partsNeedType: isTaken)
            }
        }
        for (method, query) in [("GET", ""), ("DELETE", ""), ("POST", "?uploadId=A"), ("DELETE", "?uploadId=A")] {
            let draft = Draft(method: method, contentType: "", resource: "/demo-bucket/a" + query)
            #expect(try permit(draft, vendor).permission.contentType == nil)
        }
    }

    @Test func whatIsNoRequestIsRefused() {
        for text in ["", "GET", "eyJleHBpcmF0aW9uIjoiMjAyNC0wNS0xN1QwODo0MDowMC4wMDBaIn0=", "GET\n\n\n1715936400"] {
            #expect(throws: StringToSignRefusal.notARequest) { try ReceivedStringToSign(text, vendor: .alibaba) }
        }
        #expect(throws: StringToSignRefusal.tooLong) {
            try ReceivedStringToSign(String(repeating: "\n", count: 8193), vendor: .alibaba)
        }
        refused(.invalidLine) { $0.resource += "\n" }
        refused(.invalidLine) { $0.resource = "demo-bucket/a" }
        refused(.invalidLine) { $0.resource = "/demo-bucket/a\n/demo-bucket/b" }
    }

    @Test(arguments: ["OSS4-HMAC-SHA256", "AWS4-HMAC-SHA256", "GOOG4-RSA-SHA256"])
    func aMereHashIsRefusedWithWhatToSend(algorithm: String) {
        let text = "\(algorithm)\n20240517T083000Z\n20240517/r/s/t\n\(String(repeating: "0", count: 64))"
        #expect(throws: StringToSignRefusal.canonicalRequestNeeded) {
            try ReceivedStringToSign(text, vendor: .alibaba)
        }
        #expect(StringToSignRefusal.canonicalRequestNeeded.detail.contains("send the canonical request"))
    }

    @Test func theInteroperabilityOfGoogleIsRead() throws {
        let draft = Draft(
            contentMD5: "1B2M2Y8AsgTpgAmY7PhCfg==", date: "Fri, 17 May 2024 17:30:00 +0900",
            headers: ["x-amz-meta-a:1"],
            resource: "/photos/a%20b/%e6%97%A5(1).jpg")
        let permission = try permit(draft, .amazon).permission
        #expect(permission.key == "a b/日(1).jpg")
        #expect(permission.contentMD5 == "1B2M2Y8AsgTpgAmY7PhCfg==")
        #expect(try permit(draft, .amazon).text == draft.text)
        #expect(try permit(Draft(headers: ["x-goog-meta-a:1"]), .google).permission.bucket == "demo-bucket")
    }

    @Test(arguments: ["a+b", "a%2Fb", "a%2fb", "a b", "a%", "a%zz", "日", "a%FF", "a\"", "a#b", "a<b"])
    func encodedPathsAreReadAlikeByAll(key: String) {
        refused(.invalidPath, .amazon) { $0.resource = "/demo-bucket/\(key)" }
    }

    @Test(arguments: ["%2E%2E/a", "a/%2e", "%00", "a%0Ab", "%5Ca", "%24%7Bx%7D"])
    func decodedKeysKeepTheRules(key: String) {
        refused(.invalidKey, .amazon) { $0.resource = "/demo-bucket/\(key)" }
    }

    @Test(arguments: [
        ("x-amz-acl:public-read", StringToSignRefusal.accessControl), ("x-amz-grant-read:id=1", .accessControl),
        ("x-amz-copy-source:/a/b", .copySource), ("x-amz-website-redirect-location:/a", .headerNotAllowed),
        ("x-amz-tagging:a=b", .headerNotAllowed), ("x-oss-meta-a:1", .invalidLine),
    ])
    func amazonsDangersAreRefused(line: String, refusal: StringToSignRefusal) {
        refused(refusal, .amazon) { $0.headers = [line] }
    }

    @Test(arguments: ["?x-oss-process=image/info", "?objectMeta", "?torrent", "?acl", "?select&select-type=2"])
    func amazonHasItsOwnParameters(query: String) {
        for method in ["GET", "HEAD", "POST"] {
            var draft = Draft(method: method)
            draft.resource += query
            #expect(throws: StringToSignRefusal.self) { try permit(draft, .amazon) }
        }
    }

    @Test func whatIsPermittedIsSignedAsTheSDKsDo() throws {
        let vector = try #require(
            V2Vector.of("oss-v1-header", in: "oss_v1_header").first { $0.name == "oss1-hdr-put-meta" })
        let rules = StringRules(now: try vector.inputs.instant, maxLifeSeconds: 60)
        let text = try #require(vector.expected.stringToSign)
        let permitted = try ReceivedStringToSign(text, vendor: .alibaba).permitted(by: rules)
        let signed = try permitted.sign(with: SigningKeyV2(vector.inputs.credential))
        #expect(signed.signature == vector.expected.signature)
        #expect(signed.authorization == vector.expected.authorization)
        let key = try SigningKeyV4(
            vector.inputs.credential, scope: .oss(region: "cn-hangzhou"), at: vector.inputs.instant)
        #expect(throws: SigningError.keyOfAnotherScheme) { try permitted.sign(with: key) }
    }

    @Test func refusalsSayWhatIsWrongWithoutRepeatingIt() {
        for refusal in StringToSignRefusal.allCases {
            #expect(refusal.detail.hasSuffix("."))
            #expect(refusal.rawValue.first?.isUppercase == true)
        }
    }
}

import Foundation
import Signing
import Testing

@Suite("Canonical requests of clients")
struct CanonicalRequestTests {
    /// Vectors that show both stages.
    static let vectors = ["oss_v4_query", "oss_v4_header", "aws_v4_query", "aws_v4_header"].flatMap(Vector.all(in:))
        .filter { $0.expected.canonicalRequest != nil && $0.expected.stringToSign != nil }

    /// Vectors that request something other than reading or writing a single object.
    private static let refused: [String: StringToSignRefusal] = [
        "aws4-doc-get-lifecycle": .bucketResource, "aws4-doc-list": .bucketResource,
        // Empty segments.
        "oss4-v2sdk-get-version-max-ttl": .invalidKey, "aws4-head-trailing-slash": .invalidKey,
        "aws4-doc-put-object": .contentTypeNeeded,
    ]

    @Test(arguments: vectors)
    func whatSDKsHashedIsPermittedAndSignedAlike(vector: Vector) throws {
        let asked = try Asked(vector)
        if let refusal = Self.refused[vector.name] {
            #expect(throws: refusal) { try asked.permit() }
            return
        }
        let permitted = try asked.permit()
        #expect(permitted.permission.key == vector.inputs.key)
        #expect(permitted.permission.bucket == vector.inputs.bucket)
        #expect(permitted.permission.contentType == vector.inputs.contentType)
        #expect(permitted.permission.contentMD5 == vector.inputs.contentMd5)
        #expect(permitted.text == vector.expected.stringToSign)
        #expect(try permitted.sign(with: vector.signingKey) == vector.expected.signature)
        let another = try SigningKeyV2(vector.inputs.credential)
        #expect(throws: SigningError.keyOfAnotherScheme) { try permitted.sign(with: another) }
    }

    @Test func aFewAreThere() {
        #expect(Self.vectors.count > 20)
    }

    /// The parts of a request of OSS V4 with the signature in the header.
    private struct Draft {
        var method = "PUT"
        var path = "/demo-bucket/u/a%20b.png"
        var query = ""
        var headers = [
            "content-type:image/png", "x-oss-content-sha256:UNSIGNED-PAYLOAD", "x-oss-date:20240517T083000Z",
        ]
        var names = ""
        var payload = "UNSIGNED-PAYLOAD"

        var text: String {
            "\(method)\n\(path)\n\(query)\n\(headers.map { $0 + "\n" }.joined())\n\(names)\n\(payload)"
        }
    }

    private func permit(
        token: String? = nil, _ change: (inout Draft) -> Void = { _ in }
    ) throws -> PermittedString {
        var draft = Draft()
        change(&draft)
        return try Asked.oss(draft.text, token: token).permit()
    }

    private func refused(
        _ refusal: StringToSignRefusal, token: String? = nil, _ change: (inout Draft) -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: refusal, sourceLocation: sourceLocation) { try permit(token: token, change) }
    }

    @Test func aRequestInTheHeaderIsPermitted() throws {
        let permission = try permit().permission
        #expect(permission.operation == .putObject)
        #expect(permission.key == "u/a b.png")
        #expect(permission.contentType == "image/png")
        #expect(permission.headers.isEmpty)
        #expect(permission.validUntil.basic == "20240517T084500Z")
    }

    @Test func anObjectHasAType() throws {
        for (method, query) in [("PUT", ""), ("POST", "uploads"), ("POST", "encoding-type=url&uploads")] {
            refused(.contentTypeNeeded) {
                ($0.method, $0.query) = (method, query)
                $0.headers[0] = "content-md5:\(Self.md5)"
            }
        }
        let part = try permit {
            $0.query = "partNumber=1&uploadId=A"
            $0.headers[0] = "content-md5:\(Self.md5)"
        }
        #expect(part.permission.operation == .uploadPart && part.permission.contentType == nil)
    }

    private static let md5 = "1B2M2Y8AsgTpgAmY7PhCfg=="

    @Test func additionalHeadersAreBound() throws {
        let permission = try permit {
            $0.headers.insert("content-length:1024", at: 0)
            $0.headers.insert("host:demo-bucket.oss-cn-hangzhou.aliyuncs.com", at: 2)
            $0.names = "content-length;host"
        }.permission
        #expect(permission.contentLength == 1024)
        refused(.invalidCanonicalRequest) { $0.headers.insert("content-length:1", at: 0) }
        refused(.invalidCanonicalRequest) { $0.names = "content-length" }
        refused(.wrongHost) {
            $0.headers.insert("host:evil.example.com", at: 1)
            $0.names = "host"
        }
        refused(.headerNotAllowed) {
            $0.headers.append("x-other:1")
            $0.names = "x-other"
        }
        refused(.valueNotAllowed) {
            $0.headers.insert("content-length:-1", at: 0)
            $0.names = "content-length"
        }
    }

    @Test func theListingOfPartsHasItsParameters() throws {
        let permitted = try permit {
            $0.method = "GET"
            $0.query = "encoding-type=url&max-parts=1000&part-number-marker=0&uploadId=A"
        }
        #expect(permitted.permission.operation == .listParts)
        refused(.subResourceNotAllowed) {
            $0.method = "GET"
            $0.query = "max-parts=1"
        }
    }

    /// The text that `alibabacloud-oss-v2` 1.4.1 hashed for a multipart upload, except the date. The SDK for Go sends
    /// the same parameters.
    @Test(
        arguments: [
            (
                "POST", "encoding-type=url&uploads",
                ["content-md5:1B2M2Y8AsgTpgAmY7PhCfg==", "content-type:image/png"],
                ObjectOperation.initiateMultipartUpload
            ),
            ("PUT", "partNumber=1&uploadId=A1", [], .uploadPart),
            (
                "POST", "encoding-type=url&uploadId=A1", ["content-md5:tmHTXzChyvL8uvuxp95yfw=="],
                .completeMultipartUpload
            ),
            ("GET", "encoding-type=url&uploadId=A1", ["content-md5:1B2M2Y8AsgTpgAmY7PhCfg=="], .listParts),
            ("DELETE", "uploadId=A1", ["content-md5:1B2M2Y8AsgTpgAmY7PhCfg=="], .abortMultipartUpload),
        ] as [(String, String, [String], ObjectOperation)])
    func uploadsInPartsHaveTheParametersOfSDKs(
        method: String, query: String, headers: [String], operation: ObjectOperation
    ) throws {
        let permitted = try permit {
            $0.method = method
            $0.query = query
            $0.headers = headers + $0.headers.dropFirst()
        }
        #expect(permitted.permission.operation == operation)
        #expect(permitted.permission.uploadID == (query.contains("uploadId") ? "A1" : nil))
    }

    @Test(
        arguments: [
            ("POST", "encoding-type=url&sequential&uploads", nil),
            ("POST", "encoding-type=xml&uploads", .valueNotAllowed),
            ("POST", "encoding-type&uploadId=A", .valueNotAllowed),
            ("POST", "encoding-type=url", .subResourceNotAllowed),
            ("POST", "encoding-type=url&max-parts=1&uploadId=A", .subResourceNotAllowed),
            ("PUT", "encoding-type=url&partNumber=1&uploadId=A", .subResourceNotAllowed),
            ("PUT", "encoding-type=url", .subResourceNotAllowed), ("GET", "encoding-type=url", .subResourceNotAllowed),
            ("HEAD", "encoding-type=url", .subResourceNotAllowed),
            ("DELETE", "encoding-type=url&uploadId=A", .subResourceNotAllowed),
        ] as [(String, String, StringToSignRefusal?)])
    func theEncodingOfKeysIsAParameterOfNothingElse(
        method: String, query: String, refusal: StringToSignRefusal?
    ) throws {
        let change = { (draft: inout Draft) in
            draft.method = method
            draft.query = query
        }
        if let refusal { refused(refusal, change) } else { _ = try permit(token: nil, change) }
    }

    private func list(_ query: String, path: String = "/demo-bucket/", method: String = "GET") throws -> PermittedString
    {
        try permit {
            ($0.method, $0.path, $0.query) = (method, path, query)
            $0.headers.removeFirst()
        }
    }

    /// What `oss2` 2.19.1 and `alibabacloud-oss-v2` 1.4.1 hash for a listing: the former sends empty values too.
    @Test(arguments: [
        "list-type=2", "list-type=2&prefix=team%2Fa", "encoding-type=url&list-type=2&prefix=team%2F",
        "continuation-token&delimiter=%2F&encoding-type=url&fetch-owner=false&list-type=2&max-keys=100&prefix=team%2F&start-after",
    ])
    func aListingOfVersion2NamesTheBucket(query: String) throws {
        let permission = try list(query).permission
        #expect(permission.operation == .listObjects && permission.key.isEmpty)
        #expect(permission.query.contains { $0.name == "list-type" && $0.value == "2" })
    }

    @Test(
        arguments: [
            ("prefix=a", .bucketResource), ("", .bucketResource), ("list-type=1&prefix=a", .valueNotAllowed),
            ("list-type=2&max-keys=0", .valueNotAllowed), ("list-type=2&max-keys=1001", .valueNotAllowed),
            ("fetch-owner=true&list-type=2", .valueNotAllowed), ("encoding-type=xml&list-type=2", .valueNotAllowed),
            ("list-type=2&prefix=a%0A", .valueNotAllowed), ("list-type=2&versions", .subResourceNotAllowed),
            ("acl&list-type=2", .subResourceNotAllowed), ("list-type=2&uploads", .subResourceNotAllowed),
        ] as [(String, StringToSignRefusal)])
    func nothingElseNamesTheBucket(query: String, refusal: StringToSignRefusal) {
        #expect(throws: refusal) { try list(query) }
        for method in ["PUT", "POST", "DELETE", "HEAD"] {
            #expect(throws: StringToSignRefusal.self) { try list(query, method: method) }
            #expect(throws: StringToSignRefusal.bucketResource) { try list("list-type=2", method: method) }
        }
    }

    @Test func aListingNamesNoObjectAndNoOtherBucket() {
        #expect(throws: StringToSignRefusal.subResourceNotAllowed) { try list("list-type=2", path: "/demo-bucket/a") }
        #expect(throws: StringToSignRefusal.invalidPath) { try list("list-type=2", path: "/demo-bucket2/") }
        #expect(throws: StringToSignRefusal.serviceResource) { try list("list-type=2", path: "/") }
        #expect(throws: Never.self) { try list("list-type=2", path: "/demo-bucket") }
    }

    @Test func aDeletionHasNoParameters() throws {
        #expect(
            try permit { ($0.method, $0.headers) = ("DELETE", Array($0.headers.dropFirst())) }.permission.operation
                == .deleteObject)
        for query in ["versionId=1", "delete", "list-type=2"] {
            refused(.subResourceNotAllowed) { ($0.method, $0.query) = ("DELETE", query) }
        }
    }

    @Test(arguments: [
        "acl", "append&position=0", "delete", "prefix=a", "symlink", "tagging", "x-id=PutObject", "x-oss-acl=a",
    ])
    func otherParametersAreRefused(query: String) {
        for method in ["GET", "PUT", "POST", "DELETE"] {
            refused(.subResourceNotAllowed) {
                $0.method = method
                $0.query = query
            }
        }
    }

    @Test(arguments: [
        "uploads=", "b&a", "a&a", "&", "a&", "=a", "a%2fb", "a b", "%61", "a=%", "uploadId=a+b", "uploadId=%FF",
        "%C3%A9",
        "x-oss-signature=a", "X-Oss-Date=a", "x-oss-date=20240517T083000Z",
    ])
    func aQueryHasOneForm(query: String) {
        #expect(throws: StringToSignRefusal.self) { try permit { $0.query = query } }
    }

    @Test(arguments: [
        "/demo-bucket/a%2fb", "/demo-bucket/a%2Fb", "/demo-bucket/a b", "/demo-bucket/%61", "/demo-bucket/a+b",
        "/other-bucket/a", "/demo-bucket", "demo-bucket/a", "", "/demo-bucketx/a",
    ])
    func aPathHasOneForm(path: String) {
        refused(.invalidPath) { $0.path = path }
    }

    @Test func keysKeepTheRules() {
        refused(.bucketResource) { $0.path = "/demo-bucket/" }
        refused(.serviceResource) { $0.path = "/" }
        refused(.invalidKey) { $0.path = "/demo-bucket/a/../b" }
        refused(.invalidKey) { $0.path = "/demo-bucket/a%0Ab" }
    }

    @Test func headersKeepTheRules() {
        refused(.copySource) { $0.headers.insert("x-oss-copy-source:/a/b", at: 2) }
        refused(.accessControl) { $0.headers.append("x-oss-object-acl:public-read") }
        refused(.notAscending) { $0.headers.append("content-md5:1B2M2Y8AsgTpgAmY7PhCfg==") }
        refused(.invalidContentMD5) { $0.headers.insert("content-md5:a", at: 0) }
        refused(.invalidContentType) { $0.headers[0] = "content-type:" }
        refused(.valueNotAllowed) { $0.headers[0] = "content-type: a/b" }
        refused(.invalidCanonicalRequest) { $0.headers[0] = "Content-Type:a/b" }
        refused(.datesDiffer) { $0.headers[2] = "x-oss-date:20240517T083001Z" }
        refused(.datesDiffer) { $0.headers.removeLast() }
        refused(.invalidCanonicalRequest) { $0.headers.remove(at: 1) }
        refused(.invalidCanonicalRequest) { $0.payload = String(repeating: "0", count: 64) }
        refused(.invalidCanonicalRequest) {
            $0.headers[1] = "x-oss-content-sha256:STREAMING"
            $0.payload = "STREAMING"
        }
    }

    @Test func aTokenIsTheKeysOwn() throws {
        _ = try permit(token: "ours") { $0.headers.append("x-oss-security-token:ours") }
        refused(.securityToken, token: "ours") { _ in }
        refused(.securityToken) { $0.headers.append("x-oss-security-token:theirs") }
    }

    @Test func theStringIsThatOfTheRequest() throws {
        let text = Draft().text
        let good = try Asked.oss(text, token: nil)
        let lines = good.stringToSign.split(separator: "\n").map(String.init)
        let changes: [(Int, String, StringToSignRefusal)] = [
            (0, "AWS4-HMAC-SHA256", .invalidStringToSign), (1, "20240517T083001Z", .datesDiffer),
            (1, "20240518T083000Z", .wrongScope), (1, "2024", .invalidStringToSign),
            (2, "20240517/cn-beijing/oss/aliyun_v4_request", .wrongScope),
            (2, "20240516/cn-hangzhou/oss/aliyun_v4_request", .wrongScope),
            (3, String(repeating: "0", count: 64), .hashMismatch), (3, lines[3].uppercased(), .hashMismatch),
        ]
        for (line, replacement, refusal) in changes {
            var changed = good
            var all = lines
            all[line] = replacement
            changed.stringToSign = all.joined(separator: "\n")
            #expect(throws: refusal) { try changed.permit() }
        }
        for text in ["", good.stringToSign + "\n", lines.dropLast().joined(separator: "\n")] {
            var changed = good
            changed.stringToSign = text
            #expect(throws: StringToSignRefusal.invalidStringToSign) { try changed.permit() }
        }
        var late = good
        late.now = "2024-05-17T08:44:59Z"
        #expect(try late.permit().permission.validUntil == SigningInstant(extended: "2024-05-17T08:45:00Z"))
        late.now = "2024-05-17T08:45:00Z"
        #expect(throws: StringToSignRefusal.dateOutsideWindow) { try late.permit() }
    }

    @Test func aURLLivesNoLongerThanAllowed() throws {
        let vector = try #require(Self.vectors.first { $0.name == "oss4-put-content-type" })
        var asked = try Asked(vector)
        let life = try #require(vector.inputs.expiresIn)
        asked.maxLifeSeconds = life
        let end = try vector.inputs.instant.advanced(bySeconds: life)
        #expect(try asked.permit().permission.use == .presignedURL(expiresAt: #require(end)))
        asked.maxLifeSeconds = life - 1
        #expect(throws: StringToSignRefusal.expiryTooFar) { try asked.permit() }
        asked.accessKeyID = "another"
        #expect(throws: StringToSignRefusal.wrongScope) { try asked.permit() }
    }

    @Test(arguments: ["", "GET", "GET\n/\n\n\n", "GET\n/a/b\n\nhost:a\nhost\nUNSIGNED-PAYLOAD", "\n\n\n\n\n\n"])
    func otherTextsAreRefused(text: String) {
        #expect(throws: StringToSignRefusal.self) { try Asked.oss(text, token: nil).permit() }
    }

    @Test func hugeTextsAreRefused() {
        #expect(throws: StringToSignRefusal.tooLong) {
            try permit { $0.path += String(repeating: "a", count: 16_384) }
        }
    }
}

/// A canonical request, its string to sign, and the credential whose signature is requested.
struct Asked {
    var canonicalRequest: String
    var stringToSign: String
    var address: BucketAddress
    var scope: CredentialScope
    var accessKeyID: String
    var now: String
    var maxLifeSeconds = 604_800
    var securityToken: String?
    var callback: StringRules.Callback?

    init(_ vector: Vector) throws {
        canonicalRequest = try #require(vector.expected.canonicalRequest)
        stringToSign = try #require(vector.expected.stringToSign)
        address = try vector.inputs.address
        let region = vector.inputs.region
        scope = vector.scheme.hasPrefix("oss") ? .oss(region: region) : .aws(region: region)
        accessKeyID = vector.inputs.accessKeyId
        now = vector.inputs.now
        securityToken = vector.inputs.securityToken
    }

    /// A request of OSS V4 with its string to sign.
    static func oss(_ canonicalRequest: String, token: String?) throws -> Asked {
        Asked(
            canonicalRequest: canonicalRequest,
            stringToSign: """
                OSS4-HMAC-SHA256
                20240517T083000Z
                20240517/cn-hangzhou/oss/aliyun_v4_request
                \(PlainSHA256.hash(Array(canonicalRequest.utf8)).map { String(format: "%02x", $0) }.joined())
                """,
            address: try BucketAddress(
                endpoint: StoreEndpoint("https://oss-cn-hangzhou.aliyuncs.com"), bucket: "demo-bucket",
                addressing: .virtual),
            scope: .oss(region: "cn-hangzhou"), accessKeyID: "LTAIFAKEPUBLIC000001", now: "2024-05-17T08:30:00Z",
            securityToken: token)
    }

    private init(
        canonicalRequest: String, stringToSign: String, address: BucketAddress, scope: CredentialScope,
        accessKeyID: String, now: String, securityToken: String?
    ) {
        self.canonicalRequest = canonicalRequest
        self.stringToSign = stringToSign
        self.address = address
        self.scope = scope
        self.accessKeyID = accessKeyID
        self.now = now
        self.securityToken = securityToken
    }

    func permit() throws -> PermittedString {
        let rules = StringRules(
            now: try #require(SigningInstant(extended: now)), maxLifeSeconds: maxLifeSeconds,
            securityToken: securityToken, callback: callback)
        let signer = ReceivedCanonicalRequest.Signer(address: address, scope: scope, accessKeyID: accessKeyID)
        return try ReceivedCanonicalRequest(canonicalRequest, scope: scope)
            .permitted(stringToSign: stringToSign, by: signer, rules)
    }
}

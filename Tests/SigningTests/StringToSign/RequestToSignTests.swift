import Foundation
import Signing
import TestSupport
import Testing

@Suite("Requests that clients want signed")
struct RequestToSignTests {
    static let now = SigningInstant(extended: "2024-05-17T08:30:00Z")
    private static let credential = SigningCredential(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "secret")

    static func address(_ addressing: Addressing, _ endpoint: String) throws -> BucketAddress {
        try BucketAddress(endpoint: StoreEndpoint(endpoint), bucket: "demo-bucket", addressing: addressing)
    }

    static func permit(
        _ method: String, _ url: String, _ headers: [NamedValue] = [], token: String? = nil,
        at address: BucketAddress
    ) throws -> (string: PermittedString, headers: [NamedValue]) {
        let signer = ReceivedCanonicalRequest.Signer(
            address: address, scope: .aws(region: "eu-west-1"), accessKeyID: credential.accessKeyID)
        let rules = StringRules(now: try #require(now), maxLifeSeconds: 3600, securityToken: token)
        return try RequestToSign(method: method, url: url, headers: headers).permitted(by: signer, rules)
    }

    @Test("are signed as the signer of headers signs them", arguments: [nil, "token"], [Addressing.virtual, .path])
    func signatures(token: String?, addressing: Addressing) throws {
        let address = try Self.address(addressing, "https://s3.example")
        let now = try #require(Self.now)
        let cases: [(String, String, String, [NamedValue], [NamedValue])] = [
            ("GET", "a/b%20%C3%BC.bin", "a/b ü.bin", [], []),
            ("GET", "k?versionId=3", "k", [NamedValue("versionId", "3")], [NamedValue("If-Match", "\"e\"")]),
            ("HEAD", "k", "k", [], [NamedValue("Host", address.authority)]),
            ("HEAD", "k?versionId=3", "k", [NamedValue("versionId", "3")], []),
            (
                "PUT", "k", "k", [],
                [
                    NamedValue("Content-Type", "image/png"), NamedValue("Content-Length", "3"),
                    NamedValue("x-amz-checksum-crc32", "AAAAAA=="),
                ]
            ),
            (
                "PUT", "k?uploadId=u&partNumber=2", "k", [NamedValue("uploadId", "u"), NamedValue("partNumber", "2")],
                [NamedValue("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==")]
            ),
            ("POST", "k?uploads", "k", [NamedValue("uploads", "")], [NamedValue("content-type", "a/b")]),
            ("POST", "k?uploadId=u", "k", [NamedValue("uploadId", "u")], []),
        ]
        for (method, target, key, query, headers) in cases {
            let unsigned = [
                NamedValue("User-Agent", "x"), NamedValue("range", "bytes=0-1"), NamedValue("Expect", ""),
                NamedValue("X-Amzn-Trace-Id", "Root=1;Sampled=0"),
            ]
            let (string, added) = try Self.permit(
                method, "\(address.origin)\(address.path)/\(target)", headers + unsigned, token: token, at: address)
            let credential = SigningCredential(
                accessKeyID: "AKIDEXAMPLE", secretAccessKey: "secret", securityToken: token)
            let signingKey = try SigningKeyV4(credential, scope: .aws(region: "eu-west-1"), at: now)
            let (signature, authorization) = try string.authorization(with: signingKey)
            let expected = try AWSV4.authorize(
                SignableRequest(method: method, address: address, key: key, headers: headers, query: query),
                with: signingKey, at: now)
            #expect(signature == expected.signature && authorization == expected.authorization, "\(target)")
            #expect(string.permission.key == key)
            let own = expected.headers.filter { $0.name.hasPrefix("x-amz-") && $0.name != "x-amz-checksum-crc32" }
            #expect(Set(added) == Set(own))
        }
    }

    @Test("an upload without a content type gets the one that stores assume, which is bound")
    func contentType() throws {
        let address = try Self.address(.path, "https://s3.example")
        let (string, added) = try Self.permit("PUT", "https://s3.example/demo-bucket/k", at: address)
        #expect(string.permission.contentType == "application/octet-stream")
        #expect(added.contains(NamedValue("content-type", "application/octet-stream")))
        let part = try Self.permit("PUT", "https://s3.example/demo-bucket/k?partNumber=1&uploadId=u", at: address)
        #expect(part.string.permission.contentType == nil)
    }

    @Test(
        "a URL that can be read in two ways is refused",
        arguments: [
            "https://s3.example/demo-bucket/a%2Fb", "https://s3.example/demo-bucket/a+b",
            "https://s3.example/demo-bucket/%61", "https://s3.example/demo-bucket/a%2fb",
            "https://s3.example/demo-bucket/a%", "https://s3.example/demo-bucket/a%C3",
            "https://s3.example/demo-bucket/a//b", "https://s3.example/demo-bucket/./a",
            "https://s3.example/demo-bucket/../other/a", "https://s3.example/demo-bucket/%2E%2E/a",
            "https://s3.example//demo-bucket/a", "https://s3.example/demo-bucket/a?", "https://s3.example/demo-bucket",
            "https://s3.example/demo-bucket/a?acl", "https://s3.example/demo-bucket/a?x-id=GetObject",
            "https://s3.example/demo-bucket/a?versionId=1&versionId=2",
            "https://s3.example/demo-bucket/a?versionId=1&versionId=1",
            "https://s3.example/demo-bucket/a?version%49d=1", "https://s3.example/demo-bucket/a?versionId=a+b",
            "https://s3.example/demo-bucket/a?&versionId=1", "https://s3.example/demo-bucket/a?versionId=1&",
            "https://s3.example/demo-bucket/a?=1", "https://s3.example/demo-bucket/a?X-Amz-Date=20240517T083000Z",
            "https://s3.example/demo-bucket/a#b", "https://s3.example/demo-bucket/a b",
            "https://s3.example/demo-bucket\\a", "https://s3.example/demo-bucket/ü", "https:///demo-bucket/a",
            "https://s3.example?/demo-bucket/a", "ftp://s3.example/demo-bucket/a", "HTTPS://s3.example/demo-bucket/a",
            "https:/s3.example/demo-bucket/a", "s3.example/demo-bucket/a", "",
            "https://s3.example/demo-bucket/" + String(repeating: "a", count: 8200),
        ])
    func ambiguousURLs(url: String) throws {
        let address = try Self.address(.path, "https://s3.example")
        #expect(throws: StringToSignRefusal.self) { try Self.permit("GET", url, at: address) }
    }

    @Test(
        "a URL leads to the bucket only at its own address",
        arguments: [
            ("https://s3.example/demo-bucket/a", Addressing.path, "a"),
            ("https://demo-bucket.s3.example/a", .virtual, "a"), ("https://s3.example/a", .cname, "a"),
            ("https://S3.example/demo-bucket/a", .path, nil), ("http://s3.example/demo-bucket/a", .path, nil),
            ("https://s3.example:443/demo-bucket/a", .path, nil), ("https://s3.example./demo-bucket/a", .path, nil),
            ("https://u@s3.example/demo-bucket/a", .path, nil), ("https://s3.example.evil/demo-bucket/a", .path, nil),
            ("https://s3.example/demo-bucket2/a", .path, nil), ("https://demo-bucket.s3.example/a", .path, nil),
            ("https://s3.example/demo-bucket/a", .virtual, nil), ("https://x.demo-bucket.s3.example/a", .virtual, nil),
        ] as [(String, Addressing, String?)])
    func places(url: String, addressing: Addressing, key: String?) throws {
        let request = try RequestToSign(method: "GET", url: url, headers: [])
        #expect(request.key(at: try Self.address(addressing, "https://s3.example")) == key)
        if key != nil, addressing != .cname { #expect(request.bucketNames.contains("demo-bucket")) }
        #expect(request.bucketNames.count <= 7)
    }

    @Test(
        "headers that only the signer writes, that occur twice or that change what the store does are refused",
        arguments: [
            [NamedValue("authorization", "x")], [NamedValue("x-amz-date", "20240517T083000Z")],
            [NamedValue("Date", "x")], [NamedValue("X-Amz-Security-Token", "t")],
            [NamedValue("range", "a"), NamedValue("Range", "b")], [NamedValue("host", "s3.example")],
            [NamedValue("if-match", "a"), NamedValue("If-Match", "a")], [NamedValue("x-amz-acl", "public-read")],
            [NamedValue("x-amz-copy-source", "/b/k")], [NamedValue("x-amz-grant-read", "id=1")],
            [NamedValue("x-amz-website-redirect-location", "/")], [NamedValue("transfer-encoding", "chunked")],
            [NamedValue("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")], [NamedValue("a b", "x")],
            [NamedValue("if-match", " a")], [NamedValue("if-match", "a  b")],
            [NamedValue("if-match", "a\nx-amz-acl:b")],
            [NamedValue("if-match", "é")], [NamedValue("", "x")], [NamedValue("content-length", "03")],
            [NamedValue("x-forwarded-for", "1")],
        ])
    func headers(headers: [NamedValue]) throws {
        let address = try Self.address(.virtual, "https://s3.example")
        #expect(throws: StringToSignRefusal.self) {
            try Self.permit("GET", "https://demo-bucket.s3.example/k", headers, at: address)
        }
    }

    @Test("only a signature that reads and binds no condition serves for other requests")
    func repetition() throws {
        func isRepeatable(_ method: String, _ headers: [NamedValue] = []) throws -> Bool {
            try RequestToSign(method: method, url: "https://s3.example/demo-bucket/k", headers: headers).isRepeatable
        }
        #expect(try isRepeatable("GET") && isRepeatable("HEAD", [NamedValue("range", "bytes=0-1")]))
        #expect(try !isRepeatable("PUT") && !isRepeatable("GET", [NamedValue("If-None-Match", "x")]))
    }

    /// 10⁶ requests take minutes.
    @Test("whatever is permitted of requests changed at random is read in one way", arguments: 0..<10)
    func mutations(seed: UInt64) throws {
        var random = SeededGenerator(seed: 500 + seed)
        let bytes = Array("/?&=%+.#:@ \\aA2Fé~;\n-x".utf8)
        let address = try Self.address(.path, "https://s3.example")
        let seeds = [
            ("GET", "https://s3.example/demo-bucket/u/a%20b.png"),
            ("PUT", "https://s3.example/demo-bucket/u/c?partNumber=2&uploadId=abc"),
            ("POST", "https://s3.example/demo-bucket/u/d?uploads"),
            ("HEAD", "https://s3.example/demo-bucket/u/e?versionId=v"),
        ]
        let count = StringFuzzTests.stringsPerSeed / 10
        var permitted = 0
        for _ in 0..<count {
            let (method, url) = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            var text = Array(url.utf8)
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[place] = bytes.randomElement(using: &random) ?? 0
                case 1: text.insert(bytes.randomElement(using: &random) ?? 0, at: place)
                default: text.remove(at: place)
                }
            }
            guard let changed = String(validating: text, as: UTF8.self),
                let (string, _) = try? Self.permit(method, changed, at: address)
            else { continue }
            permitted += 1
            // Foundation reads the URL as most clients do; the request must be the one that was permitted.
            let read = try #require(URLComponents(string: changed), "\(changed)")
            let names = (read.queryItems ?? []).map(\.name)
            guard read.scheme == "https", read.host == "s3.example", read.port == nil, read.user == nil,
                read.path == "/demo-bucket/" + string.permission.key, Set(names).count == names.count,
                names.sorted() == string.permission.query.map(\.name).sorted(),
                !read.path.contains("//"), !read.path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." })
            else {
                Issue.record("Another reading of \(changed.debugDescription)")
                return
            }
        }
        #expect(permitted > count / 100)
    }
}

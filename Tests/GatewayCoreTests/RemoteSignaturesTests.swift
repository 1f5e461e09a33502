import Foundation
import GatewayCore
import LibCrypto
import Synchronization
import Testing

/// Remembers uploads as PostgreSQL does.
final class MemoryRemoteUploads: RemoteUploadStore {
    private let started = Mutex<[(upload: RemoteUpload, type: String, id: String?)]>([])
    private let isDown: Bool

    init(isDown: Bool = false) {
        self.isDown = isDown
    }

    /// Content types of what was begun.
    var types: [String] { started.withLock { $0.map(\.type) } }

    func begin(_ upload: RemoteUpload, contentType: String) async throws(GatewayError) {
        guard !isDown else { throw .unavailable(retryAfter: 1, cause: "down") }
        started.withLock { $0.append((upload, contentType, nil)) }
    }

    func contentTypes(ofUpload id: String, _ upload: RemoteUpload) async throws(GatewayError) -> [String]? {
        started.withLock { started in
            let known = started.firstIndex { $0.id == id && $0.upload.bucket == upload.bucket }
            guard let index = known ?? started.lastIndex(where: { $0.upload == upload && $0.id == nil }),
                started[index].upload == upload
            else { return nil }
            started[index].id = id
            let own = started[index].type
            return [own] + Set(started.filter { $0.upload == upload }.map(\.type)).subtracting([own]).sorted()
        }
    }
}

@Suite("Remote signatures", .timeLimit(.minutes(1)))
struct RemoteSignaturesTests {
    /// 2024-05-17 08:30:00 UTC, as the fixture's clock.
    private static let date = "Fri, 17 May 2024 08:30:00 GMT"
    private static let epoch = 1_715_934_600

    private let source: ScriptedPolicy
    private let uploads = MemoryRemoteUploads()

    init() throws {
        var tables = ScriptedPolicy.Tables()
        var bucket = try Fixture.bucket()
        bucket.provider = .oss
        bucket.scheme = .ossV1
        tables.bucket = bucket
        tables.credential = Fixture.credential()
        tables.grants = [try Fixture.grant(1), try Fixture.grant(2, to: "user:bob")]
        tables.apiKeys = try ["alice", "bob"].map { name in
            APIKey(
                id: Fixture.id(name == "alice" ? 3 : 4), prefix: name, hash: Digest(), name: name,
                principal: try Principal("user:" + name), createdAt: Fixture.now)
        }
        source = ScriptedPolicy(tables)
    }

    private func sign(
        _ content: String, as user: String = "alice", scheme: RemoteSignatures.Scheme = .oss,
        canonicalRequest: String? = nil, ledger: ScriptedLedger = ScriptedLedger(),
        uploads: MemoryRemoteUploads? = nil, now: Date = Fixture.now
    ) async throws -> RemoteSignature {
        let cache = PolicyCache(source: source)
        let authenticator = CacheAuthenticator(cache: cache)
        let useCase = RemoteSignatures(
            ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger, now: { now },
                randomBytes: { [UInt8](repeating: 7, count: $0) }), cache: cache, uploads: uploads ?? self.uploads)
        return try await useCase.sign(
            RemoteString(content, canonicalRequest: canonicalRequest, scheme: scheme), scheme: scheme,
            in: .test(try await authenticator.authenticate(Secret(user)), requestID: "request-1"))
    }

    private func error(
        _ content: String, as user: String = "alice", scheme: RemoteSignatures.Scheme = .oss,
        canonicalRequest: String? = nil
    ) async -> GatewayError? {
        do {
            _ = try await sign(content, as: user, scheme: scheme, canonicalRequest: canonicalRequest)
            return nil
        } catch {
            return error as? GatewayError
        }
    }

    private func put(_ resource: String, type: String = "image/png", date: String = date) -> String {
        "PUT\n\n\(type)\n\(date)\n\(resource)"
    }

    @Test("are those of the string as it came, in the form that the SDK wants, and on record before")
    func signature() async throws {
        let text = "PUT\n1B2M2Y8AsgTpgAmY7PhCfg==\nimage/png\n\(Self.date)\nx-oss-meta-a:é\n/demo-bucket/team/é a.png"
        let ledger = ScriptedLedger()
        let signed = try await sign(text, ledger: ledger)
        let expected = HMACKey(Array("not-a-secret".utf8), algorithm: .sha1)
            .authenticationCode(for: Array(text.utf8)).base64
        #expect(signed.authorization?.reveal() == "OSS AKIAEXAMPLE:\(expected)")
        #expect(signed.signature.reveal() == expected)
        let parts = try #require(signed.authorization).reveal().split(separator: ":")
        #expect(parts.count == 2 && parts[0].hasPrefix("OSS "))
        let proposal = try #require(ledger.proposals.first)
        #expect(proposal.delivery == .remoteSignature && proposal.method == "PUT")
        #expect(proposal.key.rawValue == "team/é a.png" && proposal.contentType == "image/png")
        #expect(proposal.contentMD5?.count == 16 && proposal.expiresAt == Fixture.now.addingTimeInterval(900))
        #expect(proposal.id == signed.id)
        let failing = ScriptedLedger { _, _ throws(GatewayError) in throw .unavailable(retryAfter: 1) }
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) { try await sign(text, ledger: failing) }
    }

    @Test("are refused for what cannot be read in one way, without a word of the string")
    func hostileStrings() async throws {
        let strings = [
            "", "x", put("/demo-bucket/team/a\n/demo-bucket/other"), put("/demo-bucket/team/../other"),
            put("/demo-bucket/team/a?acl"), put("/demo-bucket/"), put("/"), put("/demo-bucket/team/a", date: ""),
            put("/demo-bucket/team/a", date: "Fri, 17 May 2024 10:30:00 GMT"),
            put("/demo-bucket/team/a", date: String(Self.epoch + 700_000)),
            put("/demo-bucket/team/a", date: String(Self.epoch)), "POST\n\n\n\(Self.date)\n/demo-bucket/?delete",
            "PUT\n\n\n\(Self.date)\nx-oss-copy-source:/demo-bucket/other\n/demo-bucket/team/a",
            "GET\n\n\n\(Self.date)\nx-oss-security-token:stolen\n/demo-bucket/team/a",
            "eyJleHBpcmF0aW9uIjoiIn0=", "OSS4-HMAC-SHA256\n20240517T083000Z\nscope\nhash",
            String(repeating: "a", count: 10_000), "PUT\n\n\n\(Self.date)\n/demo-bucket/team/a\0",
        ]
        for string in strings {
            guard case .invalidArgument(_, let reason)? = await error(string) else {
                Issue.record("\(string)")
                continue
            }
            #expect(!reason.contains("team") && !reason.contains("stolen"))
        }
        let v4 = await error(
            "OSS4-HMAC-SHA256\n20240517T083000Z\n20240517/cn/oss/aliyun_v4_request\n\(String(repeating: "0", count: 64))"
        )
        guard case .invalidArgument(_, let reason)? = v4 else {
            Issue.record("A bare hash was taken.")
            return
        }
        #expect(reason.contains("canonical request"))
    }

    @Test("are decided by grants like a URL")
    func decisions() async throws {
        #expect(await error(put("/demo-bucket/other/a")) == .accessDenied)
        #expect(await error(put("/no-bucket/team/a")) == .accessDenied)
        source.set { $0.grants[0].conditions.contentTypes = ["image/*"] }
        #expect(await error(put("/demo-bucket/team/a")) == nil)
        guard case .conditionFailed? = await error(put("/demo-bucket/team/a", type: "text/html")) else {
            Issue.record("Another type was taken.")
            return
        }
        source.set { $0.grants[0].conditions = GrantConditions(maxBytes: 10) }
        guard case .notEnforceable(let reason)? = await error(put("/demo-bucket/team/a")) else {
            Issue.record("A size cannot be bound.")
            return
        }
        #expect(reason.contains("POST /v1/"))
        source.set { $0.grants[0].conditions = GrantConditions(maxTTL: 600) }
        #expect(await error(put("/demo-bucket/team/a", date: String(Self.epoch + 600))) == nil)
        for date in [String(Self.epoch + 601), Self.date] {
            guard case .notEnforceable? = await error(put("/demo-bucket/team/a", date: date)) else {
                Issue.record("\(date)")
                continue
            }
        }
    }

    /// Without a type, Alibaba OSS chooses one by the key, and so does OpenStack Swift for uploads in parts. Amazon S3
    /// and Google choose none, and Google lets nobody hide a parameter, so that parts need no type there.
    @Test(arguments: [Bucket.Provider.oss, .s3, .aws, .gcs], [["application/octet-stream"], nil])
    func `of uploads bind a content type, which the store would choose otherwise`(
        provider: Bucket.Provider, types: [String]?
    ) async throws {
        let words: RemoteSignatures.Scheme = provider == .oss ? .oss : .awsV2
        source.set { tables in
            tables.bucket?.provider = provider
            tables.bucket?.scheme = provider == .oss ? .ossV1 : provider == .gcs ? .gcsV4HMAC : .awsV2
            tables.grants[0].conditions.contentTypes = types
        }
        func start(_ type: String) -> String { "POST\n\n\(type)\n\(Self.date)\n/demo-bucket/team/a.html?uploads" }
        // To OSS, this is also the string of an object that ends in `.html`.
        let part = "/demo-bucket/team/a.html?partNumber=1&uploadId=X.html"
        #expect(await error(start("application/octet-stream"), scheme: words) == nil)
        var typeless = [put("/demo-bucket/team/a.html", type: ""), start("")]
        if provider == .oss || provider == .s3 {
            typeless.append(put(part, type: ""))
        } else {
            #expect(await error(put(part, type: ""), scheme: words) == nil)
        }
        for text in typeless {
            guard case .invalidArgument("content", let reason)? = await error(text, scheme: words) else {
                Issue.record("\(text)")
                continue
            }
            #expect(reason.contains("ContentTypeNeeded"))
        }
        for resource in ["/demo-bucket/team/a.html", part] {
            #expect(await error(put(resource, type: "application/octet-stream"), scheme: words) == nil)
        }
    }

    /// What could be a whole object gets the type that Amazon S3 gives where none is stated.
    @Test func `of parts without a type need a grant for that of bytes, where they could be objects`() async throws {
        source.set { tables in
            tables.bucket?.provider = .aws
            tables.bucket?.scheme = .awsV4
        }
        let part = put("/demo-bucket/team/a?partNumber=1&uploadId=X1", type: "")
        #expect(await error("POST\n\nimage/png\n\(Self.date)\n/demo-bucket/team/a?uploads", scheme: .awsV2) == nil)
        #expect(await error(part, scheme: .awsV2) == nil)
        source.change([.principal(try Principal("user:alice"))]) {
            $0.grants[0].conditions.contentTypes = ["image/png"]
        }
        guard case .conditionFailed? = await error(part, scheme: .awsV2) else {
            Issue.record("The part could be an object of another type.")
            return
        }
    }

    /// Amazon S3 refuses KMS to requests of version 2, after the quota was charged.
    @Test(arguments: [ServerSideEncryption.Algorithm.aes256, .awsKMS, .awsKMSTwice])
    func `of version 2 begin no object that Amazon S3 is to encrypt with KMS`(
        algorithm: ServerSideEncryption.Algorithm
    ) async throws {
        let header = "x-amz-server-side-encryption:\(algorithm.rawValue)\n"
        // At Amazon S3 first, since what starts an upload is remembered.
        for provider in [Bucket.Provider.aws, .s3] {
            source.set { tables in
                tables.bucket?.provider = provider
                tables.bucket?.scheme = .awsV4
                tables.bucket?.encryption = ServerSideEncryption(algorithm: algorithm)
                tables.grants[0].conditions = GrantConditions(allowResponseContentType: true, allowVersions: true)
            }
            let isRefused = provider == .aws && algorithm != .aes256
            for begin in [
                "PUT\n\nimage/png\n\(Self.date)\n\(header)/demo-bucket/team/a",
                "POST\n\nimage/png\n\(Self.date)\n\(header)/demo-bucket/team/a?uploads",
            ] {
                let found = await error(begin, scheme: .awsV2)
                guard isRefused else {
                    #expect(found == nil, "\(provider) \(begin)")
                    continue
                }
                guard case .notEnforceable(let reason)? = found, reason.contains("aws-v4") else {
                    Issue.record("\(begin): \(String(describing: found))")
                    continue
                }
            }
            #expect(uploads.types.isEmpty == isRefused)
            #expect(await error("GET\n\n\n\(Self.date)\n/demo-bucket/team/a", scheme: .awsV2) == nil)
        }
    }

    @Test("of downloads keep to what the grant says of response headers")
    func downloads() async throws {
        func get(_ query: String) -> String { "GET\n\n\n\(Self.date)\n/demo-bucket/team/a\(query)" }
        #expect(await error(get("")) == nil)
        #expect(await error(get("?response-content-type=text/html")) == .conditionFailed(.responseContentType))
        source.set { $0.grants[0].conditions.forceDownload = true }
        guard case .notEnforceable(let reason)? = await error(get("")) else {
            Issue.record("A download is not forced.")
            return
        }
        #expect(reason.contains("forces downloads") && reason.contains("'response-content-disposition=attachment'"))
        #expect(await error(get("?response-content-disposition=inline")) == .conditionFailed(.forcedDownload))
        #expect(await error(get("?response-content-disposition=attachment")) == nil)
        func isJoined(_ query: String) async -> Bool {
            if case .notEnforceable? = await error(get(query)) { true } else { false }
        }
        // Each parameter can become a part of the value before it.
        #expect(await isJoined("?response-cache-control=no-cache&response-content-disposition=attachment"))
        #expect(await isJoined("?response-content-disposition=attachment&response-content-language=de"))
        source.set { $0.grants[0].conditions = GrantConditions(allowVersions: true) }
        #expect(await error(get("?response-content-language=de&response-expires=0")) == nil)
        #expect(await error(get("?versionId=v1")) == nil)
        #expect(await isJoined("?response-content-language=de&versionId=v1"))
        #expect(await error(get("?x-oss-process=image/resize,w_1")) == nil)
        #expect(await isJoined("?response-content-language=de&x-oss-process=image/resize,w_1"))
        // A watermark shows another object of the bucket.
        for process in ["image/watermark,image_c2VjcmV0", "image/resize,w_1/watermark,image_c2VjcmV0"] {
            let error = await error(get("?x-oss-process=" + process))
            guard case .invalidArgument? = error else {
                Issue.record("\(process): \(String(describing: error))")
                continue
            }
        }
        #expect(await isJoined("?versionId=v1&x-oss-process=image/resize,w_1"))
    }

    @Test("of uploads in parts are for the user who started one of the key, and nobody else")
    func multipart() async throws {
        let parts = "/demo-bucket/team/a?partNumber=1&uploadId=X1"
        let start = "POST\n\nimage/png\n\(Self.date)\n/demo-bucket/team/a?uploads"
        #expect(await error(put(parts)) == .accessDenied)
        #expect(await error(start) == nil)
        #expect(await error(put(parts), as: "bob") == .accessDenied)
        #expect(await error(put(parts, type: "application/octet-stream")) == nil)
        #expect(await error(put(parts, type: "image/png")) == nil)
        // A part is no object that anybody could ask for.
        let ledger = ScriptedLedger()
        _ = try await sign(put(parts), ledger: ledger)
        #expect(ledger.proposals.map(\.delivery) == [.multipartPart])
        // To the store, this is also the string of an object `a?partNumber=1&uploadId=X1` of that type.
        #expect(
            await error(put(parts, type: "text/html"))
                == .conditionFailed(.contentType(allowed: ["image/png", "application/octet-stream"])))
        for text in [
            "GET\n\n\n\(Self.date)\n/demo-bucket/team/a?uploadId=X1",
            "POST\n\napplication/xml\n\(Self.date)\n/demo-bucket/team/a?uploadId=X1",
            "DELETE\n\n\n\(Self.date)\n/demo-bucket/team/a?uploadId=X1",
        ] {
            #expect(await error(text) == nil, "\(text)")
        }
        #expect(await error(start, as: "bob") == nil)
        #expect(await error(put(parts), as: "bob") == .accessDenied)
        #expect(await error(put("/demo-bucket/team/b?partNumber=1&uploadId=X1")) == .accessDenied)
        #expect(await error(put("/demo-bucket/team/a?partNumber=1&uploadId=X2")) == .accessDenied)
        #expect(await error(put("/demo-bucket/team/a?partNumber=1&uploadId=X2"), as: "bob") == nil)
        // The type is that of the start, even if grants have changed since.
        source.change([.principal(try Principal("user:alice"))]) {
            $0.grants[0].conditions.contentTypes = ["image/jpeg"]
        }
        guard case .conditionFailed? = await error(put(parts, type: "image/jpeg")) else {
            Issue.record("The part is of an object of another type.")
            return
        }
    }

    @Test("of uploads in parts need a grant for the type of each start of the key")
    func startsOfSeveralTypes() async throws {
        func start(_ type: String) -> String { "POST\n\n\(type)\n\(Self.date)\n/demo-bucket/team/a?uploads" }
        let part = put("/demo-bucket/team/a?partNumber=1&uploadId=X1", type: "application/octet-stream")
        #expect(await error(start("text/html")) == nil)
        func allow(_ types: Set<String>) throws {
            source.change([.principal(try Principal("user:alice"))]) {
                $0.grants[0].conditions.contentTypes = types.sorted()
            }
        }
        try allow(["image/png"])
        #expect(await error(start("image/png")) == nil)
        // The store may have given X1 to the first start, which nobody but the client knows.
        guard case .conditionFailed? = await error(part) else {
            Issue.record("The part may be of an object of the other type.")
            return
        }
        try allow(["image/png", "text/html"])
        #expect(await error(part) == nil)
    }

    @Test("of parts are refused once uploads of the key were started with too many types")
    func startsOfTooManyTypes() async throws {
        let part = put("/demo-bucket/team/a?partNumber=1&uploadId=X1", type: "application/octet-stream")
        for number in 1...16 {
            #expect(await error("POST\n\nimage/\(number)\n\(Self.date)\n/demo-bucket/team/a?uploads") == nil)
        }
        #expect(await error(part) == nil)
        #expect(await error("POST\n\nimage/17\n\(Self.date)\n/demo-bucket/team/a?uploads") == nil)
        guard case .notEnforceable? = await error(part) else {
            Issue.record("Any number of types is decided.")
            return
        }
    }

    @Test("that start an upload are remembered once they are on record, each once")
    func startsOnRecord() async throws {
        let start = "POST\n\nimage/png\n\(Self.date)\n/demo-bucket/team/a?uploads"
        let full = QuotaRefusal(quotaID: "q", metric: .urls, period: .day, limit: 10, remaining: 0, resetsIn: 5)
        for verdict in [
            Result<RecordVerdict, GatewayError>.success(.quotaExceeded(full)), .failure(.slowDown(retryAfter: 1)),
        ] {
            let ledger = ScriptedLedger { _, _ throws(GatewayError) in try verdict.get() }
            await #expect(throws: GatewayError.self) { try await sign(start, ledger: ledger) }
            #expect(ledger.proposals.count == 1 && uploads.types.isEmpty)
        }
        let changing = ScriptedLedger { proposal, before in
            before == 0 ? .stale : .recorded(remaining: proposal.remainders)
        }
        _ = try await sign(start, ledger: changing)
        #expect(changing.proposals.count == 2 && uploads.types == ["image/png"])
        let ledger = ScriptedLedger()
        await #expect(throws: GatewayError.unavailable(retryAfter: 1, cause: "down")) {
            try await sign(start, ledger: ledger, uploads: MemoryRemoteUploads(isDown: true))
        }
        #expect(ledger.proposals.count == 1)
    }

    @Test("of OSS version 4 need the canonical request, and are of its day and bucket")
    func version4() async throws {
        source.set { $0.bucket?.scheme = .ossV4 }
        let request = """
            PUT
            /demo-bucket/team/a.png

            content-type:image/png
            x-oss-content-sha256:UNSIGNED-PAYLOAD
            x-oss-date:20240517T083000Z


            UNSIGNED-PAYLOAD
            """
        let hash = DigestAlgorithm.sha256.digest(of: Array(request.utf8)).hex
        let scope = "20240517/eu-west-1/oss/aliyun_v4_request"
        let string = "OSS4-HMAC-SHA256\n20240517T083000Z\n\(scope)\n\(hash)"
        let signed = try await sign(string, canonicalRequest: request)
        var key = Array("aliyun_v4not-a-secret".utf8)
        for part in scope.split(separator: "/") {
            key = HMACKey(key, algorithm: .sha256).authenticationCode(for: Array(part.utf8)).bytes
        }
        let expected = HMACKey(key, algorithm: .sha256).authenticationCode(for: Array(string.utf8)).hex
        #expect(signed.signature.reveal() == expected && signed.authorization == nil)
        for (text, other) in [
            (string, request.replacing("a.png", with: "b.png")), (string.replacing("eu-west-1", with: "x"), request),
            (string.replacing("20240517T", with: "20240518T"), request),
            (string, request.replacing("/demo-bucket/team", with: "/demo-bucket/team/x")),
        ] {
            guard case .invalidArgument? = await error(text, canonicalRequest: other) else {
                Issue.record("\(text)")
                continue
            }
        }
    }

    /// MinIO accepts the signature of `?uploadId=1` for `?x=%26uploadId%3D1`, and then reads no `uploadId`: the request
    /// reads or deletes the object. Google and OSS sign what they read.
    @Test(
        arguments: [("GET", Action.getObject), ("DELETE", .deleteObject)],
        [[Action.putObject], [.putObject, .getObject], [.putObject, .deleteObject]])
    func `of uploads in parts permit what they are without their parameter`(
        asked: (method: String, hidden: Action), granted: [Action]
    ) async throws {
        for (provider, scheme) in [(Bucket.Provider.s3, Bucket.Scheme.awsV2), (.gcs, .gcsV4HMAC), (.oss, .ossV1)] {
            source.set { tables in
                tables.bucket?.provider = provider
                tables.bucket?.scheme = scheme
                tables.grants[0].actions = Set(granted)
                tables.grants[0].conditions.allowResponseContentType = true
                tables.grants[0].conditions.allowVersions = true
            }
            let kind: RemoteSignatures.Scheme = provider == .oss ? .oss : .awsV2
            let own = MemoryRemoteUploads()
            let start = "POST\n\nimage/png\n\(Self.date)\n/demo-bucket/team/a?uploads"
            _ = try await sign(start, scheme: kind, uploads: own)
            let text = "\(asked.method)\n\n\n\(Self.date)\n/demo-bucket/team/a?uploadId=X1"
            let ledger = ScriptedLedger()
            let signed = try? await sign(text, scheme: kind, ledger: ledger, uploads: own)
            let needsMore = provider == .s3
            #expect((signed != nil) == (!needsMore || granted.contains(asked.hidden)), "\(provider)")
            if signed != nil {
                #expect(ledger.proposals.map(\.action) == [needsMore ? asked.hidden : .putObject])
            }
        }
    }

    /// The grant and the quotas of the hidden action are its own.
    @Test(arguments: [("GET", Action.getObject), ("DELETE", .deleteObject)])
    func `of uploads in parts charge what they are without their parameter`(
        method: String, hidden: Action
    ) async throws {
        source.set { tables in
            tables.bucket?.provider = .s3
            tables.bucket?.scheme = .awsV2
            let conditions =
                hidden == .getObject
                ? GrantConditions(allowResponseContentType: true, allowVersions: true) : GrantConditions()
            tables.grants = [
                try! Fixture.grant(1, actions: [.putObject]),
                try! Fixture.grant(2, to: "*", actions: [hidden], conditions: conditions),
            ]
            tables.quotas = [
                try! Fixture.quota(11, action: .putObject), try! Fixture.quota(12, action: hidden),
                try! Fixture.quota(13), try! Fixture.quota(14, action: .listObjects),
            ]
        }
        let own = MemoryRemoteUploads()
        let start = "POST\n\nimage/png\n\(Self.date)\n/demo-bucket/team/a?uploads"
        _ = try await sign(start, scheme: .awsV2, uploads: own)
        let ledger = ScriptedLedger()
        let text = "\(method)\n\n\n\(Self.date)\n/demo-bucket/team/a?uploadId=X1"
        _ = try await sign(text, scheme: .awsV2, ledger: ledger, uploads: own)
        let proposal = try #require(ledger.proposals.first)
        #expect(proposal.action == hidden && proposal.grantID == Fixture.id(2))
        #expect(proposal.matchedPrincipal == .anyone)
        let charged = proposal.charges.map(\.quota.id)
        #expect(
            charged.contains(Fixture.id(12)) && charged.contains(Fixture.id(13)) && !charged.contains(Fixture.id(14)))
        #expect(charged == charged.sorted() && Set(charged).count == charged.count)
        #expect(proposal.charges.allSatisfy { $0.amount == 1 })
    }

    /// MinIO accepts the signature of `?response-content-disposition=attachment` for a request without it, and that of
    /// no parameter with `?Response-Content-Type=text/html`. A part without `partNumber` is a whole object.
    @Test(arguments: [Bucket.Scheme.awsV4, .awsV2])
    func `of version 2 rest on parameters only where the bucket chose that version`(scheme: Bucket.Scheme) async throws
    {
        let opened = GrantConditions(allowResponseContentType: true, allowVersions: true)
        let forced = GrantConditions(forceDownload: true)
        let (get, resource) = ("GET\n\n\n\(Self.date)\n", "/demo-bucket/team/a")
        let start = "POST\n\nimage/png\n\(Self.date)\n\(resource)?uploads"
        let part = put("\(resource)?partNumber=1&uploadId=X1", type: "application/octet-stream")
        let isChosen = scheme == .awsV2
        for (text, conditions, isSigned) in [
            (get + resource, GrantConditions(), isChosen), (get + resource, opened, true),
            (get + resource + "?response-content-disposition=attachment", forced, isChosen),
            (get + resource + "?response-content-type=text/html", opened, isChosen),
            (get + resource + "?versionId=3", opened, isChosen),
            (part, GrantConditions(contentTypes: ["image/*"]), isChosen), (part, GrantConditions(), true),
            ("DELETE\n\n\n\(Self.date)\n\(resource)?uploadId=X1", GrantConditions(), isChosen),
            ("DELETE\n\n\n\(Self.date)\n\(resource)", GrantConditions(), isChosen),
        ] {
            source.set { tables in
                tables.bucket?.provider = .s3
                tables.bucket?.scheme = scheme
                tables.grants[0].actions = [.getObject, .putObject, .deleteObject]
                tables.grants[0].conditions = conditions
            }
            let own = MemoryRemoteUploads()
            _ = try await sign(start, scheme: .awsV2, uploads: own)
            let signed = try? await sign(text, scheme: .awsV2, uploads: own)
            #expect((signed != nil) == isSigned, "\(text) \(conditions)")
        }
    }

    @Test("for interoperability begin with AWS, and only stores get them whose words they are")
    func awsV2() async throws {
        let text = "PUT\n\nimage/jpeg\n\(Self.date)\n/demo-bucket/team/file.jpg"
        guard case .notEnforceable? = await error(text, scheme: .awsV2) else {
            Issue.record("OSS does not take AWS signatures.")
            return
        }
        source.set {
            $0.bucket?.provider = .gcs
            $0.bucket?.scheme = .gcsV4HMAC
        }
        let signed = try await sign(text, scheme: .awsV2)
        #expect(signed.authorization?.reveal().hasPrefix("AWS AKIAEXAMPLE:") == true)
        guard case .notEnforceable? = await error(text) else {
            Issue.record("Google does not take OSS signatures.")
            return
        }
    }
}

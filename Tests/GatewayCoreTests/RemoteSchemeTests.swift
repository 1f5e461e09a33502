import Foundation
import GatewayCore
import LibCrypto
import Testing

/// Clients' strings, signed for buckets of every scheme. They bind what the string says, whatever the bucket's own
/// links could bind.
@Suite("Remote signatures, by string and bucket", .timeLimit(.minutes(1)))
struct RemoteSchemeTests {
    private static let date = "Fri, 17 May 2024 08:30:00 GMT"

    enum Words: CaseIterable {
        case ossV1
        case ossV4
        case awsV2

        var scheme: RemoteSignatures.Scheme { self == .awsV2 ? .awsV2 : .oss }

        /// Whether the store of a bucket accepts them, with an access key.
        func fit(_ bucket: Bucket.Scheme) -> Bool {
            switch bucket {
            case .awsV4, .awsV2, .gcsV4HMAC: self == .awsV2
            case .ossV4, .ossV1: self != .awsV2
            case .gcsV4RSA, .gcsV2RSA: false
            }
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let bucket: Bucket.Scheme
        let words: Words

        static let all = Bucket.Scheme.allCases.flatMap { bucket in
            Words.allCases.map { Case(bucket: bucket, words: $0) }
        }
        static let fitting = all.filter { $0.words.fit($0.bucket) }

        var testDescription: String { "\(words) for \(bucket.rawValue)" }
        /// Whether the holder of the signature may be able to change the parameters of a download. Google signs none,
        /// and other stores may overlook some, which a bucket accepts by choosing AWS version 2.
        var bindsNoParameter: Bool { words == .awsV2 && bucket != .awsV2 }
    }

    private func tables(_ scheme: Bucket.Scheme) throws -> ScriptedPolicy.Tables {
        var tables = ScriptedPolicy.Tables()
        var bucket = try Fixture.bucket(scheme: scheme)
        var credential = Fixture.credential()
        switch scheme {
        case .awsV4, .awsV2: bucket.provider = .s3
        case .ossV4, .ossV1: bucket.provider = .oss
        case .gcsV4HMAC: bucket.provider = .gcs
        case .gcsV4RSA, .gcsV2RSA:
            bucket.provider = .gcs
            credential.kind = .serviceAccount
        }
        tables.bucket = bucket
        tables.credential = credential
        tables.grants = [try Fixture.grant(1)]
        tables.apiKeys = [
            APIKey(
                id: Fixture.id(3), prefix: "alice", hash: Digest(), name: "alice",
                principal: try Principal("user:alice"),
                createdAt: Fixture.now)
        ]
        return tables
    }

    /// A string in the form of a scheme, and the request whose hash it contains.
    func string(
        _ words: Words, _ method: String, query: [(String, String)] = [], type: String? = nil, length: Int? = nil
    ) throws -> RemoteString {
        let path = "/demo-bucket/team/a"
        guard words == .ossV4 else {
            let resources = query.map { $0.1.isEmpty ? $0.0 : "\($0.0)=\($0.1)" }.joined(separator: "&")
            let text = "\(method)\n\n\(type ?? "")\n\(Self.date)\n\(path)\(resources.isEmpty ? "" : "?" + resources)"
            return try RemoteString(text, canonicalRequest: nil, scheme: words.scheme)
        }
        let parameters = query.map { name, value in
            value.isEmpty ? name : "\(name)=\(value.replacing("/", with: "%2F"))"
        }.joined(separator: "&")
        var headers = ""
        if let length { headers += "content-length:\(length)\n" }
        if let type { headers += "content-type:\(type)\n" }
        headers += "x-oss-content-sha256:UNSIGNED-PAYLOAD\nx-oss-date:20240517T083000Z\n"
        let request =
            "\(method)\n\(path)\n\(parameters)\n\(headers)\n\(length == nil ? "" : "content-length")\nUNSIGNED-PAYLOAD"
        let hash = DigestAlgorithm.sha256.digest(of: Array(request.utf8)).hex
        let text = "OSS4-HMAC-SHA256\n20240517T083000Z\n20240517/eu-west-1/oss/aliyun_v4_request\n\(hash)"
        return try RemoteString(text, canonicalRequest: request, scheme: words.scheme)
    }

    /// The error of a refusal; `nil` where the string is signed and recorded.
    func error(
        _ string: RemoteString, _ words: Words, _ tables: ScriptedPolicy.Tables,
        uploads: MemoryRemoteUploads = MemoryRemoteUploads()
    ) async throws -> GatewayError? {
        let cache = PolicyCache(source: ScriptedPolicy(tables))
        let authenticator = CacheAuthenticator(cache: cache)
        let ledger = ScriptedLedger()
        let useCase = RemoteSignatures(
            ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger, now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 7, count: $0) }), cache: cache, uploads: uploads)
        do {
            _ = try await useCase.sign(
                string, scheme: words.scheme,
                in: .test(try await authenticator.authenticate(Secret("alice")), requestID: "request-1"))
            #expect(ledger.proposals.count == 1)
            return nil
        } catch {
            #expect(ledger.proposals.isEmpty)
            return error
        }
    }

    func startedUpload() async throws -> MemoryRemoteUploads {
        let uploads = MemoryRemoteUploads()
        try await uploads.begin(
            RemoteUpload(
                principal: try Principal("user:alice"), bucket: try BucketName("demo-bucket"),
                key: try ObjectKey("team/a")),
            contentType: "image/png")
        return uploads
    }

    private static let part = [("partNumber", "1"), ("uploadId", "X1")]

    @Test("of AWS version 2 are given where the store obeys no unsigned headers, or links are of that version too")
    func closed() async throws {
        for (scheme, isClosed, isGiven) in [
            (Bucket.Scheme.awsV4, false, true), (.awsV4, true, false), (.awsV2, false, true), (.awsV2, true, true),
        ] {
            var tables = try tables(scheme)
            tables.bucket?.honoursUnsignedHeaders = isClosed
            let signed = try await error(string(.awsV2, "PUT", type: "image/png"), .awsV2, tables)
            #expect(isGiven ? signed == nil : signed?.code == "NotEnforceable", "\(scheme) \(isClosed)")
        }
    }

    @Test("are given where the store takes them", arguments: Case.all)
    func fits(place: Case) async throws {
        let signed = try await error(string(place.words, "PUT", type: "image/png"), place.words, tables(place.bucket))
        #expect(place.words.fit(place.bucket) ? signed == nil : signed?.code == "NotEnforceable")
    }

    @Test(
        "bind no size but that which is in the string, under a limit of the grant and under a quota of bytes alike",
        arguments: Case.fitting)
    func sizes(place: Case) async throws {
        let words = place.words
        var limited = try tables(place.bucket)
        limited.grants[0].conditions.maxBytes = 10
        var counted = try tables(place.bucket)
        counted.quotas = [try Fixture.quota(1, metric: .bytes, limit: 100)]
        for (tables, isQuota) in [(limited, false), (counted, true)] {
            let put = try await error(string(words, "PUT", type: "image/png"), words, tables)
            #expect(put?.code == "NotEnforceable", "PUT: \(String(describing: put))")
            let start = try await error(
                string(words, "POST", query: [("uploads", "")], type: "image/png"), words, tables)
            // Where lengths can be bound, each part is counted by itself; nothing bounds their sum.
            let partsCount = isQuota && words == .ossV4
            #expect(partsCount ? start == nil : start?.code == "NotEnforceable", "start: \(String(describing: start))")
            let part = try await error(
                string(words, "PUT", query: Self.part, type: "image/png"), words, tables, uploads: startedUpload())
            #expect(part?.code == "NotEnforceable", "part: \(String(describing: part))")
            guard words == .ossV4 else { continue }
            for (length, fits) in [(10, true), (11, isQuota)] {
                let bound = try await error(string(words, "PUT", type: "image/png", length: length), words, tables)
                #expect(fits ? bound == nil : bound == .entityTooLarge(maxBytes: 10))
            }
            let boundPart = try await error(
                string(words, "PUT", query: Self.part, length: 5), words, tables, uploads: startedUpload())
            #expect(isQuota ? boundPart == nil : boundPart?.code == "NotEnforceable")
            // A start without bytes of its own still opens the way to parts.
            let empty = try await error(
                string(words, "POST", query: [("uploads", "")], type: "image/png", length: 0), words, tables)
            #expect(isQuota ? empty == nil : empty?.code == "NotEnforceable")
        }
    }

    @Test("need the MD5 that a grant demands in the string", arguments: Case.fitting)
    func digests(place: Case) async throws {
        var tables = try tables(place.bucket)
        tables.grants[0].conditions.requireContentMD5 = true
        let put = try await error(string(place.words, "PUT", type: "image/png"), place.words, tables)
        #expect(put == .conditionFailed(.contentMD5Required))
        let part = try await error(
            string(place.words, "PUT", query: Self.part, type: "image/png"), place.words, tables,
            uploads: startedUpload())
        #expect(part == .conditionFailed(.contentMD5Required))
        let start = try await error(
            string(place.words, "POST", query: [("uploads", "")], type: "image/png"), place.words, tables)
        #expect(start == nil)
    }

    @Test("of downloads leave nothing open that the grant does not", arguments: Case.fitting)
    func downloads(place: Case) async throws {
        let words = place.words
        let silent = try tables(place.bucket)
        var open = silent
        open.grants[0].conditions.allowResponseContentType = true
        var forced = open
        forced.grants[0].conditions.forceDownload = true
        func get(_ tables: ScriptedPolicy.Tables, _ query: [(String, String)] = []) async throws -> GatewayError? {
            try await error(string(words, "GET", query: query), words, tables)
        }
        let type = [("response-content-type", "text/html")]
        let attachment = [("response-content-disposition", "attachment")]
        if place.bindsNoParameter {
            for tables in [silent, open] { #expect(try await get(tables)?.code == "NotEnforceable") }
            open.grants[0].conditions.allowVersions = true
            forced.grants[0].conditions.allowVersions = true
            #expect(try await get(open) == nil)
            #expect(try await get(open, type)?.code == "NotEnforceable")
            for query in [[], attachment] { #expect(try await get(forced, query)?.code == "NotEnforceable") }
            return
        }
        #expect(try await get(silent) == nil)
        #expect(try await get(silent, type) == .conditionFailed(.responseContentType))
        #expect(try await get(open, type) == nil)
        #expect(try await get(forced)?.code == "NotEnforceable")
        #expect(try await get(forced, attachment) == nil)
    }
    @Test("read old versions where the grant says so, and where the version is signed", arguments: Case.fitting)
    func versions(place: Case) async throws {
        var tables = try tables(place.bucket)
        tables.grants[0].conditions.allowResponseContentType = true
        for method in ["GET", "HEAD"] {
            let string = try string(place.words, method, query: [("versionId", "3sL4kqtJlcpXroDTDmJ")])
            tables.grants[0].conditions.allowVersions = nil
            #expect(try await error(string, place.words, tables) == .conditionFailed(.versions))
            tables.grants[0].conditions.allowVersions = true
            let allowed = try await error(string, place.words, tables)
            #expect(place.bindsNoParameter ? allowed?.code == "NotEnforceable" : allowed == nil)
        }
    }
}

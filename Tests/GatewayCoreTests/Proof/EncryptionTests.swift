import Foundation
import LibCrypto
import Signing
import Testing

@testable import GatewayCore

/// The encryption that a bucket demands of uploads, in every scheme and delivery. What is issued is read as a store
/// reads it, with no code of the gateway's.
@Suite(.timeLimit(.minutes(2))) struct EncryptionTests {
    private static let key = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"

    /// What a bucket says, and the headers that its provider documents for it.
    struct Case: Sendable, CustomTestStringConvertible {
        let scheme: Bucket.Scheme
        let encryption: ServerSideEncryption?
        let headers: [String: String]

        var testDescription: String { "\(scheme.rawValue) \(headers.values.sorted())" }
        var isOSS: Bool { scheme == .ossV4 || scheme == .ossV1 }

        func tables() throws -> ScriptedPolicy.Tables {
            var tables = ScriptedPolicy.Tables()
            var bucket = try Fixture.bucket(scheme: scheme)
            bucket.provider = isOSS ? .oss : .s3
            bucket.allowsRedirects = true
            bucket.encryption = encryption
            tables.bucket = bucket
            tables.credential = Fixture.credential()
            tables.grants = [try Fixture.grant(1, actions: [.putObject, .getObject, .deleteObject])]
            tables.apiKeys = [
                APIKey(
                    id: Fixture.id(3), prefix: "alice", hash: Digest(), name: "alice",
                    principal: try Principal("user:alice"), createdAt: Fixture.now)
            ]
            return tables
        }

        /// The headers with one of them changed or missing, once for each.
        var wrong: (changed: [[String: String]], missing: [[String: String]]) {
            let names = headers.keys.sorted()
            return (
                names.map { headers.merging([$0: "other"]) { $1 } },
                names.map { name in headers.filter { $0.key != name } }
            )
        }
    }

    private static func every(
        _ schemes: [Bucket.Scheme], _ words: [(String, ServerSideEncryption.Algorithm)], header: String, keyEnd: String
    ) -> [Case] {
        schemes.flatMap { scheme in
            var cases = [Case(scheme: scheme, encryption: nil, headers: [:])]
            for (word, algorithm) in words {
                cases.append(
                    Case(scheme: scheme, encryption: .init(algorithm: algorithm), headers: [header: word]))
                guard algorithm != .aes256 else { continue }
                cases.append(
                    Case(
                        scheme: scheme, encryption: .init(algorithm: algorithm, keyID: key),
                        headers: [header: word, header + keyEnd: key]))
            }
            return cases
        }
    }

    private static let cases =
        every(
            [.awsV4, .awsV2], [("AES256", .aes256), ("aws:kms", .awsKMS), ("aws:kms:dsse", .awsKMSTwice)],
            header: "x-amz-server-side-encryption", keyEnd: "-aws-kms-key-id")
        + every(
            [.ossV4, .ossV1], [("AES256", .aes256), ("KMS", .alibabaKMS)], header: "x-oss-server-side-encryption",
            keyEnd: "-key-id")

    /// The use cases over scripted rows, and a caller.
    private struct Gateway {
        let issuing: ProvenIssuing
        let cache: PolicyCache
        let context: RequestContext

        init(_ tables: ScriptedPolicy.Tables) async throws {
            cache = PolicyCache(source: ScriptedPolicy(tables))
            let authenticator = CacheAuthenticator(cache: cache)
            issuing = ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ScriptedLedger(), now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 7, count: $0) })
            context = .test(try await authenticator.authenticate(Secret("alice")))
        }
    }

    /// A way to a link.
    enum Way: CaseIterable {
        case single, batch, start, part, complete, download, redirect, deletion

        var method: String {
            switch self {
            case .single, .batch, .part: "PUT"
            case .start, .complete: "POST"
            case .download, .redirect: "GET"
            case .deletion: "DELETE"
            }
        }

        /// Whether the store learns from the request how to keep the object.
        var beginsObject: Bool { self == .single || self == .batch || self == .start }

        func request(_ key: String) throws -> IssueRequest {
            var fields = IssueRequest.Fields()
            fields.bucket = "demo-bucket"
            fields.key = key
            let step: MultipartStep?
            let delivery: Delivery
            switch self {
            case .single, .batch, .download, .deletion: (step, delivery) = (nil, .presignedURL)
            case .start: (step, delivery) = (.start(objectLength: nil), .multipartStart)
            case .part:
                let part = MultipartStep.Part(storeUploadID: "X1", number: 1, issuance: Fixture.id(9))
                (step, delivery) = (.part(part), .multipartPart)
            case .complete:
                (step, delivery) = (.complete(storeUploadID: "X1", objectLength: nil), .multipartComplete)
            case .redirect: (step, delivery) = (nil, .redirect)
            }
            switch self {
            case .single, .batch, .start, .part, .complete:
                (fields.action, fields.contentType) = ("PutObject", "image/png")
            case .download, .redirect: fields.action = "GetObject"
            case .deletion: fields.action = "DeleteObject"
            }
            return try IssueRequest(fields, delivery: delivery, multipart: step, repeatable: nil, newName: nil)
        }
    }

    @Test(arguments: cases, Way.allCases)
    func `a link binds the headers if it begins an object, and no other link does`(place: Case, way: Way) async throws {
        let gateway = try await Gateway(place.tables())
        let urls = PresignedURLs(gateway.issuing)
        let keys = way == .batch ? ["team/a", "team/b"] : ["team/a"]
        let requests = try keys.map { try way.request($0) }
        var issued: [IssuedURL] = []
        if way == .batch {
            for result in await urls.issue(requests, in: gateway.context) { issued.append(try result.get()) }
        } else {
            issued.append(try await urls.issue(requests[0], in: gateway.context))
        }
        #expect(issued.count == keys.count)
        let scheme: StoreReading.Scheme =
            switch place.scheme {
            case .awsV2: .awsV2
            case .ossV4: .ossV4
            case .ossV1: .ossV1
            default: .awsV4
            }
        let store = StoreReading(scheme: scheme, bucket: "demo-bucket", isPathStyle: true, secret: "not-a-secret")
        for url in issued {
            let sent = Dictionary(uniqueKeysWithValues: url.headers.map { ($0.name, $0.value) })
            let expected = way.beginsObject ? place.headers : [:]
            #expect(sent.filter { $0.key.contains("encryption") } == expected)
            let others = sent.filter { expected[$0.key] == nil }
            func accepts(_ headers: [String: String]) throws -> Bool {
                let headers = others.merging(headers) { $1 }
                return try store.accepts(.init(method: way.method, url: url.url.reveal(), headers: headers))
            }
            #expect(try accepts(expected))
            guard way.beginsObject else { continue }
            for headers in place.wrong.changed + place.wrong.missing { #expect(try !accepts(headers), "\(headers)") }
        }
    }

    @Test(arguments: cases.filter { $0.scheme != .awsV2 })
    func `a form has the headers among its fields, and its policy has each value`(place: Case) async throws {
        let gateway = try await Gateway(place.tables())
        var fields = PostPolicyRequest.Fields()
        fields.bucket = "demo-bucket"
        fields.key = "team/a"
        fields.contentTypes = ["image/png"]
        fields.maxBytes = 1000
        let forms = BrowserForms(gateway.issuing)
        let form = try await forms.issue(forms.request(fields, in: gateway.context), in: gateway.context)
        let values = Dictionary(uniqueKeysWithValues: form.fields.reveal().map { ($0.name, $0.value) })
        #expect(values.filter { $0.key.contains("encryption") } == place.headers)
        let json = try #require(values["policy"].flatMap { Data(base64Encoded: $0) })
        let policy = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        let exact = try #require(policy["conditions"] as? [Any]).compactMap { $0 as? [String: String] }
        let bound = exact.filter { $0.keys.contains { $0.contains("encryption") } }
        #expect(Set(bound) == Set(place.headers.map { [$0.key: $0.value] }) && bound.count == place.headers.count)
    }

    /// The strings that clients of a bucket can compose.
    struct Client: Sendable, CustomTestStringConvertible {
        let place: Case
        let words: RemoteSchemeTests.Words

        var testDescription: String { "\(words), \(place.testDescription)" }

        static let all = EncryptionTests.cases.flatMap { place in
            RemoteSchemeTests.Words.allCases.filter { $0.fit(place.scheme) }.map { Client(place: place, words: $0) }
        }

        /// A string for `team/a` in the words of its scheme.
        func string(_ method: String, _ query: [(String, String)], _ headers: [String: String]) throws -> RemoteString {
            let path = "/demo-bucket/team/a"
            let isPart = query.count == 2
            let parameters = query.map { $1.isEmpty ? $0 : "\($0)=\($1)" }.joined(separator: "&")
            func lines(_ headers: [String: String]) -> String {
                headers.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)\n" }.joined()
            }
            guard words == .ossV4 else {
                let text =
                    "\(method)\n\nimage/png\nFri, 17 May 2024 08:30:00 GMT\n\(lines(headers))"
                    + path + (parameters.isEmpty ? "" : "?" + parameters)
                return try RemoteString(text, canonicalRequest: nil, scheme: words.scheme)
            }
            var all = headers.merging(
                ["x-oss-content-sha256": "UNSIGNED-PAYLOAD", "x-oss-date": "20240517T083000Z"]) { $1 }
            if !isPart { all["content-type"] = "image/png" }
            let request = "\(method)\n\(path)\n\(parameters)\n\(lines(all))\n\nUNSIGNED-PAYLOAD"
            let hash = DigestAlgorithm.sha256.digest(of: Array(request.utf8)).hex
            let text = "OSS4-HMAC-SHA256\n20240517T083000Z\n20240517/eu-west-1/oss/aliyun_v4_request\n\(hash)"
            return try RemoteString(text, canonicalRequest: request, scheme: words.scheme)
        }
    }

    @Test(arguments: Client.all)
    func `a client has exactly the bucket's headers signed, in all that begins an object`(client: Client) async throws {
        let (remote, place) = (RemoteSchemeTests(), client.place)
        let tables = try place.tables()
        func error(
            _ method: String, _ query: [(String, String)], _ headers: [String: String]
        ) async throws -> GatewayError? {
            try await remote.error(
                client.string(method, query, headers), client.words, tables, uploads: remote.startedUpload())
        }
        for (method, query) in [("PUT", []), ("POST", [("uploads", "")])] as [(String, [(String, String)])] {
            #expect(try await error(method, query, place.headers) == nil)
            for headers in place.wrong.changed {
                #expect(try await error(method, query, headers)?.code == "InvalidArgument", "\(headers)")
            }
            for headers in place.wrong.missing {
                #expect(try await error(method, query, headers)?.code == "NotEnforceable", "\(headers)")
            }
            let unknown = (place.isOSS ? "x-oss-" : "x-amz-") + "server-side-encryption-context"
            let added = place.headers.merging([unknown: "e30="]) { $1 }
            #expect(try await error(method, query, added)?.code == "InvalidArgument")
        }
        // To such a store, the string of a part may be that of a whole object, which nothing would encrypt.
        let mayBeWhole = client.words == .awsV2 && place.scheme == .awsV4 && place.encryption != nil
        for headers in [[:], place.headers] {
            let found = try await error("PUT", [("partNumber", "1"), ("uploadId", "X1")], headers)
            #expect(found?.code == (mayBeWhole ? "NotEnforceable" : nil), "\(headers)")
        }
    }

    @Test(arguments: cases.filter { $0.scheme == .awsV4 })
    func `a request that the gateway signs gets the headers that it lacks`(place: Case) async throws {
        let gateway = try await Gateway(place.tables())
        let remote = RemoteSchemeTests()
        let signatures = RemoteSignatures(
            gateway.issuing, cache: gateway.cache, uploads: try await remote.startedUpload())
        func sign(_ method: String, _ query: String, _ headers: [String: String]) async throws -> RemoteSignature {
            let request = try RequestToSign(
                method: method, url: "https://s3.example.com/demo-bucket/team/a\(query)",
                headers: headers.map { NamedValue($0.key, $0.value) })
            return try await signatures.sign(request, region: "eu-west-1", in: gateway.context)
        }
        for (method, query) in [("PUT", ""), ("POST", "?uploads")] {
            for own in [[:], place.headers] + place.wrong.missing {
                let signature = try await sign(method, query, own)
                let added = Dictionary(uniqueKeysWithValues: signature.headers.map { ($0.name, $0.value) })
                #expect(
                    own.merging(added.filter { $0.key.contains("encryption") }) { "\($0) twice, \($1)" }
                        == place.headers)
                let authorization = try #require(signature.authorization).reveal()
                let signed = authorization.split(separator: "SignedHeaders=").last?.prefix { $0 != "," }.split(
                    separator: ";")
                #expect(signed?.filter { $0.contains("encryption") }.map { String($0) } == place.headers.keys.sorted())
            }
            for own in place.wrong.changed {
                await #expect(throws: GatewayError.self) { try await sign(method, query, own) }
            }
        }
        let part = try await sign("PUT", "?partNumber=1&uploadId=X1", [:])
        #expect(!part.headers.contains { $0.name.contains("encryption") })
    }

    @Test(arguments: Bucket.Provider.allCases, ServerSideEncryption.Algorithm.allCases)
    func `a row has an algorithm of its provider, and a key of KMS alone`(
        provider: Bucket.Provider, algorithm: ServerSideEncryption.Algorithm
    ) throws {
        let known = provider == .oss ? ["AES256", "KMS"] : ["AES256", "aws:kms", "aws:kms:dsse"]
        let good = [Self.key, "alias/photos", "k", String(repeating: "k", count: 2048)]
        let bad = ["", "a b", "a\r\nx-amz-acl: public-read", "é", String(repeating: "k", count: 2049)]
        for scheme in provider.schemes {
            for keyID in [nil] + (good + bad).map(Optional.some) {
                var bucket = try Fixture.bucket(addressing: .virtual, scheme: scheme)
                bucket.provider = provider
                bucket.encryption = ServerSideEncryption(algorithm: algorithm, keyID: keyID)
                let isOld = provider == .aws && scheme == .awsV2 && algorithm != .aes256
                let isKeyWrong = keyID.map { algorithm == .aes256 || bad.contains($0) } ?? false
                let expected: String? =
                    provider == .gcs
                    ? "encryption"
                    : isOld || !known.contains(algorithm.rawValue)
                        ? "encryption.algorithm" : isKeyWrong ? "encryption.keyID" : nil
                #expect(refusedField { try bucket.validated() } == expected, "\(scheme) \(keyID ?? "nil")")
            }
        }
    }

    @Test(arguments: cases) func `a page must be let send the headers`(place: Case) throws {
        let bucket = try #require(try place.tables().bucket)
        #expect(Set(bucket.pageHeaders.always).subtracting(["content-type"]) == Set(place.headers.keys))
    }
}

import Bytes
import Foundation
import LibCrypto
import Signing
import Testing

@testable import GatewayCore

/// Forms and clients' strings, read as stores read them.
extension BindingPropertyTests {
    private static let forms = 40 * (ProcessInfo.processInfo.environment["SLUICE_TEST_BINDINGS"] == nil ? 1 : 10)

    /// The condition of a policy on a field, in its JSON form.
    private func condition(_ name: String, in conditions: [Any]) -> (word: String, value: Any)? {
        for item in conditions {
            if let exact = item as? [String: Any],
                let value = exact.first(where: { $0.key.lowercased() == name })?.value
            {
                return ("eq", value)
            }
            if let parts = item as? [Any], parts.count == 3, (parts[1] as? String)?.lowercased() == "$" + name {
                return (parts[0] as? String ?? "", parts[2])
            }
        }
        return nil
    }

    @Test(
        "binds bucket, key, types, size, metadata and end in the policy of each form",
        arguments: [Bucket.Scheme.awsV4, .ossV4, .ossV1, .gcsV4RSA, .gcsV4HMAC])
    func forms(scheme: Bucket.Scheme) async throws {
        var given = 0
        for number in 0..<Self.forms {
            var world = try GeneratedWorld(seed: 77, number: number, scheme: scheme, delivery: .single)
            var fields = PostPolicyRequest.Fields()
            fields.bucket = "demo-bucket"
            let isBelow = world.chance(2)
            if isBelow { fields.keyStartsWith = "team/in/" } else { fields.key = "team/é.png" }
            fields.contentTypes = world.chance(3) ? ["image/png", "text/plain"] : ["image/png"]
            fields.minBytes = world.chance(2) ? 3 : nil
            fields.maxBytes = world.chance(2) ? 1000 : 1001
            fields.metadata = world.chance(2) ? ["owner": "a"] : nil
            fields.expiresIn = world.fields.expiresIn
            let tables = try world.tables()
            guard let form = try? await issue(fields, tables) else { continue }
            given += 1
            let conditions = world.grant.conditions
            #expect(
                conditions.requireContentMD5 != true && fields.maxBytes ?? 0 <= conditions.maxBytes ?? .max, "\(world)")
            let values = Dictionary(uniqueKeysWithValues: form.fields.reveal().map { ($0.name, $0.value) })
            let encoded = try #require(values["policy"])
            let json = try #require(Data(base64Encoded: encoded))
            let policy = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
            let list = try #require(policy["conditions"] as? [Any])
            #expect(try signs(encoded, values, world), "\(world)")
            let end = try #require(policy["expiration"] as? String).replacing(".000Z", with: "Z")
            #expect(try Date(end, strategy: .iso8601) == form.expiresAt)
            #expect(condition("bucket", in: list)?.value as? String == "demo-bucket")
            let key = try #require(condition("key", in: list))
            #expect(
                key.word == (isBelow ? "starts-with" : "eq")
                    && key.value as? String == (isBelow ? "team/in/" : "team/é.png"))
            let isOSS = scheme == .ossV4 || scheme == .ossV1
            let type = try #require(condition(isOSS ? "x-oss-content-type" : "content-type", in: list))
            #expect(condition("x-oss-object-acl", in: list)?.value as? String == (isOSS ? "default" : nil))
            let types = type.word == "eq" ? (type.value as? String).map { [$0] } : type.value as? [String]
            #expect(["eq", "in"].contains(type.word) && types == fields.contentTypes)
            let range = list.compactMap { $0 as? [Any] }.first { $0.first as? String == "content-length-range" }
            #expect(range?[1] as? Int64 == fields.minBytes ?? 0 && range?[2] as? Int64 == fields.maxBytes)
            let owner = list.compactMap { $0 as? [String: String] }.first {
                $0.keys.contains { $0.hasSuffix("-meta-owner") }
            }
            #expect(owner?.values.first == fields.metadata?["owner"])
        }
        #expect(given > Self.forms / 10)
    }

    private func issue(
        _ fields: PostPolicyRequest.Fields, _ tables: ScriptedPolicy.Tables
    ) async throws -> IssuedPostPolicy {
        let cache = PolicyCache(source: ScriptedPolicy(tables))
        let authenticator = CacheAuthenticator(cache: cache)
        let forms = BrowserForms(
            ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ScriptedLedger(), now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 7, count: $0) }))
        do {
            let context = RequestContext.test(try await authenticator.authenticate(Secret("k")))
            return try await forms.issue(forms.request(fields, in: context), in: context)
        } catch {
            if case .unproven(let gap) = error { Issue.record("no proof of \(gap): \(fields)") }
            throw error
        }
    }

    /// Whether the signature in a form is that of its policy.
    private func signs(_ policy: String, _ fields: [String: String], _ world: GeneratedWorld) throws -> Bool {
        let store = world.store
        switch world.scheme {
        case .ossV1:
            let code = HMACKey(Array(store.secret.utf8), algorithm: .sha1).authenticationCode(for: Array(policy.utf8))
            return fields["Signature"] == code.base64
        case .gcsV4RSA:
            let signature = try RSAPrivateKey(pem: store.secret).signature(of: Array(policy.utf8))
            return fields["x-goog-signature"] == Hex.encode(signature)
        default:
            let word = world.scheme == .awsV4 ? "AWS4" : world.scheme == .ossV4 ? "aliyun_v4" : "GOOG4"
            let prefix = world.scheme == .awsV4 ? "x-amz-" : world.scheme == .ossV4 ? "x-oss-" : "x-goog-"
            let scope = (fields[prefix + "credential"] ?? "").split(separator: "/").dropFirst().joined(separator: "/")
            return fields[prefix + "signature"] == store.derived(word, scope, policy)
        }
    }

    @Test(
        "signs no string of a client that leaves open what the grant does not",
        arguments: [Bucket.Scheme.awsV4, .awsV2, .ossV4, .ossV1, .gcsV4HMAC])
    func strings(scheme: Bucket.Scheme) async throws {
        let words: [RemoteSchemeTests.Words] = scheme == .ossV4 || scheme == .ossV1 ? [.ossV1, .ossV4] : [.awsV2]
        let remote = RemoteSchemeTests()
        var given = 0
        for number in 0..<(2 * Self.forms) {
            var world = try GeneratedWorld(seed: 991, number: number, scheme: scheme, delivery: .single)
            world.bucket.addressing = .path
            world.bucket.maxTTL = 604_800
            world.grant.conditions.maxTTL = world.chance(3) ? 800 : nil
            let word = words[number % words.count]
            let isGet = world.chance(2)
            var query: [(String, String)] = []
            if isGet {
                if world.chance(3) {
                    query.append(("response-content-disposition", world.chance(2) ? "attachment" : "inline"))
                }
                if world.chance(3) { query.append(("response-content-type", "text/html")) }
                if world.chance(3) { query.append(("versionId", "17")) }
            } else if world.chance(4) {
                query = [("uploads", "")]
            } else if world.chance(4) {
                query = [("partNumber", "1"), ("uploadId", "X1")]
            }
            let method = isGet ? "GET" : query.first?.0 == "uploads" ? "POST" : "PUT"
            // Only version 2 takes the string of a part for that of an object, which has a type.
            let isPart = query.first?.0 == "partNumber"
            let type =
                isGet
                ? nil
                : isPart
                    ? word == .ossV4 ? nil : "image/png"
                    : ["image/png", "video/mp4"].randomElement(using: &world.random)
            let length = word == .ossV4 && method == "PUT" && world.chance(2) ? (world.chance(2) ? 900 : 1001) : nil
            let tables = try world.tables(key: "alice")
            let string = try remote.string(word, method, query: query, type: type, length: length)
            let error = try await remote.error(string, word, tables, uploads: remote.startedUpload())
            if case .unproven(let gap)? = error { Issue.record("no proof of \(gap): \(world) \(query)") }
            guard error == nil else { continue }
            given += 1
            let conditions = world.grant.conditions
            #expect(conditions.maxTTL == nil, "longer than allowed")
            let isOpen = conditions.allowResponseContentType == true
            if isGet {
                let asked = Dictionary(uniqueKeysWithValues: query)
                #expect(asked["response-content-type"] == nil || isOpen)
                #expect(asked["versionId"] == nil || conditions.allowVersions == true)
                #expect(conditions.forceDownload != true || asked["response-content-disposition"] == "attachment")
                let restsOnParameters = [.awsV2, .ossV4, .ossV1].contains(scheme)
                #expect(restsOnParameters || isOpen && conditions.allowVersions == true && query.isEmpty)
            } else {
                #expect(conditions.requireContentMD5 != true || method == "POST", "\(world)")
                #expect(conditions.contentTypes == nil || type != "video/mp4", "\(world)")
                if let most = conditions.maxBytes {
                    let isBound = query.isEmpty && length.map { Int64($0) <= most } ?? false
                    let isOverlooked = query.isEmpty && world.bucket.allowsUnenforcedSize && word != .ossV4
                    #expect(isBound || isOverlooked && !world.hasByteQuota, "\(world) \(query)")
                }
                if world.hasByteQuota {
                    #expect(word == .ossV4 && (length != nil || method == "POST"), "\(world) \(query)")
                }
            }
        }
        #expect(given > Self.forms / 10)
    }
}

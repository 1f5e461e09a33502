import Signing
import Testing

@Suite("Signing key cache")
struct SigningKeyCacheTests {
    private let credential = SigningCredential(accessKeyID: "AKID", secretAccessKey: "s")

    private func url(_ key: SigningKeyV4, isOSS: Bool, at instant: SigningInstant) throws -> String {
        let address = try BucketAddress(endpoint: StoreEndpoint("https://h"), bucket: "b", addressing: .path)
        let request = PresignRequest(method: "GET", address: address, key: "k", expiresInSeconds: 60)
        return try isOSS
            ? OSSV4.presign(request, with: key, at: instant).url : AWSV4.presign(request, with: key, at: instant).url
    }

    @Test func tellsEverythingApartThatAKeyDependsOn() throws {
        let cache = SigningKeyCache(capacity: 100)
        let noon = try #require(SigningInstant(basic: "20240517T120000Z"))
        let tomorrow = try #require(noon.advanced(bySeconds: 86_400))
        let credentials = [
            credential, SigningCredential(accessKeyID: "AKID", secretAccessKey: "other"),
            SigningCredential(accessKeyID: "AKID", secretAccessKey: "s", securityToken: "t"),
            SigningCredential(accessKeyID: "AKID", secretAccessKey: "s", securityToken: ""),
            SigningCredential(accessKeyID: "AKID", secretAccessKey: "\u{E9}"),
            SigningCredential(accessKeyID: "AKID", secretAccessKey: "e\u{301}"),
        ]
        let scopes: [(CredentialScope, isOSS: Bool)] = [
            (.aws(region: "r"), false), (.aws(region: "q"), false), (.aws(region: "r", service: "s4"), false),
            (.oss(region: "r", product: "s3"), true),
        ]
        for _ in 0..<2 {
            for credential in credentials {
                for (scope, isOSS) in scopes {
                    for instant in [noon, tomorrow] {
                        let held = try cache.key(for: credential, scope: scope, at: instant)
                        let fresh = try SigningKeyV4(credential, scope: scope, at: instant)
                        #expect(try url(held, isOSS: isOSS, at: instant) == url(fresh, isOSS: isOSS, at: instant))
                    }
                }
            }
            #expect(cache.count == 48)
        }
    }

    @Test func neverHoldsMoreThanItsCapacityFromManyThreads() async throws {
        let cache = SigningKeyCache(capacity: 3)
        let start = try #require(SigningInstant(epochSeconds: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        let instant = try #require(start.advanced(bySeconds: (task + round) % 10 * 86_400))
                        let key = try cache.key(for: credential, scope: .aws(region: "r"), at: instant)
                        #expect(key.dayNumber == instant.dayNumber)
                        #expect(cache.count <= 3)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(cache.count == 3)
    }

    @Test func aKeyOfVersion2IsKeptPerCredential() throws {
        let cache = SigningKeyCache(capacity: 2)
        let vector = try #require(V2Vector.of("oss-v1-query", in: "oss_v1_query").first)
        for round in 0..<3 {
            let key = try cache.key(for: vector.inputs.credential)
            let signed = try OSSV1.presign(vector.inputs.presignRequest, with: key, at: vector.inputs.instant)
            #expect(signed.signature == vector.expected.signature)
            _ = try cache.key(for: SigningCredential(accessKeyID: "a\(round)", secretAccessKey: "s"))
            #expect(cache.count == 2)
        }
        // Equal as text, different as bytes.
        let secrets = ["\u{E9}", "e\u{301}"]
        let signatures = try secrets.map { secret in
            let key = try cache.key(for: SigningCredential(accessKeyID: "a", secretAccessKey: secret))
            return try OSSV1.presign(vector.inputs.presignRequest, with: key, at: vector.inputs.instant).signature
        }
        #expect(signatures[0] != signatures[1])
        let account = try #require(V2Vector.of("gcs-v2-rsa-query", in: "gcs_v2_query").first)
        let credential = SigningCredential(
            accessKeyID: account.inputs.accessKeyID, secretAccessKey: try #require(account.inputs.privateKeyPEM))
        let signed = try GCSV2.presign(
            account.inputs.presignRequest, with: cache.key(forServiceAccount: credential), at: account.inputs.instant)
        #expect(signed.signature == account.expected.signature)
    }
}

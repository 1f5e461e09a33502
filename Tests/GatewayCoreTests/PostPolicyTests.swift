import Bytes
import Foundation
import GatewayCore
import LibCrypto
import Signing
import TestSupport
import Testing

/// Forms permit everything that the grants permit, and nothing else.
@Suite(.timeLimit(.minutes(1))) struct PostPolicyTests {
    let source: ScriptedPolicy
    let cache: PolicyCache

    init() throws {
        var tables = ScriptedPolicy.Tables()
        tables.bucket = try Fixture.bucket()
        tables.credential = Fixture.credential()
        tables.grants = [try Fixture.grant(1)]
        tables.apiKeys = [
            APIKey(
                id: Fixture.id(900), prefix: "k", hash: Digest(), name: "n", principal: try Principal("user:alice"),
                createdAt: Fixture.now)
        ]
        source = ScriptedPolicy(tables)
        cache = PolicyCache(source: source)
    }

    static func fields(_ change: (inout PostPolicyRequest.Fields) -> Void = { _ in }) -> PostPolicyRequest.Fields {
        var fields = PostPolicyRequest.Fields()
        fields.bucket = "demo-bucket"
        fields.key = "team/a.png"
        fields.contentTypes = ["image/png"]
        fields.maxBytes = 10
        change(&fields)
        return fields
    }

    private func issue(
        _ ledger: ScriptedLedger = ScriptedLedger(), cache: PolicyCache? = nil,
        _ change: (inout PostPolicyRequest.Fields) -> Void = { _ in }
    ) async throws -> IssuedPostPolicy {
        let authenticator = CacheAuthenticator(cache: cache ?? self.cache)
        let forms = BrowserForms(
            ProvenIssuing(
                cache: cache ?? self.cache, authenticator: authenticator, ledger: ledger, now: { Fixture.now },
                randomBytes: { [UInt8](repeating: 0xff, count: $0) }))
        let context = RequestContext.test(try await authenticator.authenticate(Secret("k")))
        return try await forms.issue(
            forms.request(Self.fields(change), in: context), in: context
        )
    }

    /// The conditions of the signed policy, each as JSON text.
    private func conditions(of form: IssuedPostPolicy) throws -> Set<String> {
        let policy = try #require(form.fields.reveal().first { $0.name == "policy" }?.value)
        let bytes = try #require(Base64.decode(policy))
        let json = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let conditions = try #require(json["conditions"] as? [Any])
        return Set(
            try conditions.map {
                let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
                return String(decoding: try JSONSerialization.data(withJSONObject: $0, options: options), as: UTF8.self)
            })
    }

    @Test func `a form binds key, type, length and metadata, and is on record with its largest length`() async throws {
        let ledger = ScriptedLedger()
        let form = try await issue(ledger) { fields in
            fields.minBytes = 1
            fields.metadata = ["Owner": "alice"]
            fields.successActionStatus = 201
            fields.expiresIn = 60
        }
        let conditions = try conditions(of: form)
        for expected in [
            #"{"bucket":"demo-bucket"}"#, #"{"key":"team/a.png"}"#, #"{"Content-Type":"image/png"}"#,
            #"["content-length-range",1,10]"#, #"{"x-amz-meta-owner":"alice"}"#, #"{"success_action_status":"201"}"#,
        ] { #expect(conditions.contains(expected), "\(expected) in \(conditions)") }
        #expect(form.url == "https://s3.example.com/demo-bucket/")
        #expect(form.expiresIn == 60)
        let proposal = try #require(ledger.proposals.first)
        #expect(proposal.id == form.id)
        #expect(proposal.delivery == .postPolicy)
        #expect(proposal.method == "POST")
        #expect(proposal.contentLength == 10)
        #expect(proposal.contentType == "image/png")
        #expect(proposal.expiresAt == form.expiresAt)
        #expect(!"\(form)".contains("policy\""))
    }

    @Test func `a key that is left to the client begins as the grant does, and is recorded as no key can be`()
        async throws
    {
        let ledger = ScriptedLedger()
        let form = try await issue(ledger) { fields in (fields.key, fields.keyStartsWith) = (nil, "team/x/") }
        #expect(form.key == "team/x/${filename}")
        #expect(try conditions(of: form).contains(#"["starts-with","$key","team/x/"]"#))
        #expect(ledger.proposals.map(\.key.rawValue) == ["team/x/${filename}"])
        #expect(throws: GatewayError.self) { try ObjectKey("team/x/${filename}") }
    }

    @Test func `the gateway names the object once for all types`() async throws {
        source.set { $0.bucket?.scheme = .ossV4 }
        let form = try await issue { fields in
            (fields.key, fields.keyPrefix, fields.keyExtension) = (nil, "team/", "png")
            fields.contentTypes = ["image/png", "image/jpeg"]
        }
        #expect(form.key == "team/018f85ac-1b40-7fff-bfff-ffffffffffff.png")
        #expect(form.choice?.types == ["image/png", "image/jpeg"] && form.choice?.field == "x-oss-content-type")
        #expect(try conditions(of: form).contains(#"["in","$x-oss-content-type",["image/png","image/jpeg"]]"#))
        #expect(!form.fields.reveal().contains { $0.name.lowercased().hasSuffix("content-type") })
    }

    @Test(arguments: [
        ("team/", "team/x/", false), ("team/x/", "team/x/", false), ("", "team/x/", false),
        ("team/x/y/", "team/x/", true), ("team/x/${sub}/", "team/x/", true), ("team/xy/", "team/x/", true),
        ("team/x", "team/x/", true), ("team/", "", true), ("", "", false),
    ])
    func `one grant has to cover everything below`(prefix: String, below: String, isRefused: Bool) async throws {
        source.set { $0.grants = [try! Fixture.grant(1, on: prefix)] }
        try await expect(isRefused) { fields in (fields.key, fields.keyStartsWith) = (nil, below) }
    }

    @Test(arguments: [
        ("team/x/secret", true), ("team/x/y/z/", true), ("team/x/", true), ("team/", true), ("", true),
        ("team/x/${sub}/", true), ("team/xy/", false), ("team/x", false), ("team/${claim:none}/", true),
    ])
    func `no grant may deny a part of it`(prefix: String, isRefused: Bool) async throws {
        // The same where the principal has so many grants that not all are held.
        for others in [0, 300] {
            source.set { tables in
                tables.grants = [try! Fixture.grant(1), try! Fixture.grant(2, on: prefix, effect: .deny)]
                tables.grants += (0..<others).map { try! Fixture.grant(100 + $0, on: "other/\($0)/") }
            }
            try await expect(isRefused, cache: PolicyCache(source: source)) { fields in
                (fields.key, fields.keyStartsWith) = (nil, "team/x/")
            }
        }
    }

    @Test func `a deny for downloads, for others, or over, does not count`() async throws {
        source.set { tables in
            tables.grants = [
                try! Fixture.grant(1), try! Fixture.grant(2, on: "team/x/y", actions: [.getObject], effect: .deny),
                try! Fixture.grant(3, to: "user:bob", on: "team/x/y", effect: .deny),
                try! Fixture.grant(4, on: "team/x/y", effect: .deny, until: Fixture.now),
            ]
        }
        try await expect(false) { fields in (fields.key, fields.keyStartsWith) = (nil, "team/x/") }
    }

    @Test(arguments: [
        ("team/x/y", 99.5, 99), ("team/x/", 1, 1), ("team/", 600, 600), ("team/${claim:none}/", 99, 99),
        ("team/xy/", 99, 900), ("team/x/y", 0.9, 0),
    ])
    func `a form ends where a deny of a part of it begins`(prefix: String, start: TimeInterval, life: Int) async throws
    {
        source.set { tables in
            let begins = Fixture.now.addingTimeInterval(start)
            tables.grants = [
                try! Fixture.grant(1), try! Fixture.grant(2, on: prefix, effect: .deny, from: begins),
                try! Fixture.grant(3, on: prefix, effect: .deny, from: begins.addingTimeInterval(1)),
            ]
        }
        guard life > 0 else {
            return try await expect(true) { fields in (fields.key, fields.keyStartsWith) = (nil, "team/x/") }
        }
        let form = try await issue { fields in (fields.key, fields.keyStartsWith) = (nil, "team/x/") }
        #expect(form.expiresAt == Fixture.now.addingTimeInterval(TimeInterval(life)))
    }

    private func expect(
        _ isRefused: Bool, cache: PolicyCache? = nil, _ change: (inout PostPolicyRequest.Fields) -> Void
    ) async throws {
        let ledger = ScriptedLedger()
        if isRefused {
            await #expect(throws: GatewayError.accessDenied) { try await issue(ledger, cache: cache, change) }
            #expect(ledger.proposals.isEmpty)
        } else {
            _ = try await issue(ledger, cache: cache, change)
        }
    }

    @Test(arguments: [Int64(9), 10, 11])
    func `the largest file is within the grant's limit, at, below and above it`(maxBytes: Int64) async throws {
        source.set { $0.grants = [try! Fixture.grant(1, conditions: GrantConditions(maxBytes: 10))] }
        if maxBytes > 10 {
            await #expect(throws: GatewayError.entityTooLarge(maxBytes: 10)) {
                try await issue { $0.maxBytes = maxBytes }
            }
        } else {
            #expect(try await issue { $0.maxBytes = maxBytes }.expiresIn == 900)
        }
    }

    @Test func `every type has to be allowed`() async throws {
        source.set { tables in
            tables.bucket?.scheme = .ossV4
            tables.grants = [try! Fixture.grant(1, conditions: GrantConditions(contentTypes: ["image/*"]))]
        }
        _ = try await issue { $0.contentTypes = ["image/png", "image/gif"] }
        for (type, essence) in [("image/svg+xml", "image/svg+xml"), ("image/x+XML; a=b", "image/x+xml")] {
            let failure = ConditionFailure.scriptableContentType(essence, pattern: "image/*")
            await #expect(throws: GatewayError.conditionFailed(failure)) {
                try await issue { $0.contentTypes = ["image/png", type] }
            }
        }
    }

    @Test func `types of different grants are permitted together for the shorter life`() async throws {
        source.set { tables in
            tables.bucket?.scheme = .ossV4
            tables.grants = [
                try! Fixture.grant(1, conditions: GrantConditions(contentTypes: ["image/png"])),
                try! Fixture.grant(2, conditions: GrantConditions(contentTypes: ["image/gif"], maxTTL: 60)),
            ]
        }
        #expect(try await issue { $0.contentTypes = ["image/png", "image/gif"] }.expiresIn == 60)
    }

    @Test func `an MD5 that is demanded cannot be bound by a form`() async throws {
        source.set { $0.grants = [try! Fixture.grant(1, conditions: GrantConditions(requireContentMD5: true))] }
        let reason = "The grant requires an MD5, and a form binds none; ask for a presigned URL."
        await #expect(throws: GatewayError.notEnforceable(reason: reason)) { try await issue() }
    }

    @Test func `a quota of bytes reserves the end of the range`() async throws {
        source.set { tables in
            tables.quotas = [try! Fixture.quota(1), try! Fixture.quota(2, metric: .bytes, limit: 1000)]
        }
        let ledger = ScriptedLedger()
        _ = try await issue(ledger) { $0.maxBytes = 700 }
        #expect(ledger.proposals.first?.charges.map(\.amount) == [1, 700])
    }

    /// A form that leaves the key to the client admits one object per use; a quota reserves only for one.
    @Test(arguments: [Bucket.Scheme.awsV4, .ossV4, .ossV1, .gcsV4HMAC])
    func `no form is for more bytes than a quota reserved`(scheme: Bucket.Scheme) async throws {
        source.set { tables in
            tables.bucket?.scheme = scheme
            tables.quotas = [try! Fixture.quota(1), try! Fixture.quota(2, metric: .bytes, limit: 1000)]
        }
        for below in ["team/x/", "team/"] {
            let ledger = ScriptedLedger()
            let error = await #expect(throws: GatewayError.self) {
                try await issue(ledger) { fields in
                    (fields.key, fields.keyStartsWith, fields.maxBytes) = (nil, below, 10)
                }
            }
            #expect(error?.code == "NotEnforceable")
            guard case .notEnforceable(let reason) = error else { return }
            #expect(reason.contains("keyPrefix"))
            #expect(ledger.proposals.isEmpty)
        }
        for name: (inout PostPolicyRequest.Fields) -> Void in [
            { $0.key = "team/x" }, { fields in (fields.key, fields.keyPrefix) = (nil, "team/") },
        ] {
            let ledger = ScriptedLedger()
            _ = try await issue(ledger) { fields in
                fields.maxBytes = 10
                name(&fields)
            }
            #expect(ledger.proposals.first?.charges.map(\.amount) == [1, 10])
        }
        source.change([.all]) { $0.quotas = [try! Fixture.quota(1)] }
        _ = try await issue { fields in (fields.key, fields.keyStartsWith) = (nil, "team/x/") }
    }

    @Test(arguments: Bucket.Scheme.allCases) func `each scheme has its own forms, or none`(
        scheme: Bucket.Scheme
    ) async throws {
        source.set { tables in
            tables.bucket?.scheme = scheme
            if scheme.credentialKind == .serviceAccount { tables.credential?.secretAccessKey = Secret(TestKey.pem) }
        }
        let signature: String? =
            switch scheme {
            case .awsV4: "x-amz-signature"
            case .ossV4: "x-oss-signature"
            case .gcsV4RSA, .gcsV4HMAC: "x-goog-signature"
            case .ossV1: "Signature"
            case .awsV2, .gcsV2RSA: nil
            }
        let ledger = ScriptedLedger()
        if let signature {
            let form = try await issue(ledger)
            #expect(form.fields.reveal().contains { $0.name == signature })
            if ![.ossV4, .ossV1].contains(scheme) {
                let error = await #expect(throws: GatewayError.self) {
                    try await issue(ledger) { $0.contentTypes = ["image/png", "image/gif"] }
                }
                #expect(error?.code == "NotEnforceable")
            }
        } else {
            let error = await #expect(throws: GatewayError.self) { try await issue(ledger) }
            #expect(error?.code == "NotEnforceable")
            #expect(ledger.proposals.isEmpty)
        }
    }

    @Test func `without a row there is no form`() async throws {
        for answer in [GatewayError.unavailable(retryAfter: 1), .slowDown(retryAfter: 1)] {
            let ledger = ScriptedLedger { _, _ throws(GatewayError) in throw answer }
            await #expect(throws: answer) { try await issue(ledger) }
        }
        let revoking = ScriptedLedger { [source] _, _ in
            source.change([.principal(try! Principal("user:alice"))]) { $0.grants = [] }
            return .stale
        }
        await #expect(throws: GatewayError.accessDenied) { try await issue(revoking) }
    }

    struct BadForm: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout PostPolicyRequest.Fields) -> Void

        init(_ field: String, _ change: @escaping @Sendable (inout PostPolicyRequest.Fields) -> Void) {
            testDescription = field
            self.change = change
        }
    }

    @Test(arguments: [
        BadForm("bucket") { $0.bucket = nil }, BadForm("key") { $0.key = nil }, BadForm("key") { $0.key = "a//b" },
        BadForm("key") { $0.key = "a/${filename}" }, BadForm("maxBytes") { $0.maxBytes = nil },
        BadForm("maxBytes") { $0.maxBytes = -1 }, BadForm("maxBytes") { $0.maxBytes = 5 << 30 + 1 },
        BadForm("minBytes") { $0.minBytes = 11 }, BadForm("minBytes") { $0.minBytes = -1 },
        BadForm("contentTypes") { $0.contentTypes = nil }, BadForm("contentTypes") { $0.contentTypes = [] },
        BadForm("contentTypes") { $0.contentTypes = ["a/b", "a/b"] },
        BadForm("contentTypes[1]") { $0.contentTypes = ["a/b", "image/*"] },
        BadForm("contentTypes") { $0.contentTypes = (0...20).map { "a/\($0)" } },
        BadForm("expiresIn") { $0.expiresIn = 0 }, BadForm("metadata") { $0.metadata = ["a b": "c"] },
        BadForm("successActionStatus") { $0.successActionStatus = 303 },
        BadForm("keyStartsWith") { $0.keyStartsWith = "team/" },
        BadForm("keyStartsWith") { fields in (fields.key, fields.keyStartsWith) = (nil, "team") },
        // A name of 36 bytes has no room behind it.
        BadForm("keyStartsWith") { fields in
            (fields.key, fields.keyStartsWith) = (nil, String(repeating: "a", count: 987) + "/")
        },
        BadForm("keyStartsWith") { fields in (fields.key, fields.keyStartsWith) = (nil, "../") },
        BadForm("keyStartsWith") { fields in (fields.key, fields.keyStartsWith) = (nil, "/") },
        BadForm("keyStartsWith") { fields in (fields.key, fields.keyStartsWith) = (nil, "${sub}/") },
        BadForm("keyExtension") { $0.keyExtension = "png" },
    ])
    func `a malformed field is named`(bad: BadForm) {
        let fields = Self.fields(bad.change)
        #expect(refusedField { try PostPolicyRequest(fields) { Fixture.id(1) } } == bad.testDescription)
    }
}

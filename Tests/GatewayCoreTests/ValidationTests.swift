import Foundation
import GatewayCore
import LibCrypto
import TestSupport
import Testing

@Suite struct ValidationTests {
    struct Flaw<Row: Sendable>: Sendable, CustomTestStringConvertible {
        let field: String?
        let change: @Sendable (inout Row) -> Void

        init(_ field: String?, _ change: @escaping @Sendable (inout Row) -> Void) {
            self.field = field
            self.change = change
        }

        var testDescription: String { field ?? "good" }
    }

    @Test(
        arguments: [
            Flaw(nil) { _ in }, Flaw(nil) { $0.maxTTL = 604_800 }, Flaw("maxTTL") { $0.maxTTL = 604_801 },
            Flaw("maxTTL") { $0.maxTTL = 0 }, Flaw("defaultTTL") { $0.defaultTTL = 0 },
            Flaw(nil) { $0.defaultTTL = 604_800 },
            Flaw("defaultTTL") {
                $0.defaultTTL = 901
                $0.maxTTL = 900
            },
            Flaw("region") { $0.region = "" }, Flaw("region") { $0.region = "eu/west" },
            Flaw("region") { $0.region = "é" },
            Flaw("region") { $0.region = String(repeating: "a", count: 65) },
            Flaw("endpoint") { $0.endpoint = "s3.example.com" },
            Flaw("endpoint") { $0.endpoint = "ftp://s3.example.com" },
            Flaw("endpoint") { $0.endpoint = "https://h/path" },
            Flaw("endpoint") { $0.endpoint = "https://user@h" }, Flaw("endpoint") { $0.endpoint = "https://h?x" },
            Flaw("endpoint") { $0.endpoint = "https://h:0" }, Flaw("endpoint") { $0.endpoint = "https://" },
            Flaw("endpoint") { $0.endpoint = "https://h\r\nx" }, Flaw(nil) { $0.endpoint = "http://127.0.0.1:9000" },
            Flaw("addressing") {
                $0.endpoint = "http://127.0.0.1:9000"
                $0.addressing = .virtual
            },
            Flaw(nil) { $0.addressing = .virtual },
            Flaw(nil) { $0.scheme = .awsV2 }, Flaw("scheme") { $0.scheme = .ossV4 },
            Flaw("scheme") { $0.provider = .oss }, Flaw("scheme") { $0.provider = .gcs },
            Flaw("scheme") { ($0.provider, $0.scheme) = (.aws, .gcsV4HMAC) },
            Flaw(nil) { ($0.provider, $0.scheme, $0.addressing) = (.oss, .ossV1, .virtual) },
            Flaw(nil) { ($0.provider, $0.scheme, $0.addressing) = (.oss, .ossV4, .cname) },
            Flaw("addressing") { ($0.provider, $0.scheme) = (.oss, .ossV4) },
            Flaw(nil) { ($0.provider, $0.scheme, $0.endpoint) = (.oss, .ossV4, "http://192.0.2.1:8080") },
            Flaw("region") {
                ($0.provider, $0.scheme, $0.addressing, $0.region) = (.oss, .ossV4, .virtual, "oss-cn-hangzhou")
            },
            Flaw(nil) { ($0.provider, $0.scheme) = (.gcs, .gcsV4RSA) },
            Flaw("endpoint") { $0.endpoint = "https://s3.oss-cn-hangzhou.aliyuncs.com" },
            Flaw("publicEndpoints.default.url") {
                $0.publicEndpoints = [.default: PublicEndpoint(url: "https://oss-cn-hangzhou.aliyuncs.com:443")]
            },
            Flaw(nil) { $0.endpoint = "https://oss-cn-hangzhou.aliyuncs.com.example" },
            Flaw(nil) { $0.endpoint = "https://s3-aliyuncs.com" },
        ] as [Flaw<Bucket>])
    func `a bucket`(flaw: Flaw<Bucket>) throws {
        var bucket = try Fixture.bucket()
        flaw.change(&bucket)
        #expect(refusedField { try bucket.validated() } == flaw.field)
    }

    @Test(
        arguments: [
            Flaw(nil) { _ in },
            Flaw("serviceAccount.client_email") { $0.accessKeyID = "no-address" },
            Flaw("serviceAccount.client_email") { $0.accessKeyID = "a@b@c" },
            Flaw("serviceAccount.client_email") { $0.accessKeyID = "a/b@c" },
            Flaw("serviceAccount.private_key") { $0.secretAccessKey = Secret("secret") },
            Flaw("serviceAccount.private_key") {
                $0.secretAccessKey = Secret(TestKey.pem.replacing("MIIEvQIBADANBgkqhkiG9w0BAQEF", with: "MIIE"))
            },
            Flaw("serviceAccount.private_key") {
                $0.secretAccessKey = Secret(TestKey.pem + String(repeating: "x", count: 20_000))
            },
            Flaw("sessionToken") { $0.sessionToken = Secret("t") },
        ] as [Flaw<StorageCredential>])
    func `a service account`(flaw: Flaw<StorageCredential>) throws {
        var credential = StorageCredential(
            id: Fixture.id(500), name: "gcs", kind: .serviceAccount,
            accessKeyID: "signer@p.iam.gserviceaccount.com",
            secretAccessKey: Secret(TestKey.pem), createdAt: Fixture.now
        )
        flaw.change(&credential)
        #expect(refusedField { try credential.validated() } == flaw.field)
    }

    @Test func `a bucket with dots goes into the path, but for plain HTTP`() throws {
        func field(_ endpoint: String, _ addressing: Bucket.Addressing) -> String? {
            refusedField { try Fixture.bucket("a.b.c", endpoint: endpoint, addressing: addressing).validated() }
        }
        #expect(field("https://s3.example.com", .virtual) == "addressing")
        #expect(field("http://s3.example.com", .virtual) == nil)
        #expect(field("https://s3.example.com", .path) == nil)
        #expect(field("https://cdn.example.com", .cname) == nil)
    }

    /// Google Cloud Storage has such names.
    @Test func `a bucket with an underscore goes into the path`() throws {
        func field(_ addressing: Bucket.Addressing) -> String? {
            refusedField { try Fixture.bucket("my_app_uploads", addressing: addressing).validated() }
        }
        #expect(field(.virtual) == "addressing")
        #expect(field(.path) == nil)
        #expect(field(.cname) == nil)
        for name in ["_my", "my_", "my-app_", "My_app"] { #expect(throws: GatewayError.self) { try BucketName(name) } }
    }

    /// A name of as many bytes, with the longest labels.
    private static func host(_ count: Int) -> String {
        repeated(repeated("a", 63) + ".", 3) + repeated("b", count - 192)
    }

    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    @Test(
        arguments: [
            ("https://\(host(253))", true), ("https://\(host(253)):65535/", true), ("https://\(host(254))", false),
            ("https://\(repeated("a", 63)).example", true), ("https://\(repeated("a", 64)).example", false),
            ("https://\(repeated("a.", 10_000))example", false), ("https://h\(repeated("/", 259))", true),
            ("https://h\(repeated("/", 260))", false), ("https://h:\(repeated("0", 300))1", false),
            ("https://a..example", false), ("https://.example", false), ("https://s3.example.", false),
            ("https://oss-cn-hangzhou.aliyuncs.com.", false), ("https://-a_b..example", false),
            ("https://-a.example", false), ("https://a-.example", false), ("https://a--b.example", true),
            ("http://minio", true), ("http://minio:9000", true), ("http://app_minio_1:9000", true),
            ("http://_minio", true), ("http://minio.default.svc.cluster.local", true), ("http://192.0.2.1:9000", true),
            ("http://192.0.2..1", false), ("http://[2001:db8::1]:9000", true),
        ] as [(String, Bool)])
    func `a host has the lengths that names can have`(endpoint: String, isAccepted: Bool) throws {
        let bucket = try Fixture.bucket(endpoint: endpoint, addressing: .path)
        #expect(refusedField { try bucket.validated() } == (isAccepted ? nil : "endpoint"))
        var other = try Fixture.bucket(addressing: .path)
        other.publicEndpoints = [.default: PublicEndpoint(url: endpoint)]
        #expect(refusedField { try other.validated() } == (isAccepted ? nil : "publicEndpoints.default.url"))
        let role = SessionRole(
            roleARN: "arn:aws:iam::123456789012:role/app", service: .aws, endpoint: endpoint, region: "r")
        #expect(refusedField { try role.validated() } == (isAccepted ? nil : "sessionRole.endpoint"))
    }

    @Test func `a bucket's name in front must leave the host a name`() throws {
        for (count, field) in [(253 - 5, nil), (254 - 5, "addressing")] as [(Int, String?)] {
            let bucket = try Fixture.bucket("demo", endpoint: "https://" + Self.host(count), addressing: .virtual)
            #expect(refusedField { try bucket.validated() } == field)
        }
    }

    @Test func `an endpoint is kept in one form`() throws {
        #expect(
            try Fixture.bucket(endpoint: "HTTPS://S3.Example.com:443/").validated().endpoint == "https://s3.example.com"
        )
    }

    @Test(
        arguments: [
            Flaw(nil) { _ in }, Flaw("name") { $0.name = "" }, Flaw("name") { $0.name = "a\nb" },
            Flaw("accessKeyID") { $0.accessKeyID = "" }, Flaw("accessKeyID") { $0.accessKeyID = "a/b" },
            Flaw("accessKeyID") { $0.accessKeyID = "a b" }, Flaw("secretAccessKey") { $0.secretAccessKey = Secret("") },
            Flaw("secretAccessKey") { $0.secretAccessKey = Secret("a\n") },
            Flaw("sessionToken") { $0.sessionToken = Secret("") },
            Flaw("expiresAt") { $0.expiresAt = Fixture.now }, Flaw(nil) { $0.sessionToken = Secret("t") },
        ] as [Flaw<StorageCredential>])
    func `a storage credential`(flaw: Flaw<StorageCredential>) {
        var credential = Fixture.credential()
        flaw.change(&credential)
        #expect(refusedField { try credential.validated() } == flaw.field)
    }

    @Test func `a session role has the name that its service gives to roles`() {
        func field(_ roleARN: String, _ service: SessionRole.Service = .aws) -> String? {
            refusedField {
                _ = try SessionRole(
                    roleARN: roleARN, service: service, endpoint: "https://sts.example.com", region: "r"
                ).validated()
            }
        }
        for name in [
            "arn:aws:iam::123456789012:role/app", "arn:aws-cn:iam::123456789012:role/path/app",
            "arn:aws-us-gov:iam::123456789012:role/a:b", "arn:aws:iam:::role/app", "arn:aws:iam::tenant:role/app",
            "arn:aws:iam::role/app", "arn:minio:iam:::role/app",
        ] { #expect(field(name) == nil, "\(name)") }
        for name in [
            "", "arn:", "arn:aws:iam::1:role/", "arn:aws:iam::1:user/a", "arn:aws:iam::1:user/a:role/b",
            "arn:aws:sts::1:role/a", "arn:aws-*:iam::1:role/a", "arn:AWS:iam::1:role/a", "arn::iam::1:role/a",
            "arn:aws:s3:::b/:role/a", "acs:ram::1:role/a", "xarn:aws:iam::1:role/a", "arn:aws:iam::1:role/a b",
        ] { #expect(field(name) == "sessionRole.roleARN", "\(name)") }
        #expect(field("acs:ram::1:role/a", .alibaba) == nil && field("acs:ram::1:role/a", .alibabaRPC) == nil)
        for name in ["arn:aws:iam::1:role/a", "acs:ram::1:role/", "acs:oss::1:role/a", "acs:ram:x:1:role/a"] {
            #expect(field(name, .alibaba) == "sessionRole.roleARN", "\(name)")
        }
    }

    @Test(
        arguments: [
            Flaw(nil) { _ in }, Flaw("actions") { $0.actions = [] }, Flaw("note") { $0.note = "a\u{0}" },
            Flaw("note") { $0.note = String(repeating: "a", count: 1001) }, Flaw(nil) { $0.note = "line\n\tline" },
            Flaw("notAfter") {
                $0.notBefore = Fixture.now
                $0.notAfter = Fixture.now
            },
            Flaw(nil) {
                $0.notBefore = Fixture.now
                $0.notAfter = Fixture.now + 1
            },
            Flaw("conditions") {
                $0.effect = .deny
                $0.conditions.maxTTL = 5
            },
            Flaw(nil) { $0.effect = .deny }, Flaw("conditions.maxTTL") { $0.conditions.maxTTL = 0 },
            Flaw("conditions.maxTTL") { $0.conditions.maxTTL = 604_801 }, Flaw(nil) { $0.conditions.maxTTL = 604_800 },
            Flaw("conditions.maxBytes") { $0.conditions.maxBytes = -1 }, Flaw(nil) { $0.conditions.maxBytes = 0 },
            Flaw(nil) { $0.conditions.maxBytes = 5 << 40 },
            Flaw("conditions.maxBytes") { $0.conditions.maxBytes = 5 << 40 + 1 },
            Flaw("conditions.contentTypes") { $0.conditions.contentTypes = [] },
            Flaw("conditions.contentTypes") { $0.conditions.contentTypes = ["*/*"] },
            Flaw("conditions.contentTypes") { $0.conditions.contentTypes = ["*/png"] },
            Flaw("conditions.contentTypes") { $0.conditions.contentTypes = ["image/p*"] },
            Flaw("conditions.contentTypes") { $0.conditions.contentTypes = ["text/plain; charset=utf-8"] },
            Flaw("conditions.contentTypes") { $0.conditions.contentTypes = Array(repeating: "a/b", count: 65) },
            Flaw(nil) { $0.conditions.contentTypes = Array(repeating: "a/b", count: 64) },
            Flaw("conditions.sourceCIDRs") { $0.conditions.sourceCIDRs = [] },
            Flaw("conditions.sourceCIDRs") { $0.conditions.sourceCIDRs = ["10.0.0.1/8"] },
            Flaw("conditions.contentTypes") {
                $0.actions = [.getObject]
                $0.conditions.contentTypes = ["a/b"]
            },
            Flaw("conditions.forceDownload") {
                $0.actions = [.putObject]
                $0.conditions.forceDownload = true
            },
            Flaw("conditions.allowVersions") {
                $0.actions = [.putObject]
                $0.conditions.allowVersions = true
            },
        ] as [Flaw<Grant>])
    func `a grant`(flaw: Flaw<Grant>) throws {
        var grant = try Fixture.grant(1)
        flaw.change(&grant)
        #expect(refusedField { try grant.validated() } == flaw.field)
    }

    @Test func `content types are kept in lower case`() throws {
        let grant = try Fixture.grant(1, conditions: GrantConditions(contentTypes: ["Image/*", "TEXT/Html"]))
            .validated()
        #expect(grant.conditions.contentTypes == ["image/*", "text/html"])
    }

    @Test func `conditions have one form, however they are written`() throws {
        func kept(_ conditions: GrantConditions, _ effect: Grant.Effect = .allow) throws -> GrantConditions {
            try Fixture.grant(1, effect: effect, conditions: conditions).validated().conditions
        }
        let none = GrantConditions(
            requireContentMD5: false, forceDownload: false, allowResponseContentType: false, allowVersions: false)
        #expect(try kept(none) == GrantConditions())
        #expect(try kept(none, .deny) == GrantConditions())
        let some = GrantConditions(
            requireContentMD5: true, forceDownload: true, allowResponseContentType: true, allowVersions: true)
        #expect(try kept(some) == some)
        let lists = try kept(
            GrantConditions(
                contentTypes: ["text/Plain", "image/*", "text/plain"],
                sourceCIDRs: ["10.0.0.1/32", "2001:DB8:0::/32", "10.0.0.1", "::ffff:10.0.0.0/104", "0.0.0.0/0", "::/0"])
        )
        #expect(lists.contentTypes == ["image/*", "text/plain"])
        #expect(lists.sourceCIDRs == ["0.0.0.0/0", "10.0.0.0/8", "10.0.0.1", "2001:db8::/32", "::/0"])
        #expect(try kept(lists) == lists)
    }

    @Test func `a quota of bytes is for uploads`() throws {
        #expect(try Fixture.quota(1, metric: .bytes).validated().action == .putObject)
        #expect(try Fixture.quota(1, metric: .urls).validated().action == nil)
        #expect(refusedField { try Fixture.quota(1, action: .getObject, metric: .bytes).validated() } == "action")
        #expect(refusedField { try Fixture.quota(1, limit: -1).validated() } == "limit")
        #expect(try Fixture.quota(1, limit: 0).validated().limit == 0)
    }

    @Test func `a member is a user in a group`() throws {
        let (user, group) = (try Principal("user:a"), try Principal("group:a"))
        func field(_ group: Principal, _ member: Principal) -> String? {
            refusedField { try GroupMember(group: group, member: member, createdAt: Fixture.now).validated() }
        }
        #expect(field(group, user) == nil)
        #expect(field(user, user) == "group")
        #expect(field(.anyone, user) == "group")
        #expect(field(group, group) == "member")
        #expect(field(group, .anyone) == "member")
    }

    @Test(
        arguments: [
            Flaw(nil) { _ in }, Flaw("issuer") { $0.issuer = "" }, Flaw("audiences") { $0.audiences = [] },
            Flaw("audiences") { $0.audiences = [""] }, Flaw("algorithms") { $0.algorithms = [] },
            Flaw("algorithms") { $0.algorithms = ["none"] }, Flaw("algorithms") { $0.algorithms = ["rs256"] },
            Flaw("algorithms") { $0.algorithms = ["RS256", "HS256"] }, Flaw("algorithms") { $0.algorithms = ["HS256"] },
            Flaw("algorithms") { $0.algorithms = ["RS256", "RS256"] },
            Flaw("algorithms") { $0.keys = .secret(Secret(String(repeating: "s", count: 32))) },
            Flaw(nil) {
                $0.keys = .secret(Secret(String(repeating: "s", count: 32)))
                $0.algorithms = ["HS256"]
            },
            Flaw("keys.secret") {
                $0.keys = .secret(Secret(String(repeating: "s", count: 31)))
                $0.algorithms = ["HS256"]
            },
            Flaw("keys.url") { $0.keys = .url("file:///etc/passwd") },
            Flaw("keys.url") { $0.keys = .url("https://a b") },
            Flaw("keys.url") { $0.keys = .url("https://user:pw@id.example/keys") },
            Flaw("keys.url") { $0.keys = .url("https://id.example/a\\keys") },
            Flaw("keys.url") { $0.keys = .url("https:///keys") },
            Flaw("keys.url") { $0.keys = .url("https://id.example:0/keys") },
            Flaw("keys.url") { $0.keys = .url("https://id.example/" + String(repeating: "k", count: 2030)) },
            Flaw(nil) { $0.keys = .url("http://[::1]:8080/keys?v=1") },
            Flaw("keys.inline") { $0.keys = .inline("") }, Flaw("principalPrefix") { $0.principalPrefix = "a\u{0}" },
            Flaw("groupPrefix") { $0.groupPrefix = String(repeating: "a", count: 129) },
            Flaw("subjectClaim") { $0.subjectClaim = "" }, Flaw("groupsClaim") { $0.groupsClaim = "" },
            Flaw("usableClaims") { $0.usableClaims = ["sub"] }, Flaw("usableClaims") { $0.usableClaims = ["a/b"] },
            Flaw(nil) { $0.usableClaims = ["tenant", "org.id"] },
            Flaw(nil) { $0.usableClaims = [String(repeating: "a", count: 128)] },
            Flaw("usableClaims") { $0.usableClaims = [String(repeating: "a", count: 129)] },
            Flaw("rolesClaim") { $0.roles = [.init(role: .admin, values: ["a"])] },
            Flaw(nil) { $0.console = ConsoleSignIn(clientID: "c", send: .idToken) },
            Flaw("console.clientID") { $0.console = ConsoleSignIn(clientID: "", send: .idToken) },
            Flaw("console.clientID") { $0.console = ConsoleSignIn(clientID: "a\nb", send: .idToken) },
            Flaw("console.scopes") { $0.console = ConsoleSignIn(clientID: "c", scopes: [], send: .accessToken) },
            Flaw("console.scopes") {
                $0.console = ConsoleSignIn(clientID: "c", scopes: ["openid", "a b"], send: .accessToken)
            },
            Flaw("console.scopes") {
                $0.console = ConsoleSignIn(clientID: "c", scopes: ["openid", "\""], send: .accessToken)
            },
            Flaw("console.scopes") {
                $0.console = ConsoleSignIn(clientID: "c", scopes: ["openid", "a", "a"], send: .accessToken)
            },
            Flaw(nil) {
                $0.console = ConsoleSignIn(clientID: "c", scopes: ["openid", "api://x/.default"], send: .accessToken)
            },
            Flaw("console.scopes") {
                $0.console = ConsoleSignIn(clientID: "c", scopes: ["api://x/.default"], send: .accessToken)
            },
            Flaw("console.scopes") { $0.console = ConsoleSignIn(clientID: "c", scopes: ["email"], send: .idToken) },
            Flaw("console.tokenEndpoint") {
                $0.console = ConsoleSignIn(clientID: "c", tokenEndpoint: "http://id.example/t", send: .idToken)
            },
            Flaw("console.authorizationEndpoint") {
                $0.console = ConsoleSignIn(clientID: "c", authorizationEndpoint: "https://a.example/#x", send: .idToken)
            },
            Flaw("console") {
                $0.issuer = "backend"
                $0.console = ConsoleSignIn(clientID: "c", tokenEndpoint: "https://id.example/t", send: .idToken)
            },
            Flaw("console") {
                $0.issuer = "https://user:pw@id.example"
                $0.console = ConsoleSignIn(clientID: "c", send: .idToken)
            },
            Flaw(nil) {
                $0.issuer = "backend"
                $0.console = ConsoleSignIn(
                    clientID: "c", authorizationEndpoint: "http://localhost:9/a?x=1",
                    tokenEndpoint: "http://127.0.0.2/t",
                    send: .idToken)
            },
        ] as [Flaw<Issuer>])
    func `an issuer`(flaw: Flaw<Issuer>) {
        var issuer = Issuer(
            id: Fixture.id(1), issuer: "https://id.example.com", audiences: ["sluice"], algorithms: ["RS256", "EdDSA"],
            keys: .url("https://id.example.com/keys"), principalPrefix: "", groupPrefix: "", createdAt: Fixture.now
        )
        flaw.change(&issuer)
        #expect(refusedField { try issuer.validated() } == flaw.field)
    }

    @Test(
        arguments: [
            ("https://id.example/token?a=b", "https://id.example", true),
            ("https://ID.example:443", "https://id.example", true),
            ("http://id.example:8080/x", "http://id.example:8080", false),
            ("http://localhost", "http://localhost", true),
            ("http://127.1.2.3:80/", "http://127.1.2.3", true), ("http://[::1]:9/", "http://[::1]:9", true),
            ("http://128.0.0.1/", "http://128.0.0.1", false),
            ("http://localhost.example/", "http://localhost.example", false),
            ("https://user@id.example/", nil, false),
            ("https://id.example\\@evil.example/", "https://id.example", true),
            ("javascript:alert(1)", nil, false), ("https://", nil, false), ("https://a b/", nil, false),
            ("https://a;b/", nil, false), ("https://a,b/", nil, false), ("https://'self'/", nil, false),
            ("HTTPS://id.example", nil, false), ("//id.example", nil, false), ("https://id.example:0/", nil, false),
        ] as [(String, String?, Bool)])
    func `an origin is read as browsers write it`(url: String, text: String?, isTrustworthy: Bool) {
        #expect(WebOrigin(ofURL: url)?.text == text)
        #expect(WebOrigin(ofURL: url)?.isTrustworthy ?? false == isTrustworthy)
    }

    @Test(arguments: [
        ("HTTPS://Sluice.example:443/", "https://sluice.example"), ("http://a.example:443", "http://a.example:443"),
        ("https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443"), ("https://a.example/b", nil),
        ("https://a.example?b", nil), ("a.example", nil),
    ])
    func `an origin may be spelt in any way`(text: String, origin: String?) {
        #expect(WebOrigin(text)?.text == origin)
    }

    @Test func `an API key speaks for a user`() throws {
        func field(_ principal: String, _ groups: [String] = [], name: String = "n") -> String? {
            refusedField {
                try APIKey(
                    id: Fixture.id(1), prefix: "p", hash: Digest(), name: name, principal: Principal(principal),
                    groups: groups.map { try Principal($0) }, createdAt: Fixture.now
                ).validated()
            }
        }
        #expect(field("user:a", ["group:b"]) == nil)
        #expect(field("*") == "principal")
        #expect(field("user:bootstrap-admin") == "principal")
        #expect(field("group:a") == "principal")
        #expect(field("user:a", ["user:b"]) == "groups")
        #expect(field("user:a", name: "") == "name")
    }

    @Test(arguments: [
        ("*", true), ("a/*", true), ("a/b/*", true), ("a*", false), ("a/b*", false), ("a/*/", false), ("a/**", false),
        ("", false), ("a/", false), ("*/a", false),
    ])
    func `a prefix that ends like a pattern is refused, and other stars are part of a key`(
        prefix: String, isRefused: Bool
    ) throws {
        for effect in Grant.Effect.allCases {
            let grant = try Fixture.grant(1, on: prefix, effect: effect)
            #expect(refusedField { try grant.validated() } == (isRefused ? "prefix" : nil))
            let below = try Fixture.grant(1, on: "${sub}/\(prefix)", effect: effect)
            #expect(refusedField { try below.validated() } == (isRefused ? "template" : nil))
        }
    }
}

import Foundation
import Signing
import TestSupport
import Testing

@testable import GatewayCore

/// Links to a content delivery network that checks them itself.
@Suite struct CDNLinkTests {
    private static let secret = "sharedsecret1234"
    private static let unbound = GrantConditions(allowResponseContentType: true, allowVersions: true)

    /// A bucket with a CDN, its credentials and a request.
    private struct World {
        var bucket: Bucket
        var grant: Grant
        var cdnCredential: StorageCredential?
        var fields = IssueRequest.Fields()
        var delivery = Delivery.presignedURL
        var address: String? = "203.0.113.7"

        init(
            _ scheme: CDNSigning.Scheme, conditions: GrantConditions = CDNLinkTests.unbound,
            _ change: (inout CDNSigning) -> Void = { _ in }
        ) throws {
            var signing = CDNSigning(scheme: scheme, credentialID: Fixture.id(600))
            change(&signing)
            bucket = try Fixture.bucket()
            bucket.allowsRedirects = true
            bucket.publicEndpoints[.cdn] = PublicEndpoint(url: "https://cdn.example", signing: signing)
            grant = try Fixture.grant(1, actions: Set(Action.allCases), conditions: conditions)
            cdnCredential = CDNLinkTests.credential(scheme.credentialKind)
            (fields.action, fields.bucket, fields.key, fields.endpoint) = (
                "GetObject", "demo-bucket", "team/cat z", "cdn"
            )
        }

        func policy() throws -> AccessPolicy {
            AccessPolicy(
                position: Fixture.position,
                principals: [
                    PrincipalPolicy(principal: try Principal("user:alice"), rows: PrincipalRows(grants: [grant]))
                ],
                bucket: bucket, credential: Fixture.credential(), cdnCredential: cdnCredential, scopes: [])
        }

        func request() throws -> IssueRequest { try IssueRequest(fields, delivery: delivery) }

        func decision(at instant: Date = Fixture.now) throws -> Verdict<Permit> {
            try Fixture.decided(request(), under: policy(), from: address, at: instant)
        }

        func url(at instant: Date = Fixture.now) throws -> String {
            try URLSigner().url(for: request(), by: decision(at: instant).permit).reveal()
        }
    }

    private static func credential(_ kind: StorageCredential.Kind) -> StorageCredential {
        StorageCredential(
            id: Fixture.id(600), name: "cdn", kind: kind,
            accessKeyID: kind == .keyPair ? "K2JCJMDEHXQW5F" : "main",
            secretAccessKey: Secret(kind == .keyPair ? TestKey.pem : secret), createdAt: Fixture.now)
    }

    private static let beginnings: [(CDNSigning.Scheme, String)] = [
        (.cloudFront, "https://cdn.example/team/cat%20z?Expires=1715935500&Signature="),
        (.alibabaA, "https://cdn.example/team/cat%20z?auth_key=1715933699-0-0-"),
        (.alibabaB, "https://cdn.example/202405171614/"),
        (.alibabaC, "https://cdn.example/"),
        (.nginxSecureLink, "https://cdn.example/team/cat%20z?md5="),
    ]

    @Test("a download names the CDN, is signed by its credential, and lives as decided", arguments: beginnings)
    func downloads(scheme: CDNSigning.Scheme, beginning: String) throws {
        var world = try World(scheme)
        for delivery in [Delivery.presignedURL, .redirect] {
            world.delivery = delivery
            let permit = try world.decision().permit
            #expect(permit.credential.id == Fixture.id(600) && permit.bucket.credentialID == Fixture.id(600))
            #expect(permit.headers.isEmpty && permit.query.isEmpty && permit.sourceAddress == nil)
            #expect(permit.bucket.linkScheme == .cdn(scheme))
            #expect(permit.expiresIn == (scheme == .alibabaB ? 841 : 900))
            let url = try world.url()
            #expect(url.hasPrefix(beginning), "\(url)")
        }
        world.fields.endpoint = nil
        let own = try world.decision().permit
        #expect(own.credential.id == Fixture.id(500) && own.bucket.linkScheme == .store(.awsV4))
        #expect(try world.url().hasPrefix("https://s3.example.com/demo-bucket/team/cat%20z?X-Amz"))
    }

    @Test("at Alibaba OSS, a CDN that signs no query must drop it", arguments: beginnings.map(\.0))
    func parameters(scheme: CDNSigning.Scheme) throws {
        func decision(_ drops: Bool?, _ provider: Bucket.Provider = .oss) throws -> Verdict<Permit> {
            var world = try World(scheme) { $0.dropsParameters = drops }
            world.bucket.provider = provider
            if provider == .oss { world.bucket.scheme = .ossV4 }
            return try world.decision()
        }
        #expect(try decision(true).error == nil && decision(nil, .s3).error == nil)
        for drops in [nil, false] {
            let error = try decision(drops).error
            if scheme == .cloudFront {
                #expect(error == nil)
            } else if case .notEnforceable(let reason) = error {
                #expect(reason.contains("'dropsParameters'"))
            } else {
                Issue.record("\(String(describing: error))")
            }
        }
    }

    @Test("what no link to a CDN can bind is refused before anything is recorded", arguments: beginnings.map(\.0))
    func refusals(scheme: CDNSigning.Scheme) throws {
        func refused(
            _ conditions: GrantConditions = Self.unbound, _ change: (inout IssueRequest.Fields) -> Void
        ) throws -> Bool {
            var world = try World(scheme, conditions: conditions)
            change(&world.fields)
            if case .notEnforceable = try world.decision().error { return true }
            return false
        }
        #expect(try !refused { _ in })
        #expect(try refused { $0.method = "HEAD" })
        #expect(try refused { $0.versionID = "1" })
        #expect(try refused { $0.process = "image/resize,w_100" })
        for change in [
            { $0.contentDisposition = "attachment" }, { $0.contentType = "text/plain" },
            { $0.cacheControl = "no-cache" },
        ] as [(inout ResponseOverrides.Fields) -> Void] {
            #expect(
                try refused { fields in
                    var response = ResponseOverrides.Fields()
                    change(&response)
                    fields.response = response
                })
        }
        #expect(try refused { ($0.action, $0.contentType) = ("PutObject", "image/png") })
        #expect(try refused { $0.action = "DeleteObject" })
        #expect(try refused { ($0.action, $0.key, $0.prefix) = ("ListObjects", nil, "team/") })
        var forced = Self.unbound
        forced.forceDownload = true
        #expect(try refused(forced) { _ in })
        // Only CloudFront signs the query; elsewhere the holder could add parameters.
        for conditions in [
            GrantConditions(), GrantConditions(allowResponseContentType: true), GrantConditions(allowVersions: true),
        ] {
            #expect(try refused(conditions) { _ in } == (scheme != .cloudFront))
        }
        var other = try World(scheme)
        other.grant = try Fixture.grant(1, on: "elsewhere/")
        #expect(try other.decision().error == .accessDenied, "no grant, no reason")
    }

    @Test func `type C refuses keys whose end could be taken for the time`() throws {
        var world = try World(.alibabaC)
        for key in ["team/a.mp4", "team/cafe", "team/é"] {
            world.fields.key = key
            guard case .invalidArgument("key", _) = try world.decision().error else {
                Issue.record("\(key) is signed")
                continue
            }
        }
        world.fields.key = "team/a.png"
        #expect(try world.decision().error == nil)
    }

    @Test func `a link of type B ends with a minute of its clock, never later than asked`() throws {
        var world = try World(.alibabaB) { $0.validity = 90 }
        for second in 0..<120 {
            for life in [60, 61, 119, 900] {
                world.fields.expiresIn = life
                let now = Fixture.now.addingTimeInterval(TimeInterval(second))
                let permit = try world.decision(at: now).permit
                let end = Int(permit.expiresAt.timeIntervalSince1970)
                #expect((end - 1 - 90) % 60 == 0 && life - 59...life ~= permit.expiresIn)
                #expect(end == Int(now.timeIntervalSince1970) + permit.expiresIn)
            }
        }
        world.fields.expiresIn = 1
        let refusals = try (0..<60).count { second in
            let now = Fixture.now.addingTimeInterval(TimeInterval(second))
            guard case .notEnforceable(let reason) = try world.decision(at: now).error else { return false }
            return reason.contains("60 seconds")
        }
        #expect(refusals == 59)
    }

    @Test("a window of stable links holds at a CDN too", arguments: beginnings.map(\.0))
    func windows(scheme: CDNSigning.Scheme) throws {
        var world = try World(scheme)
        world.bucket.stableLinkWindow = 3600
        let start = Fixture.now.addingTimeInterval(-1800)
        let urls = try Set([0, 1, 1799, 3599].map { try world.url(at: start.addingTimeInterval($0)) })
        #expect(urls.count == 1)
        #expect(try !urls.contains(world.url(at: start.addingTimeInterval(3600))))
    }

    @Test func `CloudFront binds the address of the caller, if the bucket says so`() throws {
        var world = try World(.cloudFront) { $0.bindsSourceAddress = true }
        let permit = try world.decision().permit
        #expect(permit.sourceAddress == IPAddress("203.0.113.7"))
        let url = try world.url()
        let policy = try #require(url.split(separator: "?Policy=").last?.split(separator: "&").first)
        let text = try #require(
            Data(
                base64Encoded: String(policy).replacing("-", with: "+").replacing("_", with: "=").replacing(
                    "~", with: "/"))
        )
        #expect(
            String(decoding: text, as: UTF8.self)
                == #"{"Statement":[{"Resource":"https://cdn.example/team/cat%20z","Condition":{"DateLessThan":"#
                + #"{"AWS:EpochTime":1715935500},"IpAddress":{"AWS:SourceIp":"203.0.113.7/32"}}}]}"#)
        for address in ["2001:db8::1", nil] {
            world.address = address
            guard case .notEnforceable(let reason) = try world.decision().error else {
                Issue.record("\(address ?? "no address") is bound")
                continue
            }
            #expect(reason.contains("IPv4"))
        }
        world.address = "::ffff:198.51.100.9"
        #expect(try world.decision().permit.sourceAddress == IPAddress("198.51.100.9"))
        world.fields.endpoint = nil
        #expect(try world.decision().permit.sourceAddress == nil, "the store binds none")
    }

    /// A canned policy names the URL of the request; one with an address is compared as a pattern.
    @Test(arguments: ["team/a*", "team/a?b", "team/*"], [false, true])
    func `a key with a wildcard of policies is not bound to an address`(key: String, bindsAddress: Bool) throws {
        var world = try World(.cloudFront) { $0.bindsSourceAddress = bindsAddress }
        world.fields.key = key
        guard bindsAddress else {
            #expect(try world.decision().permit.sourceAddress == nil)
            return
        }
        guard case .invalidArgument(field: "key", _) = try world.decision().error else {
            Issue.record("\(key) is bound")
            return
        }
    }

    @Test func `a proof fails without the address, and with another's`() throws {
        let world = try World(.cloudFront) { $0.bindsSourceAddress = true }
        let (request, permit) = (try world.request(), try world.decision().permit)
        let address = try BucketAddress(
            endpoint: StoreEndpoint("https://cdn.example"), bucket: "demo-bucket", addressing: .cname)
        let signed = PresignRequest(
            method: "GET", address: address, key: request.key.rawValue, expiresInSeconds: permit.expiresIn)
        let instant = try #require(SigningInstant(epochSeconds: Int64(permit.signedAt.timeIntervalSince1970)))
        func gap(_ source: String?, by binding: SchemeBinding = .cloudFront) -> GatewayError? {
            let artefact = PresignArtefact(
                request: signed, instant: instant, binding: binding, sourceAddress: source.flatMap { IPAddress($0) })
            do throws(GatewayError) {
                try prove(artefact, by: permit, of: request)
                return nil
            } catch {
                return error
            }
        }
        #expect(gap("203.0.113.7") == nil)
        #expect(gap(nil) == .unproven(.sourceAddress) && gap("203.0.113.8") == .unproven(.sourceAddress))
        #expect(gap("203.0.113.7", by: .unsignedQuery) == .unproven(.scheme))
    }

    @Test func `a signer takes up another hash, another validity and another key at once`() throws {
        let signer = URLSigner()
        func url(_ world: World) throws -> String {
            try signer.url(for: world.request(), by: world.decision().permit).reveal()
        }
        var world = try World(.cloudFront)
        let first = try url(world)
        #expect(try url(world) == first && !first.contains("Hash-Algorithm"))
        world.bucket.publicEndpoints[.cdn]?.signing?.hash = .sha256
        #expect(try url(world).hasSuffix("&Hash-Algorithm=SHA256"))
        world = try World(.alibabaA)
        let usual = try url(world)
        world.bucket.publicEndpoints[.cdn]?.signing?.validity = 60
        let short = try url(world)
        #expect(usual.contains("=1715933699-") && short.contains("=1715935439-"))
        world.cdnCredential?.secretAccessKey = Secret("anothersecret123")
        #expect(try url(world) != short)
        world.cdnCredential?.kind = .accessKey
        world.cdnCredential?.sessionToken = Secret("token")
        #expect(throws: GatewayError.self) { try url(world) }
    }

    @Test func `without its credential nothing leads to the CDN, and a life ends with the credential`() throws {
        var world = try World(.nginxSecureLink)
        world.cdnCredential?.expiresAt = Fixture.now.addingTimeInterval(60)
        #expect(try world.decision().permit.expiresIn == 60)
        world.cdnCredential = nil
        guard case .unavailable = try world.decision().error else {
            Issue.record("signed without a credential")
            return
        }
        world.fields.endpoint = nil
        #expect(try world.decision().error == nil)
    }

    @Test func `decisions rest on the credential of the CDN, in memory and at the commit`() async throws {
        let world = try World(.nginxSecureLink)
        var tables = ScriptedPolicy.Tables()
        tables.bucket = world.bucket
        tables.credential = Fixture.credential()
        tables.cdnCredential = world.cdnCredential
        tables.grants = [world.grant]
        let source = ScriptedPolicy(tables)
        let cache = PolicyCache(source: source)
        func policy() async throws -> AccessPolicy {
            try await cache.access(
                of: Principal("user:alice"), groups: [], to: BucketName("demo-bucket"), key: ObjectKey("team/a"))
        }
        let before = try await policy()
        #expect(
            before.scopes.contains(.credential(Fixture.id(600))) && before.scopes.contains(.credential(Fixture.id(500)))
        )
        #expect(before.shared.cdnCredential?.credential.secretAccessKey.reveal() == Self.secret)
        source.change([.credential(Fixture.id(600))]) { $0.cdnCredential?.secretAccessKey = Secret("anothersecret123") }
        try await cache.advance()
        let after = try await policy()
        #expect(after.shared.cdnCredential?.credential.secretAccessKey.reveal() == "anothersecret123")
        source.change([.bucket(world.bucket.name)]) { $0.bucket?.publicEndpoints = [:] }
        try await cache.advance()
        let without = try await policy()
        #expect(without.shared.cdnCredential == nil && !without.scopes.contains(.credential(Fixture.id(600))))
    }

    @Test func `a bucket's CDN is checked before it is stored`() throws {
        func field(
            _ scheme: CDNSigning.Scheme, at name: PublicEndpoint.Name = .cdn, _ change: (inout CDNSigning) -> Void
        ) throws -> String? {
            var bucket = try Fixture.bucket()
            var signing = CDNSigning(scheme: scheme, credentialID: Fixture.id(600))
            change(&signing)
            bucket.publicEndpoints[name] = PublicEndpoint(url: "https://cdn.example", signing: signing)
            return refusedField { try bucket.validated() }
        }
        for scheme in CDNSigning.Scheme.allCases {
            let isAlibaba = [.alibabaA, .alibabaB, .alibabaC].contains(scheme)
            #expect(try field(scheme) { _ in } == nil)
            for name in PublicEndpoint.Name.allCases where name != .cdn {
                #expect(try field(scheme, at: name) { _ in } == "publicEndpoints.\(name.rawValue).signing")
            }
            let isCloudFront = scheme == .cloudFront
            #expect(
                try field(scheme) { $0.hash = .sha256 } == (isCloudFront ? nil : "publicEndpoints.cdn.signing.hash"))
            #expect(
                try field(scheme) { $0.bindsSourceAddress = false }
                    == (isCloudFront ? nil : "publicEndpoints.cdn.signing.bindsSourceAddress"))
            for validity in [0, 1, 31_536_000, 31_536_001] {
                let isGood = isAlibaba && 1...31_536_000 ~= validity
                #expect(
                    try field(scheme) { $0.validity = validity }
                        == (isGood ? nil : "publicEndpoints.cdn.signing.validity"))
            }
        }
        var bucket = try Fixture.bucket(addressing: .virtual)
        bucket.publicEndpoints[.cdn] = try World(.cloudFront).bucket.publicEndpoints[.cdn]
        #expect(try bucket.validated().at(.cdn)?.addressing == .cname, "a CDN stands for one bucket")
        bucket.publicEndpoints[.cdn]?.addressing = .path
        #expect(try bucket.validated().at(.cdn)?.addressing == .path)
    }

    @Test func `a key pair is checked before it is stored`() throws {
        func field(_ change: (inout StorageCredential) -> Void) throws -> String? {
            var credential = Self.credential(.keyPair)
            change(&credential)
            return refusedField { try credential.validated() }
        }
        #expect(try field { _ in } == nil)
        for id in ["", "K 2", "K/2", String(repeating: "K", count: 65)] {
            #expect(try field { $0.accessKeyID = id } == "keyPair.id")
        }
        #expect(try field { $0.secretAccessKey = Secret("no key") } == "keyPair.privateKey")
        #expect(try field { $0.sessionToken = Secret("token") } == "sessionToken")
    }
}

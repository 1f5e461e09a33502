import Foundation
import TestSupport
import Testing

@testable import GatewayCore
import LibCrypto

@Suite("Cookies of a CDN")
struct CookieDecisionTests {
    private static let open = GrantConditions(allowResponseContentType: true, allowVersions: true)

    static func grant(
        _ number: Int, to principal: String = "user:alice", on prefix: String = "team/",
        actions: Set<Action> = [.getObject], effect: Grant.Effect = .allow, conditions: GrantConditions = open,
        from notBefore: Date? = nil, until notAfter: Date? = nil
    ) throws -> Grant {
        try Fixture.grant(
            number, to: principal, on: prefix, actions: actions, effect: effect,
            conditions: effect == .deny ? GrantConditions() : conditions, from: notBefore, until: notAfter)
    }

    /// A bucket whose links to its CDN are signed for CloudFront.
    static func bucket(
        _ scheme: CDNSigning.Scheme = .cloudFront, _ change: (inout CDNSigning) -> Void = { _ in }
    ) throws -> Bucket {
        var signing = CDNSigning(scheme: scheme, credentialID: Fixture.id(600))
        change(&signing)
        var bucket = try Fixture.bucket()
        bucket.publicEndpoints[.cdn] = PublicEndpoint(url: "https://cdn.example", signing: signing)
        return bucket
    }

    static func credential() -> StorageCredential {
        StorageCredential(
            id: Fixture.id(600), name: "cdn", kind: .keyPair, accessKeyID: "K2JCJMDEHXQW5F",
            secretAccessKey: Secret(TestKey.pem), createdAt: Fixture.now)
    }

    static func policy(
        _ grants: [Grant], quotas: [Quota] = [], bucket: Bucket?? = nil, credential: StorageCredential?? = nil
    ) throws -> AccessPolicy {
        AccessPolicy(
            position: Fixture.position,
            principals: try ["user:alice", "group:staff", "*"].map { name in
                let principal = try Principal(name)
                return PrincipalPolicy(
                    principal: principal,
                    rows: PrincipalRows(
                        grants: grants.filter { $0.principal == principal },
                        quotas: quotas.filter { $0.principal == principal }))
            },
            bucket: try bucket ?? Self.bucket(), credential: Fixture.credential(),
            cdnCredential: credential ?? Self.credential(), scopes: [])
    }

    static func request(_ prefix: String = "team/", expiresIn: Int? = nil) throws -> CookieRequest {
        try CookieRequest(bucket: try BucketName("demo-bucket"), prefix: prefix, expiresIn: expiresIn)
    }

    private func decided(
        _ request: CookieRequest, _ grants: [Grant], quotas: [Quota] = [], bucket: Bucket? = nil,
        credential: StorageCredential?? = nil, ticket: Ticket? = nil, from address: String? = "203.0.113.7"
    ) throws -> Verdict<CookiePermit> {
        decideCookies(
            request, for: Subject(principal: try Principal("user:alice"), ticket: ticket),
            under: try Self.policy(grants, quotas: quotas, bucket: bucket.map { .some($0) }, credential: credential),
            sourceAddress: address.flatMap { IPAddress($0) }, now: Fixture.now)
    }

    private func reason(_ decision: Verdict<CookiePermit>) -> String? {
        guard case .notEnforceable(let reason)? = decision.error else { return nil }
        return reason
    }

    @Test func `a grant must cover the whole prefix, and none may deny a part`() throws {
        let grant = try Self.grant(1)
        for prefix in ["team/", "team/a/", "team/a/b.mp4"] {
            let permit = try decided(Self.request(prefix), [grant]).permit
            #expect(permit.prefix.rawValue == prefix && permit.grant.id == grant.id)
            #expect(permit.bucket.endpoint == "https://cdn.example" && permit.credential.id == Fixture.id(600))
            #expect(permit.sourceAddress == nil)
        }
        #expect(try decided(Self.request("other/"), [grant]).error == .accessDenied)
        #expect(try decided(Self.request("team"), [grant]).error == .accessDenied)
        for (prefix, others) in [
            ("", []), ("team/", [try Self.grant(2, on: "team/a/", effect: .deny)]),
            ("team/", [try Self.grant(2, to: "*", on: "team/a*b", effect: .deny)]),
            ("team/a/", [try Self.grant(2, to: "group:staff", on: "team/a/b.mp4", effect: .deny)]),
            ("team/", [try Self.grant(2, on: "team/x", effect: .deny, from: Fixture.now.addingTimeInterval(60))]),
        ] {
            let found = reason(try decided(Self.request(prefix), [grant] + others))
            #expect(found?.contains("one place") == true && found?.contains("presigned URLs") == true, "\(prefix)")
        }
        let deny = try Self.grant(3, on: "team/", effect: .deny)
        #expect(try decided(Self.request("team/a/"), [grant, deny]).error == .accessDenied)
        let over = try Self.grant(4, on: "team/a/", effect: .deny, until: Fixture.now)
        let uploads = try Self.grant(5, on: "team/a/", actions: [.putObject], effect: .deny)
        #expect(try decided(Self.request(), [grant, over, uploads]).error == nil)
        let puts = try Self.grant(6, actions: [.putObject, .listObjects, .deleteObject])
        #expect(try decided(Self.request(), [puts]).error == .accessDenied)
        #expect(try decided(Self.request(), [Self.grant(7, to: "user:bob")]).error == .accessDenied)
        let gone = try Self.policy([grant], bucket: .some(nil))
        let nowhere = decideCookies(
            try Self.request(), for: Subject(principal: try Principal("user:alice")), under: gone, sourceAddress: nil,
            now: Fixture.now)
        #expect(nowhere.error == .accessDenied)
    }

    @Test func `a grant does not count where cookies cannot bind its conditions`() throws {
        func found(_ conditions: GrantConditions, _ prefix: String, from address: String? = nil) throws -> GatewayError?
        {
            try decided(Self.request(prefix), [Self.grant(1, conditions: conditions)], from: address).error
        }
        func isUnbound(_ error: GatewayError?) -> Bool {
            guard case .notEnforceable(let reason)? = error else { return false }
            return reason.contains("presigned URLs")
        }
        var forced = Self.open
        forced.forceDownload = true
        #expect(try isUnbound(found(forced, "team/")) && isUnbound(found(forced, "team/a")))
        // Below a prefix the holder can add parameters; the URL of one object is named with its query.
        for conditions in [
            GrantConditions(), GrantConditions(allowResponseContentType: true), GrantConditions(allowVersions: true),
        ] {
            #expect(try isUnbound(found(conditions, "team/a/")) && found(conditions, "team/a") == nil)
        }
        var near = Self.open
        near.sourceCIDRs = ["192.0.2.0/24"]
        #expect(try found(near, "team/", from: "192.0.2.9") == nil)
        for address in ["198.51.100.1", nil] {
            #expect(try found(near, "team/", from: address) == .conditionFailed(.sourceAddress))
        }
        let early = try Self.grant(2, from: Fixture.now.addingTimeInterval(1))
        #expect(try decided(Self.request(), [early]).error == .conditionFailed(.notYetValid))
        for grant in [
            try Self.grant(2, until: Fixture.now), try Self.grant(2, until: Fixture.now.addingTimeInterval(0.5)),
        ] {
            #expect(try decided(Self.request(), [grant]).error == .conditionFailed(.noLongerValid))
        }
        // What concerns uploads is no matter of cookies.
        var uploads = Self.open
        (uploads.contentTypes, uploads.maxBytes, uploads.requireContentMD5) = (["image/png"], 1, true)
        #expect(try found(uploads, "team/") == nil)
        // Another grant that covers all of it counts.
        let grants = [try Self.grant(3, on: "team/a/", conditions: forced), try Self.grant(4)]
        #expect(try decided(Self.request("team/a/"), grants).permit.grant.id == Fixture.id(4))
    }

    @Test func `only CloudFront takes cookies, and who has no grant learns nothing about it`() throws {
        for scheme in CDNSigning.Scheme.allCases {
            let found = reason(try decided(Self.request(), [Self.grant(1)], bucket: Self.bucket(scheme)))
            #expect((found == nil) == (scheme == .cloudFront) && found?.contains("CloudFront") != false)
        }
        var plain = try Self.bucket()
        plain.publicEndpoints[.cdn]?.signing = nil
        for bucket in [plain, try Fixture.bucket()] {
            #expect(try reason(decided(Self.request(), [Self.grant(1)], bucket: bucket)) != nil)
            #expect(try decided(Self.request(), [], bucket: bucket).error == .accessDenied)
        }
        for credential in [nil, Self.credential()] as [StorageCredential?] {
            var ended = credential
            ended?.expiresAt = Fixture.now
            guard case .unavailable? = try decided(Self.request(), [Self.grant(1)], credential: .some(ended)).error
            else {
                Issue.record("signed without a usable credential")
                continue
            }
        }
        let bound = try Self.bucket { $0.bindsSourceAddress = true }
        let permit = try decided(Self.request(), [Self.grant(1)], bucket: bound).permit
        #expect(permit.sourceAddress == IPAddress("203.0.113.7"))
        for address in ["2001:db8::1", nil] {
            let found = reason(try decided(Self.request(), [Self.grant(1)], bucket: bound, from: address))
            #expect(found?.contains("IPv4") == true)
        }
    }

    @Test func `below a prefix at Alibaba OSS, the CDN must drop parameters`() throws {
        func reason(_ prefix: String, _ drops: Bool?) throws -> String? {
            var bucket = try Self.bucket { $0.dropsParameters = drops }
            (bucket.provider, bucket.scheme) = (.oss, .ossV4)
            return try self.reason(decided(Self.request(prefix), [Self.grant(1)], bucket: bucket))
        }
        #expect(try reason("team/", nil)?.contains("'dropsParameters'") == true)
        #expect(try reason("team/", true) == nil)
        #expect(try reason("team/a", nil) == nil, "cookies for one object open its URL without a query")
    }

    @Test func `cookies live as long as was asked, cut by grants, bucket, sessions and credential`() throws {
        func life(
            _ wanted: Int?, _ grants: [Grant]? = nil, credential: StorageCredential? = nil,
            _ change: (inout Bucket) -> Void = { _ in }
        ) throws -> Int {
            var bucket = try Self.bucket()
            change(&bucket)
            let permit = try decided(
                Self.request(expiresIn: wanted), grants ?? [Self.grant(1)], bucket: bucket,
                credential: credential.map { .some($0) }
            ).permit
            #expect(permit.expiresAt == Fixture.now.addingTimeInterval(TimeInterval(permit.expiresIn)))
            return permit.expiresIn
        }
        #expect(try life(nil) == 900 && life(nil) { $0.defaultTTL = 70 } == 70)
        #expect(try life(1) == 1 && life(7200) == 7200 && life(.max) == 43_200)
        #expect(try life(7200) { $0.maxTTL = 7199 } == 7199 && life(7200) { $0.maxSessionTTL = 7199 } == 7199)
        var short = Self.open
        short.maxTTL = 60
        #expect(try life(900, [Self.grant(1), Self.grant(2, to: "*", on: "team/a/", conditions: short)]) == 60)
        #expect(try life(900, [Self.grant(1, until: Fixture.now.addingTimeInterval(59.9))]) == 59)
        var ending = Self.credential()
        ending.expiresAt = Fixture.now.addingTimeInterval(30)
        #expect(try life(900, credential: ending) == 30)
        var bucket = try Self.bucket()
        bucket.maxSessionTTL = 0
        #expect(try reason(decided(Self.request(), [Self.grant(1)], bucket: bucket))?.contains("forbids") == true)
        #expect(try decided(Self.request("other/"), [Self.grant(1)], bucket: bucket).error == .accessDenied)
    }

    @Test func `cookies are charged once to each quota of downloads, and to the ticket, which must cover them`() throws
    {
        let quotas = [
            try Fixture.quota(3), try Fixture.quota(2, for: "group:staff", action: .getObject, sharing: .shared),
            try Fixture.quota(4, action: .putObject), try Fixture.quota(5, metric: .bytes),
            try Fixture.quota(6, bucket: "other-bucket"),
        ]
        let charges = try decided(Self.request(), [Self.grant(1)], quotas: quotas).permit.charges
        #expect(charges.map(\.quota.id) == [Fixture.id(2), Fixture.id(3)] && charges.allSatisfy { $0.amount == 1 })
        let ticket = Ticket(
            id: Fixture.id(77), name: "abcdefghijkl", hash: DigestAlgorithm.sha256.digest(of: "0"),
            principal: try Principal("user:alice"), groups: [], claims: [:], issuedOn: nil,
            bucket: try BucketName("demo-bucket"), prefix: ExactText("team/a/"), actions: [.getObject], maxUses: 5,
            expiresAt: Fixture.now.addingTimeInterval(60), createdAt: Fixture.now)
        let grant = try Self.grant(1, on: "")
        #expect(
            try decided(Self.request("team/a/b/"), [grant], ticket: ticket).permit.charges.map(\.quota.limit) == [5])
        #expect(try decided(Self.request(), [grant], ticket: ticket).error == .accessDenied)
    }

    /// The policy names `https://cdn.example/*`, and the host's own URL lists the bucket.
    @Test func `cookies for the whole bucket need its listing, too`() throws {
        let downloads = try Self.grant(1, on: "")
        let both = try Self.grant(1, on: "", actions: [.getObject, .listObjects])
        func listing(
            on prefix: String = "", _ effect: Grant.Effect = .allow, conditions: GrantConditions = GrantConditions(),
            from notBefore: Date? = nil
        ) throws -> Grant {
            try Self.grant(
                2, to: "*", on: prefix, actions: [.listObjects], effect: effect, conditions: conditions,
                from: notBefore)
        }
        func isRefused(_ grants: [Grant], ticket: Ticket? = nil) throws -> Bool {
            let found = try decided(Self.request(""), grants, ticket: ticket)
            return reason(found)?.contains("'ListObjects'") == true && found.error?.code == "NotEnforceable"
        }
        for grants in [
            [downloads], [downloads, try listing(on: "team/")], [both, try listing(.deny)],
            [both, try listing(on: "team/a", .deny)],
            [both, try listing(on: "team/", .deny, from: Fixture.now.addingTimeInterval(60))],
            [downloads, try listing(conditions: GrantConditions(sourceCIDRs: ["192.0.2.0/24"]))],
        ] { #expect(try isRefused(grants), "\(grants)") }
        #expect(try decided(Self.request("team/"), [downloads]).error == nil)
        let quotas = [try Fixture.quota(3, action: .listObjects), try Fixture.quota(4, action: .deleteObject)]
        let permit = try decided(
            Self.request(""), [downloads, listing(conditions: GrantConditions(maxTTL: 60))], quotas: quotas
        ).permit
        #expect(permit.grant.id == downloads.id && permit.expiresIn == 60)
        #expect(permit.charges.map(\.quota.id) == [Fixture.id(3)])
        for (actions, mayList) in [([.getObject], false), ([.getObject, .listObjects], true)] as [(Set<Action>, Bool)] {
            let ticket = Ticket(
                id: Fixture.id(77), name: "abcdefghijkl", hash: DigestAlgorithm.sha256.digest(of: "0"),
                principal: try Principal("user:alice"), groups: [], claims: [:], issuedOn: nil,
                bucket: try BucketName("demo-bucket"), prefix: ExactText(""), actions: actions, maxUses: 5,
                expiresAt: Fixture.now.addingTimeInterval(60), createdAt: Fixture.now)
            #expect(try isRefused([both], ticket: ticket) != mayList)
        }
    }

    @Test func `requests are checked before anything is decided`() throws {
        for prefix in ["a*/", "a?", "/a", "a//b/", "a/../b/", "a\n/", "${sub}/", String(repeating: "a", count: 1024)] {
            #expect(refusedField { try Self.request(prefix) } == "prefix", "\(prefix)")
        }
        for life in [0, -1] { #expect(refusedField { try Self.request(expiresIn: life) } == "expiresIn") }
    }

    // MARK: Compared with the decision about each object

    private static let segments = ["a", "b", "ab", "é", "a b"]
    private static let actions: [Set<Action>] = [
        [.putObject], [.getObject, .putObject], [.getObject, .listObjects], Set(Action.allCases),
    ]

    private func prefix(_ random: inout SeededGenerator) -> String {
        let path = (0..<Int.random(in: 0...3, using: &random))
            .map { _ in Self.segments.randomElement(using: &random) ?? "" }.joined(separator: "/")
        return path.isEmpty || Bool.random(using: &random) ? path : path + "/"
    }

    private func grant(_ number: Int, _ random: inout SeededGenerator) throws -> Grant {
        let isDeny = random.once(in: 5)
        var conditions = GrantConditions()
        if !random.once(in: 4) { conditions.allowResponseContentType = true }
        if !random.once(in: 4) { conditions.allowVersions = true }
        if random.once(in: 5) { conditions.forceDownload = true }
        if random.once(in: 5) { conditions.sourceCIDRs = [random.once(in: 2) ? "10.0.0.0/8" : "203.0.113.0/24"] }
        if random.once(in: 5) { conditions.maxTTL = [60, 5000].randomElement(using: &random) }
        if random.once(in: 6) { conditions.maxBytes = 10 }
        let ends =
            random.once(in: 6) ? Fixture.now.addingTimeInterval([-1, 100].randomElement(using: &random) ?? 0) : nil
        let place = random.once(in: 5) && !isDeny ? "a/${sub}/" : prefix(&random)
        return try Fixture.grant(
            number, to: ["user:alice", "group:staff", "*"].randomElement(using: &random) ?? "*", on: place,
            actions: Self.actions.randomElement(using: &random) ?? [], effect: isDeny ? .deny : .allow,
            conditions: isDeny ? GrantConditions() : conditions, until: ends)
    }

    /// Whatever cookies open by a whole URL, with any query, a link for it would be signed as well.
    @Test func `cookies open nothing that would not be permitted one by one`() throws {
        var random = SeededGenerator(seed: 17)
        var (permitted, refused, tried, listed) = (0, 0, 0, 0)
        for round in 0..<3000 {
            let grants = try (0..<Int.random(in: 1...5, using: &random)).map { try grant(round * 10 + $0, &random) }
            let policy = try Self.policy(grants)
            let place = prefix(&random)
            let request = try Self.request(place, expiresIn: [nil, 50, 7200].randomElement(using: &random) ?? nil)
            let decision = decideCookies(
                request, for: Subject(principal: try Principal("user:alice")), under: policy,
                sourceAddress: IPAddress("203.0.113.7"), now: Fixture.now)
            guard let permit = decision.permitOrNil else {
                refused += 1
                continue
            }
            permitted += 1
            if place.isEmpty {
                listed += 1
                var fields = IssueRequest.Fields()
                (fields.action, fields.bucket, fields.prefix) = ("ListObjects", "demo-bucket", "")
                fields.expiresIn = schemeMaxTTL
                let found = try Fixture.decided(IssueRequest(fields), under: policy, from: "203.0.113.7")
                #expect(found.error == nil, "lists the bucket by \(grants)")
                #expect(permit.expiresIn <= found.permitOrNil?.expiresIn ?? 0, "\(grants)")
            }
            let isBelow = place.isEmpty || place.hasSuffix("/")
            for _ in 0..<12 {
                let key = isBelow ? place + prefix(&random) + "x" : place
                for isPlain in [true, false] {
                    tried += 1
                    // The link to the store binds each parameter that the holder of the cookies could add.
                    let link = try Fixture.get(key) { fields in
                        fields.expiresIn = schemeMaxTTL
                        guard !isPlain else { return }
                        var response = ResponseOverrides.Fields()
                        response.contentDisposition = "inline"
                        if isBelow { (fields.versionID, response.contentType) = ("1", "text/html") }
                        fields.response = response
                    }
                    let found = try Fixture.decided(link, under: policy, from: "203.0.113.7")
                    #expect(found.error == nil, "\(place) opens \(key) by \(grants)")
                    guard !isPlain, case .permit(let one) = found else { continue }
                    #expect(permit.expiresIn <= one.expiresIn, "\(place) keeps \(key) open by \(grants)")
                }
            }
        }
        #expect(
            permitted > 200 && refused > 500 && tried > 3000 && listed > 5,
            "\(permitted) \(refused) \(tried) \(listed)")
    }
}

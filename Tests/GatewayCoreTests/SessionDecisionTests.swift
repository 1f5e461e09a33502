import Foundation
import LibCrypto
import Testing

@testable import GatewayCore

@Suite("A session")
struct SessionDecisionTests {
    private func request(
        _ prefix: String = "team/", actions: Set<Action>? = nil, duration: Int? = nil
    ) throws -> SessionRequest {
        try SessionRequest(
            bucket: try BucketName("demo-bucket"), prefix: prefix, actions: actions, duration: duration)
    }

    private func decided(
        _ request: SessionRequest, _ grants: [Grant], quotas: [Quota] = [], claims: [String: String] = [:],
        ticket: Ticket? = nil, from address: String? = nil, bucket: Bucket? = nil
    ) throws -> Verdict<SessionPermit> {
        decideSession(
            request, for: Subject(principal: try Principal("user:alice"), claims: claims, ticket: ticket),
            under: try Fixture.policy(grants: grants, quotas: quotas, bucket: bucket.map { .some($0) }),
            sourceAddress: address.flatMap { IPAddress($0) }, now: Fixture.now)
    }

    private func policy(_ request: SessionRequest, _ grants: [Grant]) throws -> String {
        SessionPolicyDialect.aws.policy(of: try decided(request, grants).permit.scope)
    }

    @Test("is allowed what grants cover of the prefix that is asked for, in either language")
    func intersections() throws {
        let put: Set<Action> = [.putObject]
        let grants = [
            try Fixture.sessionGrant(1, on: "team/a/", actions: put),
            try Fixture.sessionGrant(2, on: "team/b.txt", actions: put),
            try Fixture.sessionGrant(3, on: "team/a/deeper/", actions: put), try Fixture.sessionGrant(4, on: "teams/"),
            try Fixture.sessionGrant(5, to: "group:staff", on: "", actions: [.getObject]),
            try Fixture.sessionGrant(6, to: "user:bob", on: ""),
        ]
        let scope = try decided(request(), grants).permit.scope
        #expect(scope.allowed(.putObject).map(\.rawValue) == ["team/a/", "team/b.txt"])
        #expect(scope.allowed(.getObject).map(\.rawValue) == ["team/"])
        #expect(
            SessionPolicyDialect.aws.policy(of: scope) == #"""
                {"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:PutObject","s3:AbortMultipartUpload","s3:ListMultipartUploadParts"],"Resource":["arn:aws:s3:::demo-bucket/team/a/*","arn:aws:s3:::demo-bucket/team/b.txt"]},{"Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::demo-bucket/team/*"]}]}
                """#)
        #expect(
            SessionPolicyDialect.alibaba.policy(of: scope) == #"""
                {"Version":"1","Statement":[{"Effect":"Allow","Action":["oss:PutObject","oss:AbortMultipartUpload","oss:ListParts"],"Resource":["acs:oss:*:*:demo-bucket/team/a/*","acs:oss:*:*:demo-bucket/team/b.txt"]},{"Effect":"Allow","Action":["oss:GetObject"],"Resource":["acs:oss:*:*:demo-bucket/team/*"]},{"Effect":"Deny","Action":["oss:PutObject"],"Resource":["acs:oss:*:*:demo-bucket/*"],"Condition":{"StringEquals":{"oss:x-oss-object-acl":["public-read","public-read-write"]}}}]}
                """#)
    }

    /// A name that a policy cannot hold is told only to those whose session would need it.
    @Test(arguments: [nil, "team/", "team/secret/", "elsewhere/"], [Set<Action>([.getObject]), nil])
    func `is kept from a denied name that no policy can hold only where the name is allowed`(
        place: String?, actions: Set<Action>?
    ) throws {
        let deny = try Fixture.sessionGrant(
            1, to: "*", on: "team/secret/what?.txt", actions: [.getObject, .deleteObject], effect: .deny)
        let grants = try [deny] + (place.map { [try Fixture.sessionGrant(2, on: $0, actions: [.getObject])] } ?? [])
        let verdict = try decided(request("", actions: actions), grants)
        switch place {
        case nil: #expect(verdict.error == .accessDenied)
        case "elsewhere/": #expect(verdict.error == nil)
        default: #expect(verdict.error?.code == "NotEnforceable")
        }
    }

    @Test func `names its resources in the partition that it is for`() throws {
        let grants = [
            try Fixture.sessionGrant(1, actions: [.getObject, .listObjects]),
            try Fixture.sessionGrant(2, on: "team/x", actions: [.getObject], effect: .deny),
        ]
        let scope = try decided(request(), grants).permit.scope
        for partition in ["aws", "aws-cn", "aws-us-gov"] {
            let text =
                #"{"Version":"2012-10-17","Statement":["#
                + #"{"Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:P:s3:::demo-bucket/team/*"]},"#
                + #"{"Effect":"Deny","Action":["s3:GetObject"],"Resource":["arn:P:s3:::demo-bucket/team/x"]},"#
                + #"{"Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:P:s3:::demo-bucket"],"#
                + #""Condition":{"StringLike":{"s3:prefix":["team/*"]}}}]}"#
            #expect(
                SessionPolicyDialect.aws.policy(of: scope, in: partition)
                    == text.replacing("arn:P:", with: "arn:\(partition):"))
            #expect(
                SessionPolicyDialect.alibaba.policy(of: scope, in: partition)
                    == SessionPolicyDialect.alibaba.policy(of: scope))
        }
    }

    @Test("has denied prefixes carved out, and is refused where one covers everything")
    func denies() throws {
        let allow = try Fixture.sessionGrant(1, on: "team/")
        let inside = try Fixture.sessionGrant(2, to: "*", on: "team/secret/", effect: .deny)
        #expect(
            try policy(request(actions: [.getObject]), [allow, inside]) == #"""
                {"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::demo-bucket/team/*"]},{"Effect":"Deny","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::demo-bucket/team/secret/*"]}]}
                """#)
        #expect(try decided(request("team/secret/x/"), [allow, inside]).error == .accessDenied)
        let puts = try Fixture.sessionGrant(3, on: "", actions: [.putObject], effect: .deny)
        #expect(try decided(request(), [allow, puts]).permit.scope.actions == [.getObject])
        #expect(try decided(request(actions: [.putObject, .getObject]), [allow, puts]).error == .accessDenied)
        let later = try Fixture.sessionGrant(4, on: "team/", effect: .deny, from: Fixture.now.addingTimeInterval(60))
        #expect(try decided(request(), [allow, later]).error == .accessDenied)
        let over = try Fixture.sessionGrant(5, on: "team/", effect: .deny, until: Fixture.now)
        #expect(try decided(request(), [allow, over]).permit.scope.actions.count == 2)
    }

    @Test("ignores grants whose conditions it cannot bind, and is refused, naming another delivery, without others")
    func conditions() throws {
        let binding = [
            GrantConditions(contentTypes: ["image/png"]), GrantConditions(maxBytes: 1),
            GrantConditions(requireContentMD5: true), GrantConditions(forceDownload: true),
            GrantConditions(allowResponseContentType: false), GrantConditions(maxTTL: 899),
        ]
        for conditions in binding {
            let isDownload = conditions.forceDownload != nil || conditions.allowResponseContentType != nil
            let action: Action = isDownload ? .getObject : .putObject
            let limited = try Fixture.sessionGrant(1, actions: [action], conditions: conditions)
            let error = try decided(request(actions: [action]), [limited]).error
            guard case .notEnforceable(let reason) = error else {
                Issue.record("\(conditions): \(String(describing: error))")
                continue
            }
            #expect(reason.contains("presigned URLs"))
            let free = try Fixture.sessionGrant(2, on: "team/free/", actions: [action])
            let scope = try decided(request(actions: [action]), [limited, free]).permit.scope
            #expect(scope.allowed(action).map(\.rawValue) == ["team/free/"])
        }
        let harmless = GrantConditions(requireContentMD5: false, forceDownload: false, allowResponseContentType: true)
        #expect(try decided(request(), [Fixture.sessionGrant(1, conditions: harmless)]).permit.scope.actions.count == 2)
        let inside = try Fixture.sessionGrant(3, conditions: GrantConditions(sourceCIDRs: ["192.0.2.0/24"]))
        #expect(try decided(request(), [inside], from: "192.0.2.7").error == nil)
        #expect(try decided(request(), [inside], from: "198.51.100.7").error == .conditionFailed(.sourceAddress))
        #expect(try decided(request(), [inside]).error == .conditionFailed(.sourceAddress))
        let over = try Fixture.sessionGrant(4, until: Fixture.now)
        #expect(try decided(request(), [over]).error == .conditionFailed(.noLongerValid))
    }

    @Test("for downloads needs grants that leave the answer's headers to the caller")
    func responseHeaders() throws {
        let silent = try Fixture.grant(1)
        #expect(try decided(request(), [silent]).permit.scope.actions == [.putObject])
        let error = try decided(request(actions: [.getObject]), [silent]).error
        guard case .notEnforceable(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("'allowResponseContentType'") && reason.contains("presigned URLs"))
        let open = try Fixture.sessionGrant(2, on: "team/open/")
        let scope = try decided(request(), [silent, open]).permit.scope
        #expect(scope.allowed(.getObject).map(\.rawValue) == ["team/open/"])
    }

    @Test("lives as long as was asked, cut by grants and bucket, and never less than stores give")
    func lives() throws {
        let grant = try Fixture.sessionGrant(1)
        #expect(try decided(request(), [grant]).permit.duration == 3600)
        #expect(try decided(request(duration: 43_200), [grant]).permit.duration == 43_200)
        let short = try Fixture.sessionGrant(2, on: "team/a/", conditions: GrantConditions(maxTTL: 1000))
        #expect(try decided(request(), [grant, short]).permit.duration == 1000)
        #expect(try decided(request(), [grant], bucket: Fixture.bucket(maxTTL: 900)).permit.duration == 900)
        #expect(try decided(request(), [grant], bucket: Fixture.bucket(defaultTTL: 1, maxTTL: 899)).permitOrNil == nil)
        let end = Fixture.now.addingTimeInterval(2000)
        let ending = try decided(request(), [grant, Fixture.sessionGrant(3, on: "team/b/", until: end)]).permit
        #expect(ending.duration == 1800)
        #expect(ending.latestEnd == end)
        let soon = try Fixture.sessionGrant(4, until: Fixture.now.addingTimeInterval(959))
        #expect(try decided(request(), [soon]).permitOrNil == nil)
        // A minute is kept as a margin, and 960 seconds are what SDKs need.
        for (seconds, duration) in [
            (960, 900), (1019, 900), (1020, 960), (1259, 960), (1260, 1200), (1559, 1200), (3659, 3300), (3660, 3600),
        ] {
            let grant = try Fixture.sessionGrant(5, until: Fixture.now.addingTimeInterval(TimeInterval(seconds)))
            #expect(try decided(request(), [grant]).permit.duration == duration, "\(seconds)")
        }
        let asked = try Fixture.sessionGrant(6, until: Fixture.now.addingTimeInterval(1030))
        #expect(try decided(request(duration: 930), [asked]).permit.duration == 930)
        for duration in [0, 899, 43_201] {
            #expect(refusedField { try request(duration: duration) } == "expiresIn")
        }
    }

    @Test(
        "uploads where its holder can make symbolic links only if the bucket says so",
        arguments: Bucket.Provider.allCases, [true, false])
    func symlinks(provider: Bucket.Provider, isPermitted: Bool) throws {
        var bucket = try Fixture.bucket()
        bucket.provider = provider
        bucket.permitsSymlinks = isPermitted
        let both = try decided(request(), [Fixture.sessionGrant(1)], bucket: bucket)
        let mayUpload = provider != .oss || isPermitted
        #expect(try both.permit.scope.allowed(.putObject).isEmpty == !mayUpload)
        #expect(try !both.permit.scope.allowed(.getObject).isEmpty)
        let upload = try decided(request(actions: [.putObject]), [Fixture.sessionGrant(1)], bucket: bucket)
        if case .notEnforceable(let reason) = upload.error {
            #expect(!mayUpload && reason.contains("'permitsSymlinks'"))
        } else {
            #expect(mayUpload && upload.error == nil)
        }
    }

    @Test("lives no longer than the bucket has sessions live, and not at all where it forbids them")
    func bucketLives() throws {
        let grant = try Fixture.sessionGrant(1)
        var bucket = try Fixture.bucket()
        for (longest, life) in [(43_200, 7200), (7201, 7200), (7199, 7199), (900, 900)] {
            bucket.maxSessionTTL = longest
            #expect(try decided(request(duration: 7200), [grant], bucket: bucket).permit.duration == life)
        }
        bucket.maxSessionTTL = 0
        guard case .notEnforceable(let reason) = try decided(request(), [grant], bucket: bucket).error else {
            Issue.record("There is a session.")
            return
        }
        #expect(reason.contains("forbids") && reason.contains("presigned URLs"))
        // A caller without a grant learns nothing about it.
        #expect(try decided(request("other/"), [grant], bucket: bucket).error == .accessDenied)
        for value in [0, 900, 43_200] {
            bucket.maxSessionTTL = value
            #expect(throws: Never.self) { try bucket.validated() }
        }
        for value in [-1, 1, 899, 43_201] {
            bucket.maxSessionTTL = value
            #expect(refusedField { try bucket.validated() } == "maxSessionTTL", "\(value)")
        }
    }

    @Test(
        "tells what it goes without, and why; what a deny covers, or another grant allows, is no business of conditions"
    )
    func omissions() throws {
        func lost(_ grants: [Grant], actions: Set<Action>? = nil, prefix: String = "team/") throws -> [String] {
            try decided(request(prefix, actions: actions), grants).permit.omissions.map { omission in
                "\(omission.action.rawValue) \(omission.prefix.rawValue) \(omission.reason.code)"
            }
        }
        let limits = GrantConditions(contentTypes: ["image/*"], maxBytes: 10_485_760, allowResponseContentType: true)
        let limited = try Fixture.sessionGrant(1, conditions: limits)
        #expect(try lost([limited]) == ["PutObject team/ NotEnforceable"])
        #expect(try lost([limited], prefix: "team/a/") == ["PutObject team/a/ NotEnforceable"])
        #expect(try lost([limited], actions: [.getObject]).isEmpty)
        let error = try decided(request(actions: [.putObject, .getObject]), [limited]).error
        guard case .notEnforceable(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.hasPrefix("PutObject: "))
        let reading = try Fixture.sessionGrant(2, actions: [.getObject])
        #expect(try lost([reading]) == ["PutObject team/ AccessDenied"])
        #expect(try lost([Fixture.sessionGrant(3)]).isEmpty)
        // Within the allowed prefix nothing is missing; around it something is.
        let inner = try Fixture.sessionGrant(4, on: "team/free/")
        #expect(try lost([limited, inner]) == ["PutObject team/ NotEnforceable"])
        #expect(try lost([Fixture.sessionGrant(5, on: ""), limited]).isEmpty)
        let sealed = try Fixture.sessionGrant(6, actions: [.putObject], effect: .deny)
        #expect(try lost([limited, sealed]) == ["PutObject team/ AccessDenied"])
        let twice = try Fixture.sessionGrant(7, on: "team/x/", conditions: GrantConditions(maxBytes: 1))
        #expect(try lost([limited, twice]) == ["PutObject team/ NotEnforceable"])
    }

    @Test("is charged once to each quota of URLs, and uploads nothing where bytes are limited")
    func quotas() throws {
        let grant = try Fixture.sessionGrant(1)
        let quotas = [
            try Fixture.quota(9, action: .getObject), try Fixture.quota(8, for: "*", sharing: .shared),
            try Fixture.quota(7, bucket: "other-bucket"),
        ]
        let charges = try decided(request(), [grant], quotas: quotas).permit.charges
        #expect(charges.map(\.quota.id) == [Fixture.id(8), Fixture.id(9)])
        #expect(charges.map(\.amount) == [1, 1])
        #expect(charges.map(\.holder.rawValue) == ["*", "user:alice"])
        #expect(try decided(request(actions: [.putObject]), [grant], quotas: quotas).permit.charges.count == 1)
        let bytes = try Fixture.quota(6, action: .putObject, metric: .bytes)
        let reading = try decided(request(), [grant], quotas: quotas + [bytes]).permit
        #expect(reading.scope.actions == [.getObject])
        #expect(reading.omissions.map(\.action) == [.putObject] && reading.omissions[0].reason.code == "NotEnforceable")
        #expect(reading.charges.map(\.quota.id) == [Fixture.id(8), Fixture.id(9)])
        #expect(try decided(request(actions: [.getObject]), [grant], quotas: [bytes]).error == nil)
        // Where nothing else is left, or the request names uploads, the refusal says why.
        let uploads = try Fixture.sessionGrant(2, actions: [.putObject])
        for verdict in try [
            decided(request(), [uploads], quotas: [bytes]),
            decided(request(actions: [.putObject, .getObject]), [grant], quotas: [bytes]),
        ] {
            guard case .notEnforceable(let reason) = verdict.error else {
                Issue.record("Bytes would not be limited.")
                continue
            }
            #expect(reason.hasPrefix("PutObject: A quota limits bytes"))
        }
        let elsewhere = try Fixture.quota(5, bucket: "other-bucket", action: .putObject, metric: .bytes)
        #expect(try decided(request(), [grant], quotas: [elsewhere]).permit.scope.actions.count == 2)
    }

    @Test("names nothing in which a wildcard or a variable could hide")
    func names() throws {
        for prefix in ["*", "team/?/", "team/*/", "a\u{85}b/"] {
            #expect(refusedField { try request(prefix) } == "prefix", "\(prefix)")
            let grant = try Fixture.sessionGrant(1, on: prefix)
            #expect(try decided(request(""), [grant]).permitOrNil == nil, "\(prefix)")
            let denying = try Fixture.sessionGrant(2, on: prefix, effect: .deny)
            #expect(
                try decided(request(""), [Fixture.sessionGrant(3, on: ""), denying]).permitOrNil == nil, "\(prefix)")
        }
        let template = try Fixture.sessionGrant(4, on: "users/${claim:tenant}/")
        for value in ["*", "a?b", "${x}", "a/b", "..", ""] {
            #expect(try decided(request(""), [template], claims: ["tenant": value]).error == .accessDenied, "\(value)")
        }
        let permit = try decided(request("users/"), [template], claims: ["tenant": #"a"b é😀"#]).permit
        let scope = permit.scope
        let text = SessionPolicyDialect.aws.policy(of: scope)
        #expect(text.utf8.allSatisfy { 0x20...0x7e ~= $0 })
        #expect(text.contains(#"demo-bucket/users/a\"b \u00e9\ud83d\ude00/*""#))
    }

    @Test("with a ticket goes no further than the ticket, and uses it once")
    func tickets() throws {
        let ticket = Ticket(
            id: Fixture.id(77), name: "abcdefghijkl", hash: DigestAlgorithm.sha256.digest(of: "0"),
            principal: try Principal("user:alice"), groups: [], claims: [:], issuedOn: nil,
            bucket: try BucketName("demo-bucket"), prefix: ExactText("team/a/"), actions: [.getObject], maxUses: 5,
            expiresAt: Fixture.now.addingTimeInterval(60), createdAt: Fixture.now)
        let grant = try Fixture.sessionGrant(1, on: "")
        let permit = try decided(request("team/a/b/", actions: [.getObject]), [grant], ticket: ticket).permit
        #expect(permit.charges.map(\.quota.limit) == [5])
        #expect(try decided(request("team/", actions: [.getObject]), [grant], ticket: ticket).error == .accessDenied)
        #expect(try decided(request("team/a/", actions: [.putObject]), [grant], ticket: ticket).error == .accessDenied)
        #expect(try decided(request("team/a/"), [grant], ticket: ticket).error == .accessDenied)
        let download = decide(
            try Fixture.get("team/a/x"), for: Subject(principal: ticket.principal, ticket: ticket),
            under: try Fixture.policy(grants: [grant]), sourceAddress: nil, now: Fixture.now)
        #expect(try download.permit.charges.map(\.quota.id) == [ticket.id])
        let upload = decide(
            try Fixture.put("team/a/x"), for: Subject(principal: ticket.principal, ticket: ticket),
            under: try Fixture.policy(grants: [grant]), sourceAddress: nil, now: Fixture.now)
        #expect(upload.error == .accessDenied)
        let elsewhere = decide(
            try Fixture.get("team/ab"), for: Subject(principal: ticket.principal, ticket: ticket),
            under: try Fixture.policy(grants: [grant]), sourceAddress: nil, now: Fixture.now)
        #expect(elsewhere.error == .accessDenied)
    }
}

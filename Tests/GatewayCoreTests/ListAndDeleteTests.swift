import Foundation
import Testing

@testable import GatewayCore

/// Decisions about listings and deletions, and that everything granted before says nothing about them.
@Suite struct ListAndDeleteTests {
    private func list(
        _ prefix: String, _ change: (inout IssueRequest.Fields) -> Void = { _ in }
    ) throws -> IssueRequest {
        var fields = IssueRequest.Fields()
        (fields.action, fields.bucket, fields.prefix) = ("ListObjects", "demo-bucket", prefix)
        change(&fields)
        return try IssueRequest(fields)
    }

    private func delete(_ key: String) throws -> IssueRequest {
        var fields = IssueRequest.Fields()
        (fields.action, fields.bucket, fields.key) = ("DeleteObject", "demo-bucket", key)
        return try IssueRequest(fields)
    }

    private func error(_ request: IssueRequest, _ grants: [Grant], claims: [String: String] = [:]) throws
        -> GatewayError?
    {
        try Fixture.decided(request, under: Fixture.policy(grants: grants), claims: claims).error
    }

    @Test func `Grants of before allow nothing new, whatever their form`() throws {
        for prefix in ["", "team/", "team/a", "users/${sub}/"] {
            for actions: Set<Action> in [[.putObject], [.getObject], [.putObject, .getObject]] {
                let grants = [try Fixture.grant(1, on: prefix, actions: actions)]
                for request in [
                    try list("team/"), try list(""), try delete("team/a"), try list("users/alice/"),
                    try delete("users/alice/a"),
                ] { #expect(try error(request, grants) == .accessDenied) }
            }
        }
    }

    @Test func `A deny of before denies nothing new, and a deny of the new actions nothing of before`() throws {
        let all: Set<Action> = Set(Action.allCases)
        let allow = try Fixture.grant(1, actions: all)
        let before = try Fixture.grant(2, on: "", actions: Action.transfers, effect: .deny)
        #expect(try error(list("team/"), [allow, before]) == nil)
        #expect(try error(delete("team/a"), [allow, before]) == nil)
        #expect(try error(Fixture.get("team/a"), [allow, before]) == .accessDenied)
        let new = try Fixture.grant(3, on: "", actions: [.listObjects, .deleteObject], effect: .deny)
        #expect(try error(list("team/"), [allow, new]) == .accessDenied)
        #expect(try error(delete("team/a"), [allow, new]) == .accessDenied)
        #expect(try error(Fixture.get("team/a"), [allow, new]) == nil)
    }

    @Test func `A listing lies inside the grant`() throws {
        let grants = [try Fixture.grant(1, on: "team/a/", actions: [.listObjects])]
        for inside in ["team/a/", "team/a/b", "team/a/b/", "team/a/b/c"] {
            #expect(try error(list(inside), grants) == nil)
        }
        for outside in ["", "team/", "team/a", "team/ab", "team/ab/", "team/b/", "t"] {
            #expect(try error(list(outside), grants) == .accessDenied, "\(outside)")
        }
        let template = [try Fixture.grant(1, on: "users/${sub}/", actions: [.listObjects])]
        #expect(try error(list("users/alice/"), template) == nil)
        #expect(try error(list("users/alice/x"), template) == nil)
        #expect(try error(list("users/"), template) == .accessDenied)
        #expect(try error(list("users/bob/"), template) == .accessDenied)
    }

    @Test func `A listing that would show a denied key is refused, whichever way it is denied`() throws {
        let allow = try Fixture.grant(1, actions: [.listObjects])
        func isRefused(_ listed: String, by denied: String, claims: [String: String] = [:]) throws -> Bool {
            let deny = try Fixture.grant(2, to: "group:staff", on: denied, actions: [.listObjects], effect: .deny)
            return try error(list(listed), [allow, deny], claims: claims) == .accessDenied
        }
        for denied in ["team/a/", "team/a", "team/", "", "team/ab/c/", "team/a/b"] {
            #expect(try isRefused("team/", by: denied), "\(denied)")
        }
        #expect(try isRefused("team/a", by: "team/ab"))
        #expect(try isRefused("team/a/b", by: "team/a/"))
        #expect(try isRefused("team/x/", by: "team/x/${claim:tenant}/"), "an unknown claim denies all below")
        #expect(try isRefused("team/x/", by: "team/x/${claim:tenant}/", claims: ["tenant": "t"]))
        for denied in ["team/b/", "team/ab", "other/", "team/b"] {
            #expect(try !isRefused("team/a/", by: denied), "\(denied)")
        }
        #expect(try !isRefused("team/a/", by: "team/a"), "one whole key, which the listing does not show")
    }

    @Test func `A grant on one key permits its deletion, and no listing`() throws {
        let grant = try Fixture.grant(1, on: "team/a", actions: [.listObjects, .deleteObject])
        #expect(try error(delete("team/a"), [grant]) == nil)
        #expect(try error(delete("team/ab"), [grant]) == .accessDenied)
        #expect(try error(list("team/a"), [grant]) == .accessDenied)
        #expect(refusedField { try grant.validated() } == "prefix")
        #expect(
            refusedField { try Fixture.grant(1, on: "users/${sub}", actions: [.listObjects]).validated() } == "template"
        )
        #expect(
            refusedField { try Fixture.grant(1, on: "team/a", actions: [.listObjects], effect: .deny).validated() }
                == nil)
    }

    @Test func `Life, validity and addresses apply; conditions on transfers have no effect`() throws {
        let conditions = GrantConditions(
            contentTypes: ["image/*"], maxBytes: 1, requireContentMD5: true, maxTTL: 60, forceDownload: true)
        let grant = try Fixture.grant(1, actions: Set(Action.allCases), conditions: conditions)
        for request in [try list("team/"), try delete("team/a")] {
            let permit = try Fixture.decided(request, under: Fixture.policy(grants: [grant])).permit
            #expect(permit.expiresIn == 60 && permit.expiryOrigin == .grantMaxTTL && permit.headers.isEmpty)
            var limited = grant
            limited.conditions.sourceCIDRs = ["192.0.2.0/24"]
            let policy = try Fixture.policy(grants: [limited])
            #expect(try Fixture.decided(request, under: policy).error == .conditionFailed(.sourceAddress))
            #expect(try Fixture.decided(request, under: policy, from: "192.0.2.7").error == nil)
            var ended = grant
            ended.notAfter = Fixture.now
            #expect(try error(request, [ended]) == .conditionFailed(.noLongerValid))
        }
        for actions: Set<Action> in [[.listObjects], [.deleteObject], [.listObjects, .deleteObject]] {
            #expect(
                refusedField { try Fixture.grant(1, actions: actions, conditions: conditions).validated() }
                    == "conditions.contentTypes")
        }
    }

    @Test func `A link without a signed prefix or version is refused with advice`() throws {
        let grant = try Fixture.grant(1, actions: [.listObjects, .deleteObject])
        for scheme in Bucket.Scheme.allCases {
            let policy = try Fixture.policy(grants: [grant], bucket: Fixture.bucket(scheme: scheme))
            let (listing, deletion) = (
                try Fixture.decided(list("team/"), under: policy).error,
                try Fixture.decided(delete("team/a"), under: policy).error
            )
            switch scheme {
            case .awsV4, .ossV4, .gcsV4RSA, .gcsV4HMAC: #expect(listing == nil && deletion == nil)
            case .awsV2, .ossV1, .gcsV2RSA:
                guard case .notEnforceable(let reason) = listing else {
                    Issue.record("\(scheme) lists")
                    continue
                }
                #expect(reason.contains("whole bucket") && reason.contains("aws-v4"))
                if case .notEnforceable = deletion {
                    #expect(scheme == .gcsV2RSA)
                } else {
                    #expect(scheme != .gcsV2RSA)
                }
            }
        }
    }

    static let badListings: [BadField] = [
        BadField("prefix") { $0.prefix = nil }, BadField("key") { $0.key = "a" },
        BadField("prefix") { $0.prefix = "/a" }, BadField("prefix") { $0.prefix = "a/../b" },
        BadField("prefix") { $0.prefix = "a//" }, BadField("prefix") { $0.prefix = "a\u{1}" },
        BadField("prefix") { $0.prefix = String(repeating: "a", count: 1024) },
        BadField("prefix") { $0.prefix = "${sub}/" },
        BadField("list.maxKeys") { $0.list?.maxKeys = 0 }, BadField("list.maxKeys") { $0.list?.maxKeys = 1001 },
        BadField("list.delimiter") { $0.list?.delimiter = "" },
        BadField("list.delimiter") { $0.list?.delimiter = "\n" },
        BadField("list.continuationToken") { $0.list?.continuationToken = String(repeating: "a", count: 2049) },
        BadField("list.startAfter") { $0.list?.startAfter = "" },
        BadField("list.encodingType") { $0.list?.encodingType = "base64" },
        BadField("method") { $0.method = "HEAD" }, BadField("versionID") { $0.versionID = "1" },
        BadField("contentType") { $0.contentType = "a/b" },
    ]

    @Test(arguments: badListings) func `A listing's members are checked`(_ bad: BadField) {
        #expect(
            refusedField {
                try list("team/") {
                    $0.list = Listing.Fields()
                    bad.change(&$0)
                }
            } == bad.field)
    }

    @Test func `Members of a listing fit no other action, and a deletion has none of its own`() throws {
        #expect(refusedField { try Fixture.get { $0.prefix = "a/" } } == "prefix")
        #expect(refusedField { try Fixture.put { $0.list = Listing.Fields() } } == "list")
        var fields = IssueRequest.Fields()
        (fields.action, fields.bucket, fields.key) = ("s3:DeleteObject", "demo-bucket", "a")
        #expect(try IssueRequest(fields).method == .delete)
        for change: (inout IssueRequest.Fields) -> Void in [
            { $0.versionID = "1" }, { $0.contentLength = 1 }, { $0.ifNoneMatch = "*" }, { $0.process = "a" },
        ] {
            var other = fields
            change(&other)
            #expect(refusedField { try IssueRequest(other) } != nil)
        }
    }

    @Test func `Quotas count by action, and quotas on all actions count the new ones`() throws {
        let grant = try Fixture.grant(1, actions: Set(Action.allCases))
        let quotas =
            try [nil, Action.listObjects, .deleteObject, .getObject].enumerated().map {
                try Fixture.quota($0, action: $1)
            } + [Fixture.quota(9, action: .putObject, metric: .bytes)]
        let policy = try Fixture.policy(grants: [grant], quotas: quotas)
        #expect(
            try Fixture.decided(list("team/"), under: policy).permit.charges.map(\.quota.id) == [0, 1].map(Fixture.id))
        #expect(
            try Fixture.decided(delete("team/a"), under: policy).permit.charges.map(\.quota.id)
                == [0, 2].map(Fixture.id))
        for action in [Action.getObject, .listObjects, .deleteObject] {
            #expect(refusedField { try Fixture.quota(1, action: action, metric: .bytes).validated() } == "action")
        }
    }

    // MARK: - Sessions

    private func session(
        _ grants: [Grant], _ prefix: String = "team/", _ actions: Set<Action>? = nil
    ) throws -> Verdict<SessionPermit> {
        decideSession(
            try SessionRequest(bucket: BucketName("demo-bucket"), prefix: prefix, actions: actions, duration: nil),
            for: Subject(principal: try Principal("user:alice")), under: try Fixture.policy(grants: grants),
            sourceAddress: nil, now: Fixture.now)
    }

    @Test func `A session's policy narrows listing by the prefix, and deletion by the object`() throws {
        let grants = [
            try Fixture.sessionGrant(1, on: "team/a/", actions: [.listObjects, .deleteObject, .getObject]),
            try Fixture.sessionGrant(2, on: "team/b/", actions: [.listObjects]),
            try Fixture.sessionGrant(3, on: "team/a/sealed/", actions: [.deleteObject], effect: .deny),
        ]
        let permit = try session(grants).permit
        #expect(
            SessionPolicyDialect.aws.policy(of: permit.scope)
                == #"{"Version":"2012-10-17","Statement":["#
                + #"{"Effect":"Allow","Action":["s3:GetObject","s3:DeleteObject"],"Resource":["arn:aws:s3:::demo-bucket/team/a/*"]},"#
                + #"{"Effect":"Deny","Action":["s3:DeleteObject"],"Resource":["arn:aws:s3:::demo-bucket/team/a/sealed/*"]},"#
                + #"{"Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::demo-bucket"],"#
                + #""Condition":{"StringLike":{"s3:prefix":["team/a/*","team/b/*"]}}}]}"#)
        for dialect in SessionPolicyDialect.allCases {
            let text = dialect.policy(of: permit.scope)
            func holds(_ text: String) -> Bool { (try? prove(text, in: dialect, by: permit)) != nil }
            #expect(holds(text))
            let word = dialect == .aws ? "s3:prefix" : "oss:Prefix"
            for (old, new) in [
                ("team/b/*\"", "team/*\""), (#","team/b/*""#, ""), (word, "s3:delimiter"),
                ("StringLike", "StringNotLike"),
                (#","Condition":{"StringLike":{"\#(word)":["team/a/*","team/b/*"]}}"#, ""),
                (dialect == .aws ? "s3:ListBucket" : "oss:ListObjects", "s3:ListBucketVersions"),
                (#""StringLike":{"#, #""StringLike":{"x":["y"],"#),
            ] {
                let changed = text.replacing(old, with: new, maxReplacements: 1)
                #expect(changed != text && !holds(changed), "\(old)")
            }
        }
    }

    @Test func `A session of the whole bucket lists it without a condition`() throws {
        let permit = try session([Fixture.sessionGrant(1, on: "", actions: [.listObjects])], "").permit
        let text = SessionPolicyDialect.alibaba.policy(of: permit.scope)
        #expect(text.contains(#""Resource":["acs:oss:*:*:demo-bucket"]"#) && !text.contains("Condition"))
        try prove(text, in: .alibaba, by: permit)
    }

    @Test func `A session lists nothing of which a part is denied, and says so`() throws {
        let grants = [
            try Fixture.sessionGrant(1, actions: [.listObjects, .getObject]),
            try Fixture.sessionGrant(2, on: "team/sealed/", actions: [.listObjects], effect: .deny),
        ]
        let permit = try session(grants).permit
        #expect(permit.scope.actions == [.getObject])
        #expect(permit.omissions.contains { $0.action == .listObjects && $0.prefix.rawValue == "team/" })
        guard case .refuse(let refusal) = try session(grants, "team/", [.listObjects]),
            case .notEnforceable = refusal.error
        else {
            Issue.record("a listing that shows denied keys")
            return
        }
        #expect(
            try session(grants, "team/open/", [.listObjects]).permit.scope.allowed(.listObjects).map(\.rawValue) == [
                "team/open/"
            ])
    }

    @Test func `Sessions of before are the same, and say nothing of the new actions`() throws {
        let permit = try session([Fixture.sessionGrant(1)]).permit
        #expect(permit.scope.actions == Action.transfers && permit.omissions.isEmpty)
        let reader = try session([Fixture.sessionGrant(1, actions: [.getObject])]).permit
        #expect(reader.omissions.map(\.action) == [.putObject])
    }

    @Test func `A session on one key lists nothing`() throws {
        let grants = [try Fixture.sessionGrant(1, actions: [.listObjects, .deleteObject])]
        #expect(try session(grants, "team/a").permit.scope.actions == [.deleteObject])
    }
}

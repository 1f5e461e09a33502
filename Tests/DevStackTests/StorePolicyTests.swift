import Bytes
import Signing
import Testing

@testable import DevStack
@testable import GatewayCore

@Suite struct StorePolicyTests {
    @Test(arguments: [
        ("a*", "a", true), ("a*", "ab/c", true), ("*", "", true), ("a?c", "abc", true), ("a?c", "ac", false),
        ("a*c", "abcd", false), ("a*b*c", "a-b-b-c", true), ("mine/*", "mines/a", false), ("mine/a", "mine/ab", false),
    ])
    func `patterns match whole texts`(pattern: String, text: String, matches: Bool) {
        #expect(SessionPolicy.matches(pattern, text) == matches)
    }

    @Test(arguments: [
        "", "[]", #"{"Version":"1","Statement":[]}"#, #"{"Version":"2012-10-17"}"#,
        #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*"}]}"#,
        #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","NotAction":"s3:*","Resource":"*"}]}"#,
        #"{"Version":"2012-10-17","Statement":[{"Effect":"Maybe","Action":"s3:*","Resource":"*"}]}"#,
        #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{}}]}"#,
        #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{"StringNotLike":{"s3:prefix":"a"}}}]}"#,
        #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{"StringLike":{"oss:Prefix":"a"}}}]}"#,
        #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{"StringLike":{"s3:prefix":"a","s3:delimiter":"/"}}}]}"#,
    ])
    func `a policy that the store cannot evaluate is refused`(text: String) {
        #expect(throws: SessionPolicy.Malformed.self) { try SessionPolicy(text, language: .aws) }
    }

    @Test func `a listing is narrowed by its prefix`() throws {
        let policy = try SessionPolicy(
            #"""
            {"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:ListBucket"],
            "Resource":["arn:aws:s3:::b"],"Condition":{"StringLike":{"s3:prefix":["team/a/*","team/b/*"]}}}]}
            """#, language: .aws)
        func lists(_ prefix: String?, in bucket: String = "b") -> Bool {
            policy.permits(
                "s3:ListBucket", on: PolicyLanguage.aws.resource(.bucket(bucket)),
                properties: prefix.map { [.prefix: $0] } ?? [:])
        }
        #expect(lists("team/a/") && lists("team/b/c"))
        #expect(!lists(nil) && !lists("") && !lists("team/") && !lists("team/ab/") && !lists("team/a/", in: "c"))
    }

    @Test func `a session of OSS uploads nothing that everybody can read`() throws {
        let scope = try SessionScope(tryingIn: BucketName("photos"), below: "a/")
        let policy = try SessionPolicy(SessionPolicyDialect.alibaba.policy(of: scope), language: .alibaba)
        func uploads(_ acl: String?, _ key: String = "a/x") -> Bool {
            policy.permits(
                "oss:PutObject", on: PolicyLanguage.alibaba.resource(.object(ObjectName(bucket: "photos", key: key))),
                properties: acl.map { [.objectACL: $0] } ?? [:])
        }
        #expect(uploads(nil) && uploads("default") && uploads("private"))
        #expect(!uploads("public-read") && !uploads("public-read-write") && !uploads(nil, "b/x"))
    }

    @Test func `a deny overrides every allow, and nothing is allowed by itself`() throws {
        let policy = try SessionPolicy(
            #"""
            {"Version":"1","Statement":[{"Effect":"Allow","Action":["oss:*"],"Resource":["acs:oss:*:*:b/a/*"]},
            {"Effect":"Deny","Action":"oss:PutObject","Resource":"acs:oss:*:*:b/a/x/*"}]}
            """#, language: .alibaba)
        func permits(_ action: String, _ key: String) -> Bool {
            let place = StorePlace.object(ObjectName(bucket: "b", key: key))
            return policy.permits(action, on: PolicyLanguage.alibaba.resource(place))
        }
        #expect(permits("oss:PutObject", "a/1"))
        #expect(permits("oss:GetObject", "a/x/1"))
        #expect(!permits("oss:PutObject", "a/x/1"))
        #expect(!permits("oss:PutObject", "ab"))
        #expect(!permits("s3:PutObject", "a/1"))
    }

    @Test(arguments: [
        ("acs:oss:*:*:b/a/*", "acs:oss:local:1:b/a/k", true), ("acs:oss:*:*:b/a/*", "acs:oss:local:1:b/a/x:y", true),
        // The account of the pattern must not cover a bucket and the beginning of a key.
        ("acs:oss:*:*:b/a/*", "acs:oss:local:1:other/x:b/a/k", false), ("acs:oss:*:b/a/*", "acs:oss:1:2:b/a/k", false),
        ("arn:aws:s3:::b/a/*", "arn:aws:s3:::b/a/k:l", true), ("arn:aws:s3:*:b/*", "arn:aws:s3:::b/k", false),
        ("arn:aws:s3:*:*:b/*", "arn:aws:s3:::c/x:b/k", false), ("*", "arn:aws:s3:::b/k", true),
    ])
    func `a star ends with its part of a name`(pattern: String, resource: String, covers: Bool) throws {
        #expect(SessionPolicy.covers(pattern, resource) == covers)
        let language = resource.hasPrefix("acs:") ? PolicyLanguage.alibaba : .aws
        let policy = try SessionPolicy(
            #"""
            {"Version":"\#(language.version)","Statement":{"Effect":"Allow","Action":"x:Get","Resource":"\#(pattern)"}}
            """#, language: language)
        #expect(policy.permits("x:Get", on: resource) == covers)
    }
}

@Suite struct StoreFormPolicyTests {
    private func policy(_ conditions: String) throws -> FormPolicy {
        let text = #"{"expiration":"2026-01-02T03:05:05.000Z","conditions":[\#(conditions)]}"#
        return try FormPolicy(base64: Base64.encode(Array(text.utf8)))
    }

    private func isAccepted(
        _ conditions: String, _ fields: [String: String], _ dialect: StoreDialect = .s3,
        at now: SigningInstant = StoreFixture.signedAt
    ) throws -> Bool {
        let policy = try policy(conditions)
        do {
            try policy.check(fields, dialect, at: now)
            return true
        } catch {
            #expect(error.code == "AccessDenied")
            return false
        }
    }

    @Test func `every field has to be in the policy, the bucket too`() throws {
        let bucket = #"{"bucket":"demo"}"#
        let key = #"["starts-with","$key","a/"]"#
        let fields = ["bucket": "demo", "key": "a/b", "policy": "p", "x-amz-signature": "s", "x-ignore-me": "i"]
        #expect(try isAccepted("\(bucket),\(key)", fields))
        #expect(try !isAccepted(key, fields))
        #expect(try !isAccepted(bucket, fields))
        #expect(try !isAccepted("\(bucket),\(key)", fields.merging(["bucket": "other"]) { $1 }))
        #expect(try !isAccepted("\(bucket),\(key)", fields.merging(["key": "ab"]) { $1 }))
        for name in ["acl", "content-type", "x-amz-meta-a", "success_action_redirect", "x-amz-security-token"] {
            #expect(try !isAccepted("\(bucket),\(key)", fields.merging([name: "v"]) { $1 }), "\(name)")
        }
    }

    @Test func `a policy ends at its expiration`() throws {
        let fields = ["bucket": "demo"]
        for (seconds, isAlive) in [(59, true), (60, false), (61, false)] {
            let now = StoreFixture.instant(StoreFixture.signedAt.epochSeconds + Int64(seconds))
            #expect(try isAccepted(#"{"bucket":"demo"}"#, fields, at: now) == isAlive, "after \(seconds) s")
        }
    }

    @Test func `a length is in every range`() throws {
        #expect(try policy("").lengths == 0...Int64.max)
        let two = #"["content-length-range",1,10],["content-length-range","5","20"]"#
        #expect(try policy(two).lengths == 5...10)
        for wrong in [
            #"["content-length-range",1,4],["content-length-range",5,9]"#, #"["content-length-range",2,1]"#,
            #"["content-length-range",-1,1]"#, #"["content-length-range",1]"#, #"["content-length-range",1.5,2]"#,
            #"["ends-with","$key","a"]"#, #"["eq","key","a"]"#, #"{"key":1}"#, #"["eq","$key",1]"#,
        ] {
            #expect(throws: StoreError.self, "\(wrong)") { try policy(wrong) }
        }
    }
}

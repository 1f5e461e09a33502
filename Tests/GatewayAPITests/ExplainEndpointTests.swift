import Foundation
import GatewayCore
import HTTPTypes
import Testing

@Suite("An explanation")
struct ExplainEndpointTests {
    private func explain(_ json: String, token: String = "auditor-token") async -> TestAnswer {
        await TestGateway().send(.post, "/admin/v1/explain", token: token, json: json)
    }

    @Test("is for auditors, and says what the caller would be told")
    func refusal() async throws {
        let question = #"{"principal":"user:alice","action":"GetObject","bucket":"photos","key":"private/a"}"#
        #expect(await explain(question, token: "user-token").status == 403)
        let answer = await explain(question)
        #expect(answer.status == 200 && answer.json["permitted"] as? Bool == false)
        #expect(answer.string("reason") == "not-granted")
        let told = try #require(answer.json["told"] as? [String: Any])
        #expect(told["code"] as? String == "AccessDenied" && told["status"] as? Int == 403 && told["detail"] == nil)
        let misses = try #require(answer.json["nearMisses"] as? [[String: Any]])
        #expect(misses.map { $0["differs"] as? String } == ["prefix"])
        #expect(misses.map { $0["prefix"] as? String } == ["uploads/"])
    }

    @Test("shows what would be signed, and no secret")
    func permission() async throws {
        let answer = await explain(
            """
            {"principal":"user:alice","action":"PutObject","bucket":"photos","key":"uploads/a.png",
             "contentType":"image/png","contentLength":7,"expiresIn":60}
            """)
        #expect(answer.json["permitted"] as? Bool == true)
        let url = try #require(answer.json["url"] as? [String: Any])
        #expect(url["expiresIn"] as? Int == 60 && url["enforcedBy"] as? String == "signature")
        #expect(answer.json["told"] == nil)
        #expect(!answer.text.contains(StubPolicy.secret) && !answer.text.contains("Signature="))
        let quota = try #require((answer.json["quotas"] as? [[String: Any]])?.first)
        #expect(quota["remaining"] as? Int == 42 && quota["takes"] as? Int == 1)
    }

    @Test("names a quota that is used up to a delegated admin only where it lies inside")
    func hiddenQuota() async throws {
        var quota = try StubPolicy.quota()
        quota.metric = .bytes
        let question = """
            {"principal":"user:alice","action":"PutObject","bucket":"photos","key":"uploads/a.png",
             "contentType":"image/png","contentLength":43}
            """
        for isNamed in [false, true] {
            let scope = try AdminScope(
                bucket: BucketName("photos"), prefix: "uploads/",
                principals: isNamed ? [PrincipalPattern("user:alice")] : nil)
            let gateway = TestGateway(
                policy: StubPolicy(quota: quota), authenticator: DelegatedAuditor(scope: scope))
            let answer = await gateway.send(.post, "/admin/v1/explain", token: "any", json: question)
            #expect(answer.string("reason") == "quota-exceeded", "\(answer.text)")
            let told = try #require(answer.json["told"] as? [String: Any])
            #expect(told["code"] as? String == "QuotaExceeded" && told["status"] as? Int == 429)
            for member in ["quota", "remaining", "detail"] {
                #expect((told[member] != nil) == isNamed, "\(answer.text)")
            }
            #expect((answer.json["quotas"] as? [[String: Any]])?.isEmpty == !isNamed)
        }
    }

    @Test(
        "is given only for redirects that exist",
        arguments: [
            (#""action":"GetObject","key":"uploads/a.png""#, true),
            (#""action":"GetObject","key":"a","method":"HEAD""#, true),
            (#""action":"GetObject","key":"a","versionID":"v""#, true),
            (#""action":"PutObject","key":"uploads/a.png","contentType":"image/png""#, false),
            (#""action":"GetObject","key":"a","expiresIn":60"#, false),
            (#""action":"GetObject","key":"a","response":{"contentType":"text/plain"}"#, false),
            (#""action":"ListObjects","prefix":"a/""#, false),
        ])
    func redirects(_ members: String, _ exists: Bool) async {
        let answer = await explain(
            #"{"principal":"user:alice","delivery":"redirect","bucket":"photos",\#(members)}"#)
        #expect(answer.status == (exists ? 200 : 400), "\(answer.text)")
        if !exists { #expect(answer.string("field") == "delivery") }
    }

    @Test(
        "says of a request that nobody may make what is wrong with it",
        arguments: [
            (#""bucket":"photos","key":"a/../b""#, "key"), (#""bucket":"photos","key":"""#, "key"),
            (#""bucket":"PHOTOS","key":"a""#, "bucket"), (#""bucket":"photos","key":"a","expiresIn":0"#, "expiresIn"),
            (#""bucket":"photos","key":"a","contentType":"image/png""#, "contentType"),
        ])
    func invalid(_ members: String, _ field: String) async {
        let answer = await explain(#"{"principal":"user:alice","action":"GetObject",\#(members)}"#)
        #expect(answer.status == 200 && answer.string("reason") == "invalid-request", "\(answer.text)")
        #expect((answer.json["told"] as? [String: Any])?["field"] as? String == field)
    }

    @Test("names an unknown bucket to admins and not to callers")
    func unknownBucket() async {
        let answer = await explain(#"{"principal":"user:alice","action":"GetObject","bucket":"nowhere","key":"a"}"#)
        #expect(answer.string("reason") == "no-such-bucket")
        #expect((answer.json["told"] as? [String: Any])?["code"] as? String == "AccessDenied")
    }

    @Test("of a token of an unknown issuer is that it is not accepted")
    func unknownIssuer() async {
        let answer = await explain(
            #"{"issuer":"https://x","claims":{"sub":"a"},"action":"GetObject","bucket":"photos","key":"a"}"#)
        #expect(answer.string("reason") == "unauthenticated")
        #expect((answer.json["told"] as? [String: Any])?["status"] as? Int == 401)
    }

    @Test("of an issuance is the grant as it stood")
    func issuance() async throws {
        let answer = await explain(#"{"issuanceID":"\#(StubPolicy.grantID)"}"#)
        #expect(answer.string("reason") == "recorded" && answer.json["decidedBy"] != nil)
        #expect((answer.json["policy"] as? [String: Any])?["sequence"] as? Int == 7)
        #expect((answer.json["issuance"] as? [String: Any])?["key"] as? String == "uploads/")
        #expect(
            await explain(#"{"issuanceID":"018f0000-0000-7000-8000-0000000000ff"}"#).string("code") == "NoSuchIssuance")
    }

    @Test(
        "is not given on a question that is none",
        arguments: [
            (#"{}"#, "action"), (#"{"action":"GetObject","bucket":"photos"}"#, "key"),
            (#"{"action":"GetObject","bucket":"photos","key":"a"}"#, "principal"),
            (#"{"principal":"user:a","issuer":"x","action":"GetObject","bucket":"photos","key":"a"}"#, "principal"),
            (#"{"principal":"group:a","action":"GetObject","bucket":"photos","key":"a"}"#, "principal"),
            (#"{"principal":"user:a","groups":["user:b"],"action":"GetObject","bucket":"p","key":"a"}"#, "groups[0]"),
            (#"{"principal":"user:a","claims":{"t":1},"action":"GetObject","bucket":"p","key":"a"}"#, "claims"),
            (#"{"issuer":"x","action":"GetObject","bucket":"photos","key":"a"}"#, "claims"),
            (#"{"issuer":"x","groups":["group:a"],"claims":{},"action":"GetObject","bucket":"p","key":"a"}"#, "groups"),
            (
                #"{"principal":"user:a","sourceAddress":"here","action":"GetObject","bucket":"p","key":"a"}"#,
                "sourceAddress"
            ),
            (#"{"principal":"user:a","delivery":"sts","action":"GetObject","bucket":"p","key":"a"}"#, "delivery"),
            (
                #"{"principal":"user:a","at":"2099-01-01T00:00:00Z","action":"GetObject","bucket":"photos","key":"a"}"#,
                "at"
            ),
            (
                #"{"principal":"user:a","at":"1990-01-01T00:00:00Z","action":"GetObject","bucket":"photos","key":"a"}"#,
                "at"
            ),
            (#"{"issuanceID":"x"}"#, "issuanceID"),
            (#"{"issuanceID":"018f0000-0000-7000-8000-00000000000e","key":"a"}"#, "key"),
            (#"{"principal":"user:a","colour":"red","action":"GetObject","bucket":"p","key":"a"}"#, "colour"),
        ])
    func malformed(_ json: String, _ field: String) async {
        let answer = await explain(json)
        #expect(answer.status == 400 && answer.string("field") == field, "\(answer.text)")
    }
}

/// Accepts every token as that of an auditor who is limited to a scope.
private struct DelegatedAuditor: Authenticator {
    let scope: AdminScope

    func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller {
        Caller(
            principal: try .user("auditor"), groups: [], roles: [ConferredRole(.auditor, in: [scope])], claims: [:],
            expiresAt: nil, token: token, scope: nil, position: StubPolicy.position)
    }
}

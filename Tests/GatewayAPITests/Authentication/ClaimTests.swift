import Foundation
import GatewayCore
import Testing

@Suite struct ClaimTests {
    private let start = Int(IssuerFixture.start)

    private func fixture(
        _ signer: TokenSigner, change: (inout Issuer) -> Void = { _ in }
    ) -> IssuerFixture {
        IssuerFixture([
            IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk())), change: change)
        ])
    }

    private func refusal(_ changes: [String: String?]) async throws -> GatewayError? {
        let signer = TokenSigner()
        return await fixture(signer).refusal(signer.token(IssuerFixture.claims(changes)))
    }

    @Test(arguments: [
        #""sluice""#, #"["other","sluice"]"#, #""other""#, #""Sluice""#, #""sluice ""#, "[]", "7", #"["sluice",7]"#,
        #"{"sluice":"sluice"}"#,
    ])
    func theAudienceIsExact(audience: String) async throws {
        let isGood = [#""sluice""#, #"["other","sluice"]"#].contains(audience)
        let expected = GatewayError.unauthenticated(reason: "The token is for another audience.")
        #expect(try await refusal(["aud": audience]) == (isGood ? nil : expected))
    }

    @Test(arguments: [nil, "null"] as [String?])
    func aMissingAudienceIsToldApart(audience: String?) async throws {
        let expected = GatewayError.unauthenticated(
            reason:
                "The token has no audience ('aud'); let the provider add one of those that the issuer's row accepts.")
        #expect(try await refusal(["aud": audience]) == expected)
    }

    @Test(arguments: [#""https://id.example/""#, #""https://ID.example""#, "7", #"["https://id.example"]"#, #""""#])
    func theIssuerIsExact(issuer: String) async throws {
        let expected = GatewayError.unauthenticated(reason: "The token is not accepted.")
        #expect(try await refusal(["iss": issuer]) == expected)
        #expect(try await refusal(["iss": nil]) == expected)
    }

    @Test func noTokenIsTheOperators() async throws {
        let signer = TokenSigner()
        let token = signer.token(IssuerFixture.claims(["sub": "\"bootstrap-admin\""]))
        let reserved = GatewayError.unauthenticated(reason: "The token's subject is a reserved name.")
        #expect(await fixture(signer, change: { $0.principalPrefix = "" }).refusal(token) == reserved)
        #expect(await fixture(signer, change: { $0.principalPrefix = "id:" }).refusal(token) == nil)
        let spread = signer.token(IssuerFixture.claims(["sub": "\"admin\""]))
        #expect(await fixture(signer, change: { $0.principalPrefix = "bootstrap-" }).refusal(spread) == reserved)
    }

    @Test func aTokenEndsAtItsExpiry() async throws {
        let signer = TokenSigner()
        let token = signer.token(IssuerFixture.claims(["exp": "\(start + 100)"]))
        for (offset, expected) in [(99.9, nil), (100.0, GatewayError.expiredToken), (100.1, .expiredToken)] {
            // Once met for the first time then, once known from before.
            let fresh = fixture(signer)
            fresh.clock.value += offset
            #expect(await fresh.refusal(token) == expected)
            let known = fixture(signer)
            #expect(await known.refusal(token) == nil)
            known.clock.value += offset
            #expect(await known.refusal(token) == expected)
        }
        #expect(try await refusal(["exp": "\(start)"]) == .expiredToken)
        #expect(try await refusal(["exp": "\(start).5"]) == nil)
    }

    @Test func anExpiredForgeryIsNotCalledExpired() async throws {
        let token = TokenSigner().token(IssuerFixture.claims(["exp": "1"]))
        let expected = GatewayError.unauthenticated(reason: "The token is not accepted.")
        #expect(await fixture(TokenSigner()).refusal(token) == expected)
    }

    @Test(arguments: ["nbf", "iat"])
    func aTokenMayBeginAMinuteAhead(name: String) async throws {
        let expected = GatewayError.unauthenticated(reason: "The token is not valid yet.")
        #expect(try await refusal([name: "\(start)"]) == nil)
        #expect(try await refusal([name: "\(start + 60)"]) == nil)
        #expect(try await refusal([name: "\(start + 60).1"]) == expected)
        #expect(try await refusal([name: "\(start + 61)"]) == expected)
        #expect(try await refusal([name: "1e300"]) != nil)
        #expect(try await refusal([name: #""\#(start)""#]) != nil)
    }

    @Test(arguments: [nil, "null", #""1900003600""#, "1e400", "-1", "true", "[]", "253402300800"])
    func everyTokenHasANumberForExpiry(value: String?) async throws {
        #expect(
            try await refusal(["exp": value])
                == .unauthenticated(reason: "The token has no expiry time."))
    }

    @Test(arguments: [nil, "null", #""""#, "7", #"["alice"]"#, #""a\n""#, #""a\u0007b""#, #""a\u0085""#])
    func everyTokenHasASubjectOnOneLine(value: String?) async throws {
        guard case .unauthenticated(let reason, _) = try await refusal(["sub": value]) else {
            Issue.record("accepted")
            return
        }
        #expect(reason.contains("subject"))
        let long = "\"" + String(repeating: "a", count: 513) + "\""
        #expect(try await refusal(["sub": long]) != nil)
    }

    @Test func prefixesKeepIssuersApart() async throws {
        let signer = TokenSigner()
        let fixture = fixture(signer) { issuer in
            issuer.principalPrefix = "corp:"
            issuer.groupPrefix = "corp/"
            issuer.groupsClaim = "groups"
        }
        let caller = try await fixture.caller(
            signer.token(IssuerFixture.claims(["groups": #"["staff","","a\nb","ops"]"#])))
        #expect(caller.principal.rawValue == "user:corp:alice")
        #expect(caller.groups.map(\.rawValue) == ["group:corp/staff", "group:corp/ops"])
        #expect(await fixture.refusal(signer.token(IssuerFixture.claims(["sub": #""""#]))) != nil)
    }

    @Test func claimsAreFoundByNameOrPath() async throws {
        let signer = TokenSigner()
        let fixture = fixture(signer) { issuer in
            issuer.subjectClaim = "user.id"
            issuer.groupsClaim = "realm.roles"
            issuer.usableClaims = ["tenant", "org.name", "number", "absent"]
        }
        let caller = try await fixture.caller(
            signer.token(
                IssuerFixture.claims([
                    "user": #"{"id":"u-1"}"#, "realm": #"{"roles":"staff"}"#, "tenant": #""acme""#,
                    "org.name": #""literal""#, "org": #"{"name":"nested"}"#, "number": "7", "other": #""x""#,
                ])))
        #expect(caller.principal.rawValue == "user:u-1")
        #expect(caller.groups.map(\.rawValue) == ["group:staff"])
        #expect(caller.claims == ["tenant": "acme", "org.name": "literal"])
    }

    @Test func groupsThatCannotBeReadRefuseTheToken() async throws {
        let signer = TokenSigner()
        let fixture = fixture(signer) { $0.groupsClaim = "groups" }
        for groups in ["7", "{}", #"["staff",7]"#] {
            #expect(await fixture.refusal(signer.token(IssuerFixture.claims(["groups": groups]))) != nil)
        }
        let elsewhere = GatewayError.unauthenticated(
            reason: "The token refers to its groups elsewhere instead of listing them.")
        for (claim, value) in [
            ("_claim_names", #"{"groups":"src1"}"#), ("hasgroups", "true"), ("hasgroups", #""true""#),
        ] {
            let token = signer.token(IssuerFixture.claims([claim: value]))
            #expect(await fixture.refusal(token) == elsewhere, "\(claim)")
        }
        #expect(try await fixture.caller(signer.token(IssuerFixture.claims(["hasgroups": "false"]))).groups.isEmpty)
        let listed = signer.token(IssuerFixture.claims(["hasgroups": "true", "groups": #"["staff"]"#]))
        #expect(try await fixture.caller(listed).groups.map(\.rawValue) == ["group:staff"])
        #expect(try await fixture.caller(signer.token()).groups.isEmpty)
    }

    @Test func rolesComeOnlyFromIssuersThatMayConferThem() async throws {
        let signer = TokenSigner()
        let token = signer.token(IssuerFixture.claims(["roles": #"["admin","auditor","king"]"#]))
        #expect(try await fixture(signer).caller(token).roles.isEmpty)
        #expect(try await fixture(signer) { $0.rolesClaim = "roles" }.caller(token).roles.isEmpty)
        let limited = fixture(signer) { issuer in
            issuer.rolesClaim = "roles"
            issuer.roles = [.init(role: .auditor, values: ["auditor"])]
        }
        #expect(try await limited.caller(token).roles == [.auditor])
        #expect(try await limited.caller(signer.token()).roles.isEmpty)
    }

    @Test func `values confer roles, each with its own scopes, and other values nothing`() async throws {
        let signer = TokenSigner()
        let photos = try AdminScope(bucket: BucketName("photos"), prefix: "team-a/")
        let videos = try AdminScope(bucket: BucketName("videos"), prefix: "", principals: [PrincipalPattern("user:v*")])
        let fixture = fixture(signer) { issuer in
            issuer.rolesClaim = "realm.groups"
            issuer.roles = [
                .init(role: .admin, values: ["leads-a", "caf\u{e9}"], adminScopes: [photos]),
                .init(role: .auditor, values: ["watchers"], adminScopes: [videos]),
                .init(role: .auditor, values: ["audit-all"]),
                .init(role: .admin, values: ["sluice-admins"]),
            ]
        }
        func caller(_ groups: String) async throws -> Caller {
            try await fixture.caller(signer.token(IssuerFixture.claims(["realm": "{\"groups\":\(groups)}"])))
        }
        // A role's own name is no value, and values are compared by their bytes.
        for nothing in [#"["admin","auditor","LEADS-A","cafe\u0301"]"#, "[]", "7", "null", #"{"leads-a":true}"#] {
            #expect(try await caller(nothing).conferred.isEmpty, "\(nothing)")
        }
        let both = try await caller(#"["watchers","leads-a","leads-a"]"#)
        #expect(both.authority == AdminAuthority(sees: .limited([photos, videos]), changes: .limited([photos])))
        let wide = try await caller(#"["audit-all","leads-a"]"#)
        #expect(wide.authority == AdminAuthority(sees: .unlimited, changes: .limited([photos])))
        #expect(try await caller(#""sluice-admins""#).authority == .unlimited)
        #expect(try await caller(#"["watchers"]"#).authority.changes == .limited([]))
    }
}

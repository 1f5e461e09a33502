import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import JOSE
import Synchronization
import Testing

@testable import GatewayAPI

/// The check of an issuer that admins ask for.
@Suite struct IssuerValidationTests {
    private static let path = "/admin/v1/issuers/\(MemoryUploads.openID.lowercaseText):validate"
    private static let discovery = "https://id.example/.well-known/openid-configuration"
    private static let start = Date(timeIntervalSince1970: IssuerFixture.start)

    private static func document(
        issuer: String = "https://id.example", keys: String = IssuerFixture.url, more: String = ""
    ) -> String {
        #"{"issuer":"\#(issuer)","jwks_uri":"\#(keys)"\#(more)}"#
    }

    private func examine(
        _ issuer: Issuer, _ documents: StubIssuerDocuments, token: String? = nil, origin: String? = nil,
        at now: Date = start
    ) async -> IssuerValidation {
        await IssuerExaminer(documents: documents, now: { now }).examine(
            issuer, token: token.map { Secret($0) }, origin: origin)
    }

    private func outcomes(_ validation: IssuerValidation) -> [IssuerValidation.Step: IssuerValidation.Outcome] {
        Dictionary(validation.findings.map { ($0.step, $0.outcome) }) { first, _ in first }
    }

    // MARK: Discovery and keys

    @Test func `all is well with an issuer that publishes what its row says`() async throws {
        let signer = TokenSigner()
        let documents = StubIssuerDocuments([
            Self.discovery: Self.document(more: #","id_token_signing_alg_values_supported":["ES256"]"#),
            IssuerFixture.url: TokenSigner.set(signer.jwk(#","use":"sig","alg":"ES256""#)),
        ])
        let found = await examine(IssuerFixture.issuer(), documents)
        #expect(found.isValid && found.findings.allSatisfy { $0.outcome == .passed && $0.advice == nil })
        #expect(found.findings.map(\.step) == [.discovery, .issuer, .keysURL, .keySet, .keys, .algorithms])
        #expect(documents.urls == [Self.discovery, IssuerFixture.url])
        let key = try #require(found.keys.first)
        #expect(key.id == "k1" && key.type == "EC" && key.curve == "P-256" && key.bits == 256 && key.use == "sig")
        #expect(key.algorithm == "ES256" && key.usableWith == ["ES256"] && key.advice == nil)
        #expect(found.bearer == nil)
    }

    @Test func `what the discovery document says otherwise is named`() async throws {
        let keys = TokenSigner.set(TokenSigner().jwk())
        for (document, step, outcome, stated) in [
            (
                Self.document(issuer: "https://id.example/"), IssuerValidation.Step.issuer,
                IssuerValidation.Outcome.failed,
                "https://id.example/" as String?
            ),
            (Self.document(keys: "https://id.example/new"), .keysURL, .warned, "https://id.example/new"),
            (#"{"jwks_uri":"\#(IssuerFixture.url)"}"#, .issuer, .warned, nil),
            (#"{"issuer":"https://id.example"}"#, .keysURL, .warned, nil),
            (
                Self.document(more: #","id_token_signing_alg_values_supported":["RS256"]"#), .algorithms, .warned,
                "RS256"
            ),
            ("[]", .discovery, .warned, nil), ("<html>", .discovery, .warned, nil), ("", .discovery, .warned, nil),
        ] {
            let documents = StubIssuerDocuments([Self.discovery: document, IssuerFixture.url: keys])
            let found = await examine(IssuerFixture.issuer(), documents)
            let finding = try #require(found.findings.first { $0.step == step })
            #expect(finding.outcome == outcome && finding.found == stated, "\(document)")
            #expect(finding.advice?.isEmpty == false, "\(document)")
            #expect(found.isValid == (outcome != .failed), "\(document)")
        }
    }

    @Test(arguments: [
        ProbeFailure.blocked, .nameNotFound, .unreachable, .timedOut, .tls, .unreadable, .redirected(region: nil),
        .refused(status: 404, code: nil), .refused(status: 503, code: nil),
    ])
    func `a document that cannot be read is no fault in discovery, and one in the key set`(
        failure: ProbeFailure
    ) async throws {
        let keys = TokenSigner.set(TokenSigner().jwk())
        let hidden = StubIssuerDocuments([IssuerFixture.url: keys], failures: [Self.discovery: failure])
        let found = await examine(IssuerFixture.issuer(), hidden)
        #expect(found.isValid && outcomes(found)[.discovery] == .warned && outcomes(found)[.issuer] == .skipped)
        let silent = StubIssuerDocuments([Self.discovery: Self.document()], failures: [IssuerFixture.url: failure])
        let broken = await examine(IssuerFixture.issuer(), silent, token: "a.b.c")
        let finding = try #require(broken.findings.first { $0.step == .keySet })
        #expect(!broken.isValid && finding.outcome == .failed && finding.failure == failure && finding.advice != nil)
        #expect(failure != .blocked || finding.advice?.contains("SLUICE_OUTBOUND_ALLOW") == true)
        #expect(outcomes(broken)[.keys] == .skipped && outcomes(broken)[.algorithms] == .skipped)
    }

    @Test func `a name that is no URL has no discovery document`() async throws {
        let inline = IssuerFixture.issuer(
            keys: .inline(TokenSigner.set(TokenSigner().jwk())), name: "backend")
        let secret = IssuerFixture.issuer(
            keys: .secret(Secret(String(repeating: "s", count: 32))), algorithms: ["HS256"])
        for issuer in [inline, secret] {
            let documents = StubIssuerDocuments()
            let found = await examine(issuer, documents)
            #expect(documents.urls.isEmpty && found.isValid)
            #expect(outcomes(found)[.discovery] == .skipped && outcomes(found)[.keys] == .passed)
        }
    }

    @Test func `each key says why it is not used, and those that are used are those of the authenticator`() async throws
    {
        let signer = TokenSigner()
        let rsa = TokenSigner("RS256", keyID: "r")
        let short = Data(repeating: 0xff, count: 128).base64EncodedString().replacing("/", with: "_")
            .replacing("=", with: "")
        let cases: [(String, advice: String?)] = [
            (signer.jwk(), nil), (rsa.jwk(), nil), (rsa.jwk(#","alg":"PS256""#), "row does not allow"),
            (signer.jwk(#","use":"enc""#), "not for signatures"), (signer.jwk(#","use":7"#), "not for signatures"),
            (signer.jwk(#","key_ops":["sign"]"#), "key_ops"), (signer.jwk(#","key_ops":"verify""#), nil),
            (signer.jwk(#","d":"AAAA""#), "private part"), (#"{"kty":"oct","k":"c2VjcmV0"}"#, "shared secret"),
            (#"{"kty":"AKP"}"#, "not supported"), ("7", "no 'kty'"), ("{}", "no 'kty'"),
            (#"{"kty":"RSA","n":"\#(short)","e":"AQAB"}"#, "2,048"),
            (#"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#, "malformed"),
            (#"{"kty":"EC","crv":"P-384","x":"AAAA","y":"AAAA"}"#, "another type or curve"),
            (#"{"kty":"RSA","n":"AQAB","e":"AQAB","kid":7}"#, "'kid' is not a string"),
        ]
        let algorithms = ["ES256", "RS256"]
        for (jwk, advice) in cases {
            let document = TokenSigner.set(jwk)
            let examination = try #require(KeyExamination(document: Array(document.utf8), algorithms: algorithms))
            let key = try #require(examination.keys.first)
            #expect(key.advice.map { $0.contains(advice ?? "-") } ?? (advice == nil), "\(jwk): \(key.advice ?? "-")")
            let set = try #require(KeySet(document: Array(document.utf8), algorithms: algorithms))
            #expect(set.isEmpty == key.usableWith.isEmpty, "\(jwk)")
        }
        let issuer = IssuerFixture.issuer(
            keys: .inline(TokenSigner.set(cases[3].0, cases[8].0)), algorithms: algorithms)
        let unusable = await examine(issuer, StubIssuerDocuments())
        #expect(outcomes(unusable)[.keys] == .failed && !unusable.isValid && unusable.keys.count == 2)
        let half = await examine(
            IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk())), algorithms: algorithms),
            StubIssuerDocuments())
        #expect(outcomes(half)[.algorithms] == .warned && half.isValid)
        #expect(half.findings.first { $0.step == .algorithms }?.found == "RS256")
        let leak = await examine(
            IssuerFixture.issuer(keys: .inline(TokenSigner.set(cases[7].0))), StubIssuerDocuments())
        #expect(outcomes(leak)[.keys] == .warned && leak.isValid)
        for document in ["[]", "{}", #"{"keys":{}}"#, "nothing"] {
            let found = await examine(IssuerFixture.issuer(keys: .inline(document)), StubIssuerDocuments())
            #expect(outcomes(found)[.keySet] == .failed, "\(document)")
        }
    }

    // MARK: The sign-in to the console

    private static let endpoints =
        #","authorization_endpoint":"https://id.example/auth","token_endpoint":"https://id.example/token""#
    private static let pkce = #","code_challenge_methods_supported":["plain","S256"]"#
    private static let origin = "https://sluice.example"

    /// The check of an issuer with sign-in, and its steps about that.
    private func signIn(
        more: String = endpoints + pkce, name: String = "https://id.example",
        answer: TokenEndpointAnswer = .sample(), origin: String? = origin,
        change: (inout ConsoleSignIn) -> Void = { _ in }
    ) async -> (steps: [IssuerValidation.Finding], documents: StubIssuerDocuments) {
        let documents = StubIssuerDocuments(
            [Self.discovery: Self.document(issuer: name, more: more)], tokenAnswer: answer)
        let issuer = IssuerFixture.issuer(keys: .inline(TokenSigner.set(TokenSigner().jwk()))) {
            var console = ConsoleSignIn(clientID: "con/sole", send: .idToken)
            change(&console)
            $0.console = console
            $0.audiences.append("con/sole")
        }
        let found = await examine(issuer, documents, origin: origin)
        let ofSignIn: [IssuerValidation.Step] = [
            .signInEndpoints, .signInPKCE, .signInClient, .signInCORS, .signInToken,
        ]
        let steps = found.findings.filter { ofSignIn.contains($0.step) }
        #expect(steps.map(\.step) == ofSignIn)
        #expect(found.isValid == !found.findings.contains { $0.outcome == .failed })
        return (steps, documents)
    }

    @Test func `a sign-in that works passes, with the client and the origin of the console`() async throws {
        let (steps, documents) = await signIn()
        #expect(steps.map(\.outcome) == [.passed, .passed, .passed, .passed, .passed])
        #expect(steps.allSatisfy { $0.advice == nil })
        #expect(documents.exchanges == ["https://id.example/token con/sole https://sluice.example"])
        let (given, others) = await signIn(more: "") {
            $0.authorizationEndpoint = "https://other.example/a"
            $0.tokenEndpoint = "https://other.example/t"
        }
        #expect(given[0].outcome == .passed && given[0].found == "https://other.example/a https://other.example/t")
        #expect(others.exchanges == ["https://other.example/t con/sole https://sluice.example"])
    }

    @Test func `endpoints come from a document of this issuer alone, and lead nowhere unsafe`() async throws {
        for (more, name) in [
            (Self.pkce, "https://id.example"), (Self.endpoints, "https://id.example/"),
            (
                Self.endpoints.replacing("https://id.example/token", with: "http://id.example/token"),
                "https://id.example"
            ),
            (Self.endpoints.replacing("/auth", with: "/auth#f"), "https://id.example"),
            (Self.endpoints.replacing("https://id.example/auth", with: "javascript:alert(1)"), "https://id.example"),
        ] {
            let (steps, documents) = await signIn(more: more, name: name)
            #expect(steps[0].outcome == .failed && steps[0].advice != nil, "\(more)")
            #expect(steps[2].outcome == .skipped && steps[3].outcome == .skipped)
            #expect(documents.exchanges.isEmpty, "\(more)")
        }
    }

    @Test(arguments: [
        ("", IssuerValidation.Outcome.warned), (#","code_challenge_methods_supported":["plain"]"#, .failed),
        (#","code_challenge_methods_supported":["S256"]"#, .passed),
    ])
    func `PKCE is S256`(more: String, outcome: IssuerValidation.Outcome) async {
        let (steps, _) = await signIn(more: Self.endpoints + more)
        #expect(steps[1].outcome == outcome && (steps[1].advice == nil) == (outcome == .passed))
    }

    @Test func `the answer of the token endpoint says whether the client is public`() async {
        let none = #","token_endpoint_auth_methods_supported":["none","client_secret_basic"]"#
        let basic = #","token_endpoint_auth_methods_supported":["client_secret_basic"]"#
        for (answer, more, outcome) in [
            (TokenEndpointAnswer.sample(), basic, IssuerValidation.Outcome.passed),
            (.sample("invalid_client", status: 401), none, .failed),
            (.sample("unauthorized_client", status: 400), none, .failed),
            (.sample("invalid_request"), none, .passed), (.sample("invalid_request"), basic, .warned),
            (.sample("<script>"), "", .warned), (.sample("x", status: 404), none, .passed),
        ] {
            let (steps, _) = await signIn(more: Self.endpoints + Self.pkce + more, answer: answer)
            #expect(steps[2].outcome == outcome, "\(answer) \(more)")
            #expect((steps[2].advice == nil) == (outcome == .passed))
            #expect(steps[2].found?.contains("<") != true, "only known words are shown")
        }
        var silent = TokenEndpointAnswer.sample()
        silent.content = .failure(.blocked)
        let (steps, _) = await signIn(answer: silent)
        #expect(steps[2].outcome == .warned && steps[2].failure == .blocked && steps[3].outcome == .skipped)
    }

    @Test func `the answer of the token endpoint says whether the page may read it`() async {
        for (permits, preflight, outcome) in [
            (true, true, IssuerValidation.Outcome.passed), (true, false, .passed), (false, true, .warned),
            (false, false, .failed),
        ] {
            let (steps, _) = await signIn(answer: .sample(permits: permits, preflight: preflight))
            #expect(steps[3].outcome == outcome && steps[3].found == Self.origin)
        }
        let (steps, documents) = await signIn(origin: nil)
        #expect(steps[3].outcome == .skipped && steps[3].advice?.contains("'origin'") == true)
        #expect(documents.exchanges == ["https://id.example/token con/sole -"])
    }

    @Test func `the token that is sent must be for the gateway`() async {
        let (wrong, _) = await signIn { $0.clientID = "stranger" }
        #expect(wrong[4].outcome == .failed && wrong[4].advice?.contains("'stranger'") == true)
        let (opaque, _) = await signIn {
            $0.clientID = "stranger"
            $0.send = .accessToken
        }
        #expect(opaque[4].outcome == .passed && opaque[4].found == "access_token" && opaque[4].advice != nil)
    }

    @Test func `the origin is that of the page, unless the request names another`() async throws {
        let documents = StubIssuerDocuments([Self.discovery: Self.document(more: Self.endpoints + Self.pkce)])
        let gateway = TestGateway(issuerDocuments: documents)
        try await gateway.makeIssuer(
            IssuerFixture.issuer(keys: .inline(TokenSigner.set(TokenSigner().jwk()))) {
                $0.console = ConsoleSignIn(clientID: "sluice", send: .idToken)
            })
        for (header, json) in [
            (nil, "{}"), ("https://page.example", "{}"), ("null", "{}"),
            ("https://page.example", #"{"origin":"http://localhost:8080"}"#),
        ] as [(String?, String)] {
            var headers: HeaderFields = [:]
            headers[.origin] = header
            let answer = await gateway.send(.post, Self.path, token: "admin-token", headers: headers, json: json)
            #expect(answer.status == 200 && answer.json["valid"] as? Bool == true, "\(answer.text)")
        }
        #expect(
            documents.exchanges.map { $0.split(separator: " ")[2] } == [
                "-", "https://page.example", "-", "http://localhost:8080",
            ])
        for origin in ["sluice.example", "https://Sluice.example", "https://sluice.example/", "https://a:443", "*"] {
            let answer = await gateway.send(
                .post, Self.path, token: "admin-token", json: #"{"origin":"\#(origin)"}"#)
            #expect(answer.status == 400 && answer.string("field") == "origin", "\(origin)")
        }
    }

    // MARK: Tokens

    /// Each member of a token, with values for which the step of that name fails, warns or passes. The combined verdict
    /// is compared with what the authenticator does with the same token.
    @Test func `the verdict on a token is the authenticator's, and each claim has its own`() async throws {
        let start = Int(IssuerFixture.start)
        let signer = TokenSigner()
        let stranger = TokenSigner()
        typealias Step = IssuerValidation.Step
        typealias Outcome = IssuerValidation.Outcome
        let variants: [(Step, [(change: [String: String?], Outcome)])] = [
            (.tokenIssuer, [([:], .passed), (["iss": #""https://id.example/""#], .failed), (["iss": nil], .failed)]),
            (
                .tokenAudience,
                [
                    ([:], .passed), (["aud": #"["x","sluice"]"#], .passed), (["aud": #""x""#], .failed),
                    (["aud": nil], .failed),
                ]
            ),
            (
                .tokenExpiry,
                [
                    ([:], .passed), (["exp": "\(start)"], .failed), (["exp": nil], .failed),
                    (["exp": #""soon""#], .failed),
                ]
            ),
            (
                .tokenNotBefore,
                [
                    ([:], .skipped), (["nbf": "\(start)"], .passed), (["nbf": "\(start + 60)"], .warned),
                    (["nbf": "\(start + 61)"], .failed), (["nbf": #""x""#], .failed),
                ]
            ),
            (
                .tokenIssuedAt,
                [
                    (["iat": "\(start)"], .passed), ([:], .warned), (["iat": "\(start + 59)"], .warned),
                    (["iat": "\(start + 90)"], .failed),
                ]
            ),
            (
                .tokenSubject,
                [
                    ([:], .passed), (["sub": nil], .failed), (["sub": #""""#], .failed), (["sub": "7"], .failed),
                ]
            ),
            (
                .tokenGroups,
                [
                    (["groups": #"["a","b"]"#], .passed), ([:], .warned), (["groups": #"["a",""]"#], .warned),
                    (["groups": "7"], .failed), (["_claim_names": #"{"groups":"x"}"#], .failed),
                    (["hasgroups": "true"], .failed),
                ]
            ),
            (
                .tokenRoles,
                [(["roles": #"["admin","x"]"#], .passed), ([:], .warned), (["roles": #"["x"]"#], .warned)]
            ),
            (.tokenClaims, [(["tenant": #""t""#], .passed), ([:], .warned), (["tenant": "7"], .warned)]),
        ]
        let issuer = IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk()))) {
            $0.groupsClaim = "groups"
            $0.usableClaims = ["tenant"]
            $0.rolesClaim = "roles"
            $0.roles = [.init(role: .admin, values: ["admin"])]
            $0.principalPrefix = "example:"
        }
        let fixture = IssuerFixture([issuer])
        var count = 0
        func check(_ token: String, _ step: Step, _ outcome: Outcome, _ note: String) async {
            let found = await examine(issuer, StubIssuerDocuments(), token: token)
            let refusal = await fixture.refusal(token)
            let outcomes = outcomes(found)
            #expect(outcomes[step] == outcome, "\(note)")
            #expect((outcomes[.token] == .passed) == (refusal == nil), "\(note)")
            #expect(
                found.isValid == (refusal == nil), "\(note): what is accepted has no failed step, and the rest has one")
            #expect(found.findings.filter { Step.ofToken.contains($0.step) }.map(\.step) == Step.ofToken, "\(note)")
            count += 1
        }
        for (step, values) in variants {
            for (change, outcome) in values {
                let token = signer.token(IssuerFixture.claims(change))
                await check(token, step, outcome, "\(step) \(change)")
                // Two faults at once: each is still told.
                // The groups of a token without a subject are not read.
                let isNobody = step == .tokenSubject && outcome == .failed
                for (other, values) in variants where other != step && !(isNobody && other == .tokenGroups) {
                    for (second, expected) in values where expected == .failed {
                        let both = change.merging(second) { $1 }
                        await check(signer.token(IssuerFixture.claims(both)), other, .failed, "\(both)")
                    }
                }
                await check(
                    stranger.token(IssuerFixture.claims(change)), .tokenSignature, .failed, "forged \(change)")
            }
        }
        #expect(count > 300)
        let claims = IssuerFixture.claims()
        for (header, step) in [
            (#"{"alg":"ES384","kid":"k1"}"#, Step.tokenAlgorithm), (#"{"alg":"none"}"#, .tokenAlgorithm),
            (#"{"alg":"HS256","kid":"k1"}"#, .tokenAlgorithm), (#"{"alg":"ES256","kid":"k2"}"#, .tokenKey),
            (#"{"alg":"ES256","crit":["x"]}"#, .tokenForm), (#"{"alg":"ES256","typ":"logout+jwt"}"#, .tokenForm),
        ] {
            await check(signer.token(claims, header: header), step, .failed, header)
        }
        for text in ["", "a", "a.b.c", "a.b.c.d.e", String(repeating: "a", count: 8193)] {
            await check(text, .tokenForm, .failed, "'\(text.prefix(20))'")
        }
    }

    @Test func `a token without an audience is told apart from one for others`() async throws {
        let signer = TokenSigner()
        let issuer = IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk())))
        for (audience, text) in [(nil, "has no 'aud'"), (#""x""#, "accepts only: sluice")] as [(String?, String)] {
            let token = signer.token(IssuerFixture.claims(["aud": audience]))
            let found = await examine(issuer, StubIssuerDocuments(), token: token)
            let finding = try #require(found.findings.first { $0.step == .tokenAudience })
            #expect(finding.advice?.contains(text) == true, "\(finding)")
        }
    }

    @Test func `a token that does not say when it was issued is accepted, and what that costs is told`() async throws {
        let signer = TokenSigner()
        let issuer = IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk())))
        let token = signer.token(IssuerFixture.claims(["iat": nil]))
        let found = await examine(issuer, StubIssuerDocuments(), token: token)
        let finding = try #require(found.findings.first { $0.step == .tokenIssuedAt })
        #expect(found.isValid && finding.outcome == .warned && finding.advice?.contains("tickets") == true)
    }

    /// The authenticator accepts the token, and no request with it is permitted.
    @Test(arguments: [
        (384, IssuerValidation.Outcome.passed), (385, .warned), (512, .warned), (513, .failed),
    ])
    func `a token with more groups than decisions look at is found`(
        count: Int, outcome: IssuerValidation.Outcome
    ) async throws {
        let signer = TokenSigner()
        let issuer = IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk()))) { $0.groupsClaim = "groups" }
        let names = (0..<count).map { #""g\#($0)""# }.joined(separator: ",")
        let token = signer.token(IssuerFixture.claims(["groups": "[\(names)]"]))
        let found = await examine(issuer, StubIssuerDocuments(), token: token)
        let finding = try #require(found.findings.first { $0.step == .tokenGroups })
        #expect(finding.outcome == outcome && (finding.advice == nil) == (outcome == .passed), "\(finding)")
        #expect(found.isValid == (outcome != .failed))
    }

    @Test func `the holder is named also where the token is over or forged`() async throws {
        let start = Int(IssuerFixture.start)
        let signer = TokenSigner()
        let issuer = IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk()))) {
            $0.principalPrefix = "example:"
            $0.groupPrefix = "g:"
            $0.groupsClaim = "groups"
            $0.usableClaims = ["tenant"]
            $0.rolesClaim = "roles"
            $0.roles = [.init(role: .auditor, values: ["auditor"])]
        }
        let claims = ["groups": #"["staff"]"#, "tenant": #""t1""#, "roles": #"["auditor","admin"]"#]
        let bearer = IssuerValidation.Bearer(
            principal: try .user("example:alice"), groups: [try .group("g:staff")], roles: [.unlimited(.auditor)],
            claims: ["tenant": "t1"])
        for change in [[:], ["exp": "\(start - 1)"], ["aud": #""x""#], ["nbf": "\(start + 1000)"], ["iss": #""x""#]] {
            let token = signer.token(IssuerFixture.claims(claims.merging(change) { $1 }))
            let found = await examine(issuer, StubIssuerDocuments(), token: token)
            #expect(found.bearer == bearer, "\(change)")
            #expect(found.isValid == change.isEmpty)
        }
        let none = await examine(
            issuer, StubIssuerDocuments(), token: signer.token(IssuerFixture.claims(["sub": nil])))
        #expect(none.bearer == nil)
    }

    // MARK: The operation

    @Test func `nothing of a token is logged, recorded or kept, and it signs nobody in`() async throws {
        let signer = TokenSigner()
        let token = signer.token(IssuerFixture.claims(["sub": #""a-secret-subject""#]))
        let gateway = TestGateway()
        try await gateway.makeIssuer(IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk()))))
        let answer = await gateway.send(
            .post, Self.path, token: "admin-token", headers: [.idempotencyKey: "k"], json: #"{"token":"\#(token)"}"#)
        #expect(answer.status == 200 && answer.json["valid"] as? Bool == true, "\(answer.text)")
        #expect((answer.json["bearer"] as? [String: Any])?["principal"] as? String == "user:a-secret-subject")
        #expect(answer.headers[.cacheControl] == "no-store")
        let act = try #require(gateway.audit.acts.withLock { $0.first })
        #expect(act.operation == .validate && act.kind == .issuer && act.details == ["token": "given"])
        #expect(act.identifier == MemoryUploads.openID.lowercaseText)
        let kept = String(decoding: gateway.idempotency.kept, as: UTF8.self)
        for part in token.split(separator: ".") {
            #expect(!answer.text.contains(part) && !gateway.logLines.contains(part) && !kept.contains(part))
        }
        #expect(!gateway.logLines.contains("a-secret-subject"))
        #expect(await gateway.send(.post, Self.path, token: token).status == 401)
    }

    @Test func `it is for admins, of issuers that exist, and on record before anything is requested`() async throws {
        let documents = StubIssuerDocuments()
        let gateway = TestGateway(issuerDocuments: documents)
        try await gateway.makeIssuer()
        let other = "/admin/v1/issuers/018f0000-0000-7000-8000-0000000000ff:validate"
        for (token, path, json, status) in [
            ("user-token", Self.path, "{}", 403), ("auditor-token", Self.path, "{}", 403),
            ("admin-token", other, "{}", 404), ("admin-token", "/admin/v1/issuers/x:validate", "{}", 404),
            ("admin-token", Self.path + "?token=x", "{}", 400), ("admin-token", Self.path, #"{"token":7}"#, 400),
            ("admin-token", Self.path, #"{"key":"x"}"#, 400),
        ] {
            let answer = await gateway.send(.post, path, token: token, json: json)
            #expect(answer.status == status, "\(path) \(json): \(answer.text)")
        }
        gateway.audit.failure.withLock { $0 = .unavailable(retryAfter: 1) }
        #expect(await gateway.send(.post, Self.path, token: "admin-token").status == 503)
        #expect(documents.urls.isEmpty && gateway.audit.acts.withLock { $0.isEmpty })
        gateway.audit.failure.withLock { $0 = nil }
        let answer = await gateway.send(.post, Self.path, token: "admin-token")
        #expect(answer.status == 200 && answer.json["valid"] as? Bool == false, "\(answer.text)")
        #expect(documents.urls == [Self.discovery, IssuerFixture.url])
        #expect(gateway.audit.acts.withLock { $0.first?.details } == ["token": "none"])
    }
}

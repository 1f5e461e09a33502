import Foundation
import GatewayCore
import Testing

@testable import GatewayAPI

private let notAccepted = GatewayError.unauthenticated(reason: "The token is not accepted.")

@Suite struct RevocationTests {
    private func apiKey(seed: UInt8, change: (inout APIKey) -> Void = { _ in }) throws -> (text: String, row: APIKey) {
        let bytes = (0..<UInt8(APIKeyText.randomByteCount)).map { $0 &* 7 &+ seed }
        let text = try #require(APIKeyText(randomBytes: bytes))
        var row = APIKey(
            id: uuid("018f0000-0000-7000-8000-0000000000aa"), prefix: text.prefix, hash: text.digest, name: "test",
            principal: try .user("robot"), groups: [try .group("robots")], roles: [.auditor],
            createdAt: .distantPast)
        change(&row)
        return (text.text.reveal(), row)
    }

    @Test func aDeletedIssuerEndsItsTokensAtOnce() async throws {
        let signer = TokenSigner()
        let set = TokenSigner.set(signer.jwk())
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(set))])
        let token = signer.token()
        #expect(await fixture.refusal(token) == nil)
        fixture.policy.change(.issuer("https://id.example")) { issuers, _ in issuers = [] }
        try await fixture.cache.advance()
        #expect(await fixture.refusal(token) == notAccepted)
        #expect(fixture.authenticator.verifiedTokenCount == 0)
    }

    @Test func aChangedIssuerIsReadAnew() async throws {
        let (signer, other) = (TokenSigner(), TokenSigner())
        let set = TokenSigner.set(signer.jwk())
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(set))])
        let token = signer.token()
        #expect(try await fixture.caller(token).principal.rawValue == "user:alice")
        let changes: [(@Sendable (inout Issuer) -> Void, String?)] = [
            ({ $0.principalPrefix = "é:" }, "user:é:alice"),
            // The same letter, written with two scalars.
            ({ $0.principalPrefix = "e\u{301}:" }, "user:e\u{301}:alice"),
            ({ $0.audiences = ["elsewhere"] }, nil),
            ({ $0.audiences = ["sluice"] }, "user:e\u{301}:alice"),
            ({ $0.algorithms = ["RS256"] }, nil),
            ({ $0.algorithms = ["ES256"] }, "user:e\u{301}:alice"),
            ({ $0.keys = .inline(TokenSigner.set(other.jwk())) }, nil),
        ]
        for (change, expected) in changes {
            fixture.policy.change(.issuer("https://id.example")) { issuers, _ in change(&issuers[0]) }
            try await fixture.cache.advance()
            let principal = try? await fixture.caller(token).principal
            #expect(principal == (try expected.map { try Principal($0) }))
        }
    }

    /// A row that was changed and changed back, while no token came, has its keys read anew: a change ends a stolen key
    /// at once. If they cannot be read, no token is accepted.
    @Test(arguments: [true, false]) func aRowThatWasChangedBackHasItsKeysReadAnew(answers: Bool) async throws {
        let (stolen, other) = (TokenSigner(), TokenSigner(keyID: "k2"))
        let fixture = IssuerFixture([IssuerFixture.issuer()])
        fixture.fetcher.serve(TokenSigner.set(stolen.jwk(), other.jwk()))
        let (token, good) = (stolen.token(), other.token())
        #expect(await fixture.refusal(token) == nil)
        #expect(await fixture.refusal(good) == nil)
        fixture.fetcher.serve(answers ? TokenSigner.set(other.jwk()) : nil)
        for audiences in [["sluice", "more"], ["sluice"]] {
            fixture.policy.change(.issuer("https://id.example")) { issuers, _ in issuers[0].audiences = audiences }
            try await fixture.cache.advance()
        }
        if answers {
            #expect(await fixture.refusal(token) == notAccepted)
            #expect(await fixture.refusal(good) == nil)
        } else {
            for token in [token, good] {
                guard case .unavailable = await fixture.refusal(token) else {
                    Issue.record("a token was accepted with keys of the former row")
                    return
                }
            }
        }
    }

    /// A claim may be written with the same letter in two ways, which are two claims in a token.
    @Test func aClaimIsNamedByItsBytes() async throws {
        let signer = TokenSigner()
        let set = TokenSigner.set(signer.jwk())
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(set)) { $0.groupsClaim = "r\u{f4}les" }])
        let token = signer.token(IssuerFixture.claims(["r\u{f4}les": "[\"staff\"]"]))
        #expect(try await fixture.caller(token).groups.map(\.rawValue) == ["group:staff"])
        fixture.policy.change(.issuer("https://id.example")) { issuers, _ in issuers[0].groupsClaim = "ro\u{302}les" }
        try await fixture.cache.advance()
        #expect(try await fixture.caller(token).groups.isEmpty)
    }

    @Test func thePositionIsThatOfTheCallAlsoForKnownTokens() async throws {
        let signer = TokenSigner()
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk())))])
        let token = signer.token()
        let first = try await fixture.caller(token).position
        fixture.policy.change(.bucket(try BucketName("photos"))) { _, _ in }
        try await fixture.cache.advance()
        let second = try await fixture.caller(token).position
        #expect(first != second && second == fixture.policy.position)
    }

    @Test func theSameSubjectOfTwoIssuersIsTwoUsers() async throws {
        let signer = TokenSigner()
        let set = TokenSigner.set(signer.jwk())
        let fixture = IssuerFixture([
            IssuerFixture.issuer(keys: .inline(set)),
            IssuerFixture.issuer(keys: .inline(set), id: 2, name: "https://two.example") { $0.principalPrefix = "2/" },
        ])
        let second = signer.token(IssuerFixture.claims(["iss": #""https://two.example""#]))
        #expect(try await fixture.caller(signer.token()).principal.rawValue == "user:alice")
        #expect(try await fixture.caller(second).principal.rawValue == "user:2/alice")
        #expect(try await fixture.caller(second).scope == .issuer("https://two.example"))
    }

    @Test func knownTokensAreBounded() async throws {
        let signer = TokenSigner()
        let fixture = IssuerFixture(
            [IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk())))],
            limits: TokenAuthenticator.Limits(maxVerifiedTokens: 10))
        for user in 0..<30 {
            #expect(await fixture.refusal(signer.token(IssuerFixture.claims(["sub": "\"u\(user)\""]))) == nil)
            #expect(await fixture.refusal(TokenSigner().token()) == notAccepted)
        }
        #expect(fixture.authenticator.verifiedTokenCount == 10)
        let bytes = IssuerFixture(
            [IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk())))],
            limits: TokenAuthenticator.Limits(maxVerifiedBytes: 2000))
        for user in 0..<30 {
            #expect(await bytes.refusal(signer.token(IssuerFixture.claims(["sub": "\"u\(user)\""]))) == nil)
        }
        #expect(bytes.authenticator.verifiedTokenCount == 3)
    }

    @Test func anIssuerThatIsUnknownIsAskedForOnce() async throws {
        let signer = TokenSigner()
        let fixture = IssuerFixture()
        for user in 0..<20 {
            #expect(
                await fixture.refusal(signer.token(IssuerFixture.claims(["sub": "\"u\(user)\""]))) == notAccepted)
        }
        #expect(fixture.policy.loads == 1)
        #expect(fixture.fetcher.calls == 0)
    }

    @Test func anAPIKeySpeaksForItsPrincipal() async throws {
        let (text, row) = try apiKey(seed: 1)
        let fixture = IssuerFixture(apiKeys: [row])
        let caller = try await fixture.caller(text)
        #expect(caller.principal == row.principal && caller.groups == row.groups && caller.roles == [.auditor])
        #expect(caller.scope == .apiKey(prefix: row.prefix) && caller.position == fixture.policy.position)
        #expect(caller.expiresAt == nil && caller.claims.isEmpty)
    }

    @Test func aWrongSecretAndAnUnknownPrefixAnswerTheSame() async throws {
        let (text, row) = try apiKey(seed: 1)
        let (unknown, _) = try apiKey(seed: 99)
        let fixture = IssuerFixture(apiKeys: [row])
        let wrong = text.dropLast() + (text.last == "A" ? "B" : "A")
        #expect(await fixture.refusal(String(wrong)) == notAccepted)
        #expect(await fixture.refusal(unknown) == notAccepted)
        #expect(await fixture.refusal(text + "x") == notAccepted)
        #expect(await fixture.refusal(String(text.dropLast())) == notAccepted)
    }

    @Test func aRevokedAPIKeyEndsAtOnce() async throws {
        let (text, row) = try apiKey(seed: 1)
        let fixture = IssuerFixture(apiKeys: [row])
        #expect(await fixture.refusal(text) == nil)
        fixture.policy.change(.apiKey(prefix: row.prefix)) { _, keys in keys = [] }
        try await fixture.cache.advance()
        #expect(await fixture.refusal(text) == notAccepted)
    }

    @Test func anAPIKeyEndsAtItsExpiry() async throws {
        let end = Date(timeIntervalSince1970: IssuerFixture.start + 10)
        let (text, row) = try apiKey(seed: 1) { $0.expiresAt = end }
        let fixture = IssuerFixture(apiKeys: [row])
        fixture.clock.value += 9.9
        #expect(try await fixture.caller(text).expiresAt == end)
        fixture.clock.value += 0.1
        #expect(await fixture.refusal(text) == .expiredToken)
        // A caller without the key does not learn that it has expired.
        let wrong = text.dropLast() + (text.last == "A" ? "B" : "A")
        #expect(await fixture.refusal(String(wrong)) == notAccepted)
    }
}

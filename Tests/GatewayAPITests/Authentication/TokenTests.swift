import Foundation
import GatewayCore
import Testing

private let everyAlgorithm = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
]
private let notAccepted = GatewayError.unauthenticated(reason: "The token is not accepted.")

@Suite struct TokenTests {
    @Test(arguments: everyAlgorithm)
    func tokensOfEveryAlgorithmAreAccepted(algorithm: String) async throws {
        let signer = TokenSigner(algorithm)
        let set = TokenSigner.set(signer.jwk())
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(set), algorithms: [algorithm])])
        let caller = try await fixture.caller(signer.token())
        #expect(caller.principal.rawValue == "user:alice")
        #expect(caller.scope == .issuer("https://id.example"))
        #expect(caller.position == fixture.policy.position)
        #expect(caller.expiresAt == Date(timeIntervalSince1970: IssuerFixture.start + 3600))
        #expect(caller.roles.isEmpty && caller.groups.isEmpty && caller.claims.isEmpty)
    }

    @Test func tokensUnderASharedSecretAreAccepted() async throws {
        let secret = String(repeating: "s", count: 32)
        let fixture = IssuerFixture([
            IssuerFixture.issuer(keys: .secret(Secret(secret)), algorithms: ["HS256"])
        ])
        let caller = try await fixture.caller(TokenSigner(secret: secret).token())
        #expect(caller.principal.rawValue == "user:alice")
        // The name that an issuer gives to its secret is not known here.
        let named = TokenSigner(secret: secret, keyID: "2026-11").token()
        #expect(try await fixture.caller(named).principal.rawValue == "user:alice")
        let forged = TokenSigner(secret: String(repeating: "t", count: 32)).token()
        #expect(await fixture.refusal(forged) == notAccepted)
    }

    @Test(arguments: everyAlgorithm)
    func aChangedTokenIsRefused(algorithm: String) async throws {
        let signer = TokenSigner(algorithm)
        let set = TokenSigner.set(signer.jwk())
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(set), algorithms: [algorithm])])
        let parts = signer.token().split(separator: ".").map(String.init)
        let root = TokenSigner.base64URL(Data(IssuerFixture.claims(["sub": "\"root\""]).utf8))
        #expect(await fixture.refusal([parts[0], root, parts[2]].joined(separator: ".")) == notAccepted)
        let otherSignature = signer.token(IssuerFixture.claims(["sub": "\"bob\""])).split(separator: ".")[2]
        #expect(await fixture.refusal("\(parts[0]).\(parts[1]).\(otherSignature)") == notAccepted)
        let cut = parts[2].prefix(parts[2].count / 8 * 4)
        #expect(await fixture.refusal("\(parts[0]).\(parts[1]).\(cut)") == notAccepted)
        #expect(await fixture.refusal("\(parts[0]).\(parts[1]).") == notAccepted)
    }

    @Test func anAlgorithmThatIsNotConfiguredIsRefused() async throws {
        let signer = TokenSigner("PS256")
        let set = TokenSigner.set(signer.jwk())
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(set), algorithms: ["RS256", "RS384"])])
        #expect(await fixture.refusal(signer.token()) == notAccepted)
        #expect(try await fixture.caller(TokenSigner("RS384").token()).principal.rawValue == "user:alice")
    }

    @Test(arguments: ["none", "None", "NONE", ""])
    func unsignedTokensAreRefused(algorithm: String) async throws {
        let signer = TokenSigner()
        // Even if a row names such an algorithm, against the rules for rows.
        let fixture = IssuerFixture([
            IssuerFixture.issuer(
                keys: .inline(TokenSigner.set(signer.jwk())), algorithms: ["ES256", "none", "None", "NONE", ""])
        ])
        let header = TokenSigner.base64URL(Data(#"{"alg":"\#(algorithm)","kid":"k1"}"#.utf8))
        let claims = TokenSigner.base64URL(Data(IssuerFixture.claims().utf8))
        #expect(await fixture.refusal("\(header).\(claims).") == notAccepted)
        #expect(await fixture.refusal("\(header).\(claims).AA") == notAccepted)
        #expect(await fixture.refusal(signer.token(header: #"{"alg":"none","kid":"k1"}"#)) == notAccepted)
    }

    @Test(arguments: ["HS256", "HS384", "HS512"])
    func aPublicKeyIsNoSharedSecret(algorithm: String) async throws {
        let signer = TokenSigner("RS256")
        let set = TokenSigner.set(signer.jwk())
        // The row is wrong on purpose; validation would refuse it.
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(set), algorithms: ["RS256", algorithm])])
        for text in [set, signer.jwk(), signer.key] {
            let forger = TokenSigner(secret: text)
            let forged = forger.token(header: #"{"alg":"\#(algorithm)","kid":"k1"}"#)
            #expect(await fixture.refusal(forged) == notAccepted)
        }
    }

    @Test func aSharedSecretServesOneAlgorithm() async throws {
        let secret = String(repeating: "s", count: 64)
        let fixture = IssuerFixture([
            IssuerFixture.issuer(keys: .secret(Secret(secret)), algorithms: ["HS256", "HS384", "RS256"])
        ])
        let signer = TokenSigner(secret: secret)
        for algorithm in ["HS384", "RS256", "none"] {
            #expect(await fixture.refusal(signer.token(header: #"{"alg":"\#(algorithm)"}"#)) == notAccepted)
        }
        #expect(await fixture.refusal(signer.token()) == nil)
    }

    @Test func anOctetKeyInASetIsPassedOver() async throws {
        let secret = String(repeating: "s", count: 32)
        let key = TokenSigner.base64URL(Data(secret.utf8))
        let set = TokenSigner.set(#"{"kty":"oct","k":"\#(key)","kid":"k1","alg":"HS256"}"#)
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(set), algorithms: ["HS256", "ES256"])])
        #expect(await fixture.refusal(TokenSigner(secret: secret, keyID: "k1").token()) == notAccepted)
    }
}

import Foundation
import GatewayCore
import InMemoryLogging
import Testing

@testable import GatewayAPI

private let notAccepted = GatewayError.unauthenticated(reason: "The token is not accepted.")

@Suite struct TokenFormTests {
    private func fixture(_ signer: TokenSigner, maxTokenBytes: Int = TokenAuthenticator.longestTokenBytes)
        -> IssuerFixture
    {
        IssuerFixture(
            [IssuerFixture.issuer(keys: .inline(TokenSigner.set(signer.jwk())))],
            limits: TokenAuthenticator.Limits(maxTokenBytes: maxTokenBytes))
    }

    @Test(arguments: [
        #"{"alg":"ES256","kid":"k1","crit":["exp"],"exp":1}"#, #"{"alg":"ES256","kid":"k1","crit":[]}"#,
        #"{"alg":"ES256","kid":"k1","b64":false}"#, #"{"alg":"ES256","kid":"k1","typ":"logout+jwt"}"#,
        #"{"alg":"ES256","kid":"k1","typ":7}"#, #"{"alg":"ES256","kid":7}"#, #"{"alg":"ES256","kid":"k2"}"#,
        #"{"alg":"ES256","kid":"K1"}"#, #"{"alg":"es256","kid":"k1"}"#, #"{"alg":7,"kid":"k1"}"#, #"{"kid":"k1"}"#,
        #"{"alg":"ES256","kid":"k1","alg":"ES256"}"#, #"{"alg":"none","alg":"ES256","kid":"k1"}"#,
        #"{"alg":"ES256","kid":"k1"} "x""#, #"["ES256"]"#, "", "{", "{}",
    ])
    func signedTokensWithSuchHeadersAreRefused(header: String) async throws {
        let signer = TokenSigner()
        #expect(await fixture(signer).refusal(signer.token(header: header)) == notAccepted)
    }

    @Test(arguments: [
        #"{"alg":"ES256","kid":"k1","typ":"JWT"}"#, #"{"alg":"ES256","kid":"k1","typ":"at+JWT"}"#,
        #"{"alg":"ES256"}"#, #"{"alg":"ES256","kid":"k1","cty":"x","extra":{"a":[1]}}"#,
    ])
    func signedTokensWithSuchHeadersAreAccepted(header: String) async throws {
        let signer = TokenSigner()
        #expect(await fixture(signer).refusal(signer.token(header: header)) == nil)
    }

    @Test func keysThatATokenBringsAlongAreNotFollowed() async throws {
        let signer = TokenSigner()
        let forger = TokenSigner()
        let fixture = IssuerFixture([IssuerFixture.issuer()])
        fixture.fetcher.serve(TokenSigner.set(signer.jwk()))
        fixture.fetcher.serve(TokenSigner.set(forger.jwk()), at: "https://evil.example/keys")
        for member in [
            #""jku":"https://evil.example/keys""#, #""jwk":\#(forger.jwk())"#, #""x5u":"https://evil.example/keys""#,
        ] {
            let token = forger.token(header: #"{"alg":"ES256","kid":"k1",\#(member)}"#)
            #expect(await fixture.refusal(token) == notAccepted)
        }
        #expect(fixture.fetcher.calls == 1)
    }

    @Test func aSignedPayloadThatIsNoStrictObjectIsRefused() async throws {
        let signer = TokenSigner()
        let claims = IssuerFixture.claims().dropLast()
        for text in [
            claims + #","sub":"root"}"#, claims + #","iss":"https://id.example"}"#, claims + "},", claims + "",
            "[]", "7", "",
        ] {
            #expect(await fixture(signer).refusal(signer.token(String(text))) == notAccepted, "\(text)")
        }
    }

    @Test func onlyTheOneSpellingOfATokenIsAccepted() async throws {
        let signer = TokenSigner("RS256")
        let set = TokenSigner.set(signer.jwk())
        let fixture = IssuerFixture([IssuerFixture.issuer(keys: .inline(set), algorithms: ["RS256"])])
        let token = signer.token()
        let parts = token.split(separator: ".").map(String.init)
        // 256 bytes take 342 characters; the last one has four bits without meaning.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = try #require(token.last.flatMap(alphabet.firstIndex))
        let twin = String(token.dropLast()) + String(alphabet[last + 1])
        for spelling in [
            twin, token + "=", token + "==", token + ".", "." + token, token + ".x", parts[0] + "." + parts[1],
            token + "\n", " " + token, token.replacingOccurrences(of: ".", with: ".."), "..", ".", "", "a.b.c",
            token.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/"),
        ] {
            #expect(await fixture.refusal(spelling) == notAccepted, "\(spelling)")
        }
        #expect(await fixture.refusal(token) == nil)
    }

    @Test func aTokenMayBeAsLongAsTheLimit() async throws {
        let signer = TokenSigner()
        let token = signer.token()
        let length = token.utf8.count
        #expect(await fixture(signer, maxTokenBytes: length).refusal(token) == nil)
        #expect(await fixture(signer, maxTokenBytes: length - 1).refusal(token) == notAccepted)
        #expect(await fixture(signer).refusal(String(repeating: "a", count: 1 << 20)) == notAccepted)
        let deep = String(repeating: #"{"a":"#, count: 500) + "1" + String(repeating: "}", count: 500)
        let nested = signer.token(String(IssuerFixture.claims().dropLast()) + #","x":"# + deep + "}")
        #expect(await fixture(signer).refusal(nested) == notAccepted)
    }

    @Test func nothingOfARefusedTokenIsLoggedOrShown() async throws {
        let signer = TokenSigner()
        let fixture = fixture(TokenSigner())
        let token = signer.token(IssuerFixture.claims(["sub": #""secret-subject""#]))
        let refusal = await fixture.refusal(token)
        let shown =
            "\(String(describing: refusal)) " + fixture.logs.entries.map { "\($0.message) \($0.metadata)" }.joined()
        #expect(refusal != nil)
        for part in token.split(separator: ".").map(String.init) + ["secret-subject"] { #expect(!shown.contains(part)) }
    }
}

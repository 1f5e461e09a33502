import Foundation
import GatewayCore
import LibCrypto
import StrictJSON
import Testing

@testable import GatewayAPI

@Suite struct VectorTests {
    private func key(_ jwk: String, _ algorithm: String) async throws -> VerificationKey? {
        await VerificationKey(jwk: try JSONReader.read(Array(jwk.utf8)), algorithm: algorithm)
    }

    @Test(arguments: [
        ("RS256", PublishedKeys.rsa, PublishedKeys.rs256Token), ("ES256", PublishedKeys.ec, PublishedKeys.es256Token),
    ])
    func theTokensOfTheStandardVerify(algorithm: String, jwk: String, text: String) async throws {
        let token = try #require(CompactToken(Array(text.utf8)))
        let key = try #require(await key(jwk, algorithm))
        #expect(token.algorithm == algorithm && token.keyID == nil)
        #expect(key.verifies(token.signature, of: token.signedBytes))
        #expect(token.payload["iss"] == .string("joe"))
        var changed = token.signature
        changed[0] ^= 1
        #expect(!key.verifies(changed, of: token.signedBytes))
        #expect(!key.verifies(token.signature + [0], of: token.signedBytes))
        #expect(!key.verifies(token.signature, of: token.signedBytes.dropLast()))
    }

    @Test func theEdwardsCurveSignatureOfTheStandardVerifies() async throws {
        let key = try #require(await key(PublishedKeys.ed25519, "EdDSA"))
        let signature = try #require(Base64URL.decode(PublishedKeys.edDSASignature.utf8))
        #expect(key.verifies(signature, of: Array(PublishedKeys.edDSASigned.utf8)[...]))
        #expect(!key.verifies(signature, of: Array("x".utf8)[...]))
    }

    @Test(arguments: IndependentTokens.tokens.keys.sorted())
    func tokensOfAnotherLibraryAreAccepted(algorithm: String) async throws {
        let fixture = IssuerFixture([
            IssuerFixture.issuer(keys: .inline(IndependentTokens.keySet), algorithms: [algorithm])
        ])
        let token = try #require(IndependentTokens.tokens[algorithm])
        #expect(try await fixture.caller(token).principal.rawValue == "user:alice")
        for (other, token) in IndependentTokens.tokens where other != algorithm {
            #expect(await fixture.refusal(token) != nil, "\(other)")
        }
    }

    @Test func aKeyServesItsOwnKindAlone() async throws {
        let fitting = ["RSA": PublishedKeys.rsa, "EC": PublishedKeys.ec, "OKP": PublishedKeys.ed25519]
        let kinds = ["RS256": "RSA", "PS512": "RSA", "ES256": "EC", "EdDSA": "OKP"]
        for (algorithm, kind) in kinds {
            for (other, jwk) in fitting {
                #expect(try await (key(jwk, algorithm) != nil) == (kind == other), "\(algorithm) \(other)")
            }
        }
        #expect(try await key(PublishedKeys.ec, "ES384") == nil)
        #expect(try await key(PublishedKeys.ec, "HS256") == nil)
        #expect(try await key(PublishedKeys.rsa, "none") == nil)
    }

    @Test(arguments: [
        (#","use":"enc""#, false), (#","use":"sig""#, true), (#","use":null"#, false), (#","alg":"ES384""#, false),
        (#","alg":"ES256""#, true), (#","key_ops":["verify"]"#, true), (#","key_ops":["sign"]"#, false),
        (#","key_ops":[]"#, false), (#","kid":7"#, false),
    ])
    func aKeyIsUsedAsItsOwnerMeansIt(members: String, isUsable: Bool) async throws {
        let jwk = try await TokenSigner(keyID: nil).jwk(members)
        #expect(try await (key(jwk, "ES256") != nil) == isUsable)
    }

    @Test func malformedKeysAreNone() async throws {
        let point = #"{"kty":"EC","crv":"P-256","x":"%","y":"%"}"#
        // One byte moved from one coordinate to the other, and a point that is not on the curve.
        let zeros = { (count: Int) in TokenSigner.base64URL(Data(repeating: 0, count: count)) }
        for (x, y) in [(31, 33), (32, 32), (0, 64)] {
            let jwk = #"{"kty":"EC","crv":"P-256","x":"\#(zeros(x))","y":"\#(zeros(y))"}"#
            #expect(try await key(jwk, "ES256") == nil)
        }
        #expect(try await key(point, "ES256") == nil)
        let short = TokenSigner.base64URL(Data(repeating: 0xff, count: 128))
        let long = TokenSigner.base64URL(Data(repeating: 0xff, count: 1025))
        for modulus in ["", short, long, PublishedKeys.rsaModulus + "="] {
            #expect(try await key(#"{"kty":"RSA","n":"\#(modulus)","e":"AQAB"}"#, "RS256") == nil)
        }
        #expect(try await key(#"{"kty":"OKP","crv":"Ed448","x":"\#(zeros(32))"}"#, "EdDSA") == nil)
        #expect(try await key(#"{"kty":"OKP","crv":"X25519","x":"\#(zeros(32))"}"#, "EdDSA") == nil)
        for text in ["[]", "{}", #"{"kty":7}"#, "null"] {
            #expect(try await key(text, "ES256") == nil)
        }
    }
}

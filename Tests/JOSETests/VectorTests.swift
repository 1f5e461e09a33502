import Bytes
import JOSE
import StrictJSON
import Testing

/// The examples of the standards.
@Suite struct VectorTests {
    private func key(_ jwk: String, _ algorithm: String) throws -> VerificationKey? {
        guard let algorithm = PublicKeyAlgorithm(named: algorithm) else { return nil }
        return VerificationKey(jwk: try JSONReader.read(Array(jwk.utf8)), algorithm: algorithm)
    }

    /// Whether a key verifies a message, and nothing else.
    private func expectVerified(_ key: VerificationKey, _ message: [UInt8], _ signature: [UInt8]) {
        #expect(key.verifies(signature, of: message[...]))
        #expect(key.verifies(signature, of: message[...]), "and a second time")
        for place in [0, signature.count / 2, signature.count - 1] {
            var changed = signature
            changed[place] ^= 1
            #expect(!key.verifies(changed, of: message[...]), "byte \(place)")
        }
        #expect(!key.verifies(signature + [0], of: message[...]))
        #expect(!key.verifies([0] + signature, of: message[...]))
        #expect(!key.verifies(signature.dropLast(), of: message[...]))
        #expect(!key.verifies([], of: message[...]))
        #expect(!key.verifies(signature, of: message.dropLast()))
        #expect(!key.verifies(signature, of: []))
    }

    @Test(arguments: [
        ("RS256", PublishedKeys.rsa, PublishedKeys.rs256Token), ("ES256", PublishedKeys.ec, PublishedKeys.es256Token),
    ])
    func `the tokens of RFC 7515 verify`(algorithm: String, jwk: String, text: String) throws {
        let token = try #require(CompactToken(Array(text.utf8)))
        let key = try #require(try key(jwk, algorithm))
        #expect(token.algorithm == algorithm && token.keyID == nil)
        #expect(token.payload["iss"] == .string("joe"))
        expectVerified(key, Array(token.signedBytes), token.signature)
    }

    @Test func `the token of RFC 7515 under a shared secret verifies`() throws {
        let token = try #require(CompactToken(Array(PublishedKeys.hs256Token.utf8)))
        let secret = try #require(Base64URL.decode(PublishedKeys.sharedSecret.utf8))
        let key = try #require(VerificationKey(secret: secret))
        #expect(key.algorithm == token.algorithm && key.id == nil)
        expectVerified(key, Array(token.signedBytes), token.signature)
    }

    @Test func `the signature of RFC 7515 on P-521 verifies`() throws {
        let parts = PublishedKeys.es512Token.split(separator: ".")
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        let key = try #require(try key(PublishedKeys.ec521, "ES512"))
        expectVerified(key, Array("\(parts[0]).\(parts[1])".utf8), signature)
    }

    @Test func `the unsecured token of RFC 7515 is no token`() {
        #expect(CompactToken(Array(PublishedKeys.unsecuredToken.utf8)) == nil)
    }

    @Test(arguments: [
        ("RS256", PublishedKeys.bilbosRSA), ("PS384", PublishedKeys.bilbosRSA), ("ES512", PublishedKeys.bilbosPoint),
    ])
    func `the signatures of RFC 7520 verify`(algorithm: String, jwk: String) throws {
        let (header, signature) = try #require(PublishedKeys.hobbitsTokens[algorithm])
        let key = try #require(try key(jwk, algorithm))
        #expect(key.id == "bilbo.baggins@hobbiton.example")
        let bytes = try #require(Base64URL.decode(signature.utf8))
        expectVerified(key, Array((header + "." + PublishedKeys.hobbitsPayload).utf8), bytes)
    }

    @Test func `the authentication code of RFC 7520 verifies`() throws {
        let (header, signature) = try #require(PublishedKeys.hobbitsTokens["HS256"])
        let secret = try #require(Base64URL.decode(PublishedKeys.hobbitsSecret.utf8))
        let key = try #require(VerificationKey(secret: secret))
        let bytes = try #require(Base64URL.decode(signature.utf8))
        expectVerified(key, Array((header + "." + PublishedKeys.hobbitsPayload).utf8), bytes)
    }

    @Test func `the signature of RFC 8037 verifies`() throws {
        let key = try #require(try key(PublishedKeys.ed25519, "EdDSA"))
        let signature = try #require(Base64URL.decode(PublishedKeys.edDSASignature.utf8))
        expectVerified(key, Array(PublishedKeys.edDSASigned.utf8), signature)
    }
}

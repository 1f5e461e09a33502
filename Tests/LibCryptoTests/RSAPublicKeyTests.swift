import Foundation
import LibCrypto
import Testing

/// Signatures made by the `openssl` command, with a key of 512 bits like that of Alibaba OSS.
@Suite("RSA signatures of others")
struct RSAPublicKeyTests {
    private static let pem = """
        -----BEGIN PUBLIC KEY-----
        MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBANdklk67HQ+cJ80dLU6wh/5QeWBK8LiA
        hcNgmDifz5cTUPpYnevLN0raTuX02uVy8Z0h0F++q0p95FwRCMpuhTsCAwEAAQ==
        -----END PUBLIC KEY-----

        """
    private static let message = Array("/v1/events/oss\nbucket=photos&object=a.png&size=3".utf8)
    private static let signature =
        "0TJWnps4+MVYh18hzc4NCz0LFxcghfpf3vDQtQAel4eYL/7wUOu4uR0093CxgFxz+7qzqmKKYIcovjVyZBg92Q=="

    @Test func `a signature holds for its message and for no other`() throws {
        let key = try RSAPublicKey(pem: Self.pem)
        let signature = try #require(Base64.decode(Self.signature))
        #expect(key.verifiesMD5(signature, of: Self.message))
        #expect(key.verifiesMD5(signature, of: Self.message), "and a second time")
        #expect(!key.verifiesMD5(signature, of: Self.message + [0x20]))
        #expect(!key.verifiesMD5([], of: Self.message))
        #expect(!key.verifiesMD5(signature.dropLast() + [signature[63] ^ 1], of: Self.message))
        #expect(!key.verifiesMD5(signature + [0], of: Self.message))
    }

    @Test(arguments: ["", "no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
    func `what is no key is refused`(pem: String) {
        #expect(throws: CryptoError.invalidPublicKey) { _ = try RSAPublicKey(pem: pem) }
    }
}

import Bytes
import Foundation
import LibCrypto
import Testing

/// Signatures made by the `openssl` command, with a key of 512 bits like that of Alibaba OSS.
@Suite("RSA signatures of others")
struct PublicKeyTests {
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
        let key = try PublicKey(md5PEM: Self.pem)
        let signature = try #require(Base64.decode(Self.signature))
        func holds(_ signature: [UInt8], _ message: [UInt8]) -> Bool { key.verifies(signature, of: message.span) }
        #expect(holds(signature, Self.message))
        #expect(holds(signature, Self.message), "and a second time")
        #expect(!holds(signature, Self.message + [0x20]))
        #expect(!holds([], Self.message))
        #expect(!holds(signature.dropLast() + [signature[63] ^ 1], Self.message))
        #expect(!holds(signature + [0], Self.message))
    }

    /// Not a key; a key of P-256; a modulus of 504 bits.
    @Test(arguments: [
        "", "no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEhBodH8xXm6oxvrR71xsiH8+q1KFj
        hNRpchHkPgnY5yWnpZuJZDErcqFodqnPY35ffJe/cCNLk6bZvSezrZRd/w==
        -----END PUBLIC KEY-----
        """,
        """
        -----BEGIN PUBLIC KEY-----
        MFswDQYJKoZIhvcNAQEBBQADSgAwRwJAAP1yRMzqcf9KFIdq6v8aCYylmWZmzqs2
        BRK9ExEHIjEXEM9TJ6xDWnqXxkNlZBKpuKGrzRppFsdNpPn8PG2l1wIDAQAB
        -----END PUBLIC KEY-----
        """,
    ])
    func `what is no key is refused`(pem: String) {
        #expect(throws: CryptoError.invalidPublicKey) { _ = try PublicKey(md5PEM: pem) }
    }
}

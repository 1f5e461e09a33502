import GatewayCore
import LibCrypto
import Testing

@Suite struct APIKeyTextTests {
    let bytes = (0..<44).map { UInt8($0 * 5) }

    @Test func `a key that was made is read again, with the same hash`() throws {
        let key = try #require(APIKeyText(randomBytes: bytes))
        let text = key.text.reveal()
        #expect(text.utf8.count == 63)
        #expect(text.hasPrefix("sluice_" + key.prefix + "_"))
        let read = try #require(APIKeyText(parsing: Secret(text)))
        #expect(read.prefix == key.prefix)
        #expect(read.digest == key.digest)
        #expect(!"\(key)".contains(text.suffix(43)))
    }

    @Test func `every bit of the secret shows in the text`() throws {
        let text = try #require(APIKeyText(randomBytes: bytes)).text.reveal()
        for bit in 12 * 8..<44 * 8 {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(APIKeyText(randomBytes: changed)?.text.reveal() != text)
        }
    }

    @Test func `the hash is SHA-256 of the text`() throws {
        let text = "sluice_abcdefghijkl_" + String(repeating: "A", count: 43)
        let hash = try #require(APIKeyText(parsing: Secret(text))).digest
        #expect(hash.bytes.prefix(4).map { $0 } == [0x28, 0xd5, 0x21, 0xbf])
        #expect(hash.byteCount == 32)
    }

    @Test(arguments: [0, 43, 45])
    func `another number of random bytes makes no key`(count: Int) {
        #expect(APIKeyText(randomBytes: [UInt8](repeating: 0, count: count)) == nil)
    }

    @Test(arguments: [
        "", "sluice_", "sluice_abcdefghijkl_" + String(repeating: "A", count: 42),
        "sluice_abcdefghijkl_" + String(repeating: "A", count: 44),
        "sluice_abcdefghijkL_" + String(repeating: "A", count: 43),
        "Sluice_abcdefghijkl_" + String(repeating: "A", count: 43),
        "sluice_abcdefghijkl-" + String(repeating: "A", count: 43),
        "sluice_abcdefghijkl_" + String(repeating: "+", count: 43),
        "sluice_abcdefghijkl_" + String(repeating: "é", count: 21) + "A",
    ])
    func `what is no key is refused`(text: String) {
        #expect(APIKeyText(parsing: Secret(text)) == nil)
    }
}

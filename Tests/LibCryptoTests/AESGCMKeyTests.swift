import Bytes
import Testing

@testable import LibCrypto

@Suite("AES-256-GCM")
struct AESGCMKeyTests {
    struct Published: Sendable {
        let key: String
        let nonce: String
        let associatedData: String
        let message: String
        let ciphertext: String
        let tag: String
    }

    // McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B, cases 13 to 16.
    static let published = [
        Published(
            key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12), associatedData: "",
            message: "", ciphertext: "", tag: "530f8afbc74536b9a963b4f1c4cb738b"
        ),
        Published(
            key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12), associatedData: "",
            message: String(repeating: "00", count: 16), ciphertext: "cea7403d4d606b6e074ec5d3baf39d18",
            tag: "d0d1c8a799996bf0265b98b5d48ab919"
        ),
        Published(
            key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            nonce: "cafebabefacedbaddecaf888", associatedData: "",
            message: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
            ciphertext: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
            tag: "b094dac5d93471bdec1a502270e3cc6c"
        ),
        Published(
            key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            nonce: "cafebabefacedbaddecaf888", associatedData: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            message: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            ciphertext: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"
        ),
    ]

    @Test(arguments: published)
    func sealsAndOpensThePublishedValue(published: Published) throws {
        let key = try AESGCMKey(#require(Hex.decode(published.key)))
        let nonce = try #require(Hex.decode(published.nonce))
        let message = try #require(Hex.decode(published.message))
        let associatedData = try #require(Hex.decode(published.associatedData))
        let sealed = key.seal(message, authenticating: associatedData, nonce: nonce)
        #expect(Hex.encode(sealed) == published.nonce + published.ciphertext + published.tag)
        #expect(try key.open(sealed, authenticating: associatedData) == message)
    }

    @Test func refusesEachFlippedBit() throws {
        let key = try AESGCMKey(randomBytes(count: AESGCMKey.byteCount))
        let associatedData = Array("storage_credentials/7".utf8)
        let sealed = try key.seal(Array("secret".utf8), authenticating: associatedData)
        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << UInt8(bit)
                #expect(throws: CryptoError.authenticationFailed) {
                    try key.open(changed, authenticating: associatedData)
                }
            }
        }
    }

    @Test func refusesOtherAssociatedDataAndOtherKeys() throws {
        let key = try AESGCMKey(randomBytes(count: AESGCMKey.byteCount))
        let sealed = try key.seal([1, 2, 3], authenticating: [7])
        #expect(throws: CryptoError.authenticationFailed) { try key.open(sealed, authenticating: [8]) }
        #expect(throws: CryptoError.authenticationFailed) { try key.open(sealed, authenticating: []) }
        let other = try AESGCMKey(randomBytes(count: AESGCMKey.byteCount))
        #expect(throws: CryptoError.authenticationFailed) { try other.open(sealed, authenticating: [7]) }
    }

    @Test func refusesWhatIsTooShortAndWhatWasCut() throws {
        let key = try AESGCMKey(randomBytes(count: AESGCMKey.byteCount))
        let sealed = try key.seal([1, 2, 3], authenticating: [])
        for length in 0..<28 {
            #expect(throws: CryptoError.sealedBytesTooShort) {
                try key.open(Array(sealed.prefix(length)), authenticating: [])
            }
        }
        for length in 28..<sealed.count {
            #expect(throws: CryptoError.authenticationFailed) {
                try key.open(Array(sealed.prefix(length)), authenticating: [])
            }
        }
    }

    @Test(arguments: [0, 16, 31, 33])
    func refusesKeysOfOtherLengths(count: Int) {
        #expect(throws: CryptoError.invalidKeyLength(expected: 32, actual: count)) {
            _ = try AESGCMKey([UInt8](repeating: 1, count: count))
        }
    }

    @Test func neverSealsTwiceAlikeAndNeverShowsTheKey() throws {
        let key = try AESGCMKey([UInt8](repeating: 0x41, count: 32))
        #expect(try key.seal([1], authenticating: []) != key.seal([1], authenticating: []))
        #expect(!"\(key) \(String(reflecting: key))".contains("65"))
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains("65"))
    }
}

import LibCrypto
import Testing

@Suite("HMAC")
struct HMACKeyTests {
    struct Published: Sendable {
        let key: [UInt8]
        let message: [UInt8]
        let code: String
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static func bytes(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

    // RFC 4231, section 4: cases 1 to 4, 6 and 7.
    static let sha256 = [
        Published(
            key: bytes(0x0b, 20), message: text("Hi There"),
            code: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        Published(
            key: text("Jefe"), message: text("what do ya want for nothing?"),
            code: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        Published(
            key: bytes(0xaa, 20), message: bytes(0xdd, 50),
            code: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        Published(
            key: Array(1...25), message: bytes(0xcd, 50),
            code: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        Published(
            key: bytes(0xaa, 131), message: text("Test Using Larger Than Block-Size Key - Hash Key First"),
            code: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        Published(
            key: bytes(0xaa, 131),
            message: text(
                "This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm."
            ),
            code: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    // RFC 2202, section 3: cases 1, 2, 3 and 6.
    static let sha1 = [
        Published(key: bytes(0x0b, 20), message: text("Hi There"), code: "b617318655057264e28bc0b6fb378c8ef146be00"),
        Published(
            key: text("Jefe"), message: text("what do ya want for nothing?"),
            code: "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        ),
        Published(key: bytes(0xaa, 20), message: bytes(0xdd, 50), code: "125d7342b9ac11cd91a39af48aa17b4f63f175d3"),
        Published(
            key: bytes(0xaa, 80), message: text("Test Using Larger Than Block-Size Key - Hash Key First"),
            code: "aa4ae5e15272d00e95705637ce8a3b55ed402112"
        ),
    ]

    // RFC 2202, section 2: cases 1, 2 and 6.
    static let md5 = [
        Published(key: bytes(0x0b, 16), message: text("Hi There"), code: "9294727a3638bb1c13f48ef8158bfc9d"),
        Published(
            key: text("Jefe"), message: text("what do ya want for nothing?"), code: "750c783e6ab0b503eaa86e310a5db738"),
        Published(
            key: bytes(0xaa, 80), message: text("Test Using Larger Than Block-Size Key - Hash Key First"),
            code: "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd"
        ),
    ]

    @Test(arguments: sha256) func sha256IsThePublishedValue(published: Published) {
        #expect(
            HMACKey(published.key, algorithm: .sha256).authenticationCode(for: published.message).hex == published.code)
    }

    @Test(arguments: sha1) func sha1IsThePublishedValue(published: Published) {
        #expect(
            HMACKey(published.key, algorithm: .sha1).authenticationCode(for: published.message).hex == published.code)
    }

    @Test(arguments: md5) func md5IsThePublishedValue(published: Published) {
        #expect(
            HMACKey(published.key, algorithm: .md5).authenticationCode(for: published.message).hex == published.code)
    }

    @Test(arguments: DigestAlgorithm.allCases, [0, 1, 55, 63, 64, 65, 128, 200])
    func aBeginningThatMessagesHaveInCommonCanBeLeftOut(algorithm: DigestAlgorithm, count: Int) {
        let key = HMACKey(Self.text("key"), algorithm: algorithm)
        let beginning = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let longer = HMACKey(key, messagesBeginningWith: beginning.span)
        for rest in [[], [7], Self.bytes(9, 64), Self.bytes(1, 300)] {
            #expect(longer.authenticationCode(for: rest) == key.authenticationCode(for: beginning + rest))
        }
        let longest = HMACKey(longer, messagesBeginningWith: [1, 2].span)
        #expect(longest.authenticationCode(for: [3]) == key.authenticationCode(for: beginning + [1, 2, 3]))
    }

    @Test func oneKeySignsManyMessagesFromManyThreads() async {
        let published = Self.sha256[1]
        let key = HMACKey(published.key, algorithm: .sha256)
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<500).count { _ in
                        _ = key.authenticationCode(for: [])
                        return key.authenticationCode(for: published.message).hex != published.code
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }

    @Test func anEmptyKeyAndAnEmptyMessageAreAllowed() {
        let code = HMACKey([], algorithm: .sha256).authenticationCode(for: [])
        #expect(code.hex == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test func aKeyOfExactlyOneBlockIsNotHashed() {
        let padded = HMACKey(Array("k".utf8) + Self.bytes(0, 63), algorithm: .sha256)
        let short = HMACKey(Array("k".utf8), algorithm: .sha256)
        #expect(padded.authenticationCode(for: [1]) == short.authenticationCode(for: [1]))
    }
}

import Bytes
import LibCrypto
import Testing

@Suite("Digests")
struct DigestTests {
    // FIPS 180-4 examples of NIST (SHA-256, SHA-1) and RFC 1321, appendix A.5 (MD5).
    @Test(arguments: [
        (DigestAlgorithm.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha256, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            .sha1, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
        (.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
        (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (
            .md5, "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a"
        ),
    ])
    func isThePublishedValue(algorithm: DigestAlgorithm, message: String, expected: String) {
        let digest = algorithm.digest(of: Array(message.utf8))
        #expect(digest.hex == expected)
        #expect(digest.bytes == Hex.decode(expected))
        #expect(digest == algorithm.digest(of: message))
    }

    @Test(arguments: DigestAlgorithm.allCases, [0, 1, 63, 64, 65, 1000])
    func piecesGiveTheDigestOfTheWhole(algorithm: DigestAlgorithm, pieceLength: Int) {
        let message = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        var digest = IncrementalDigest(algorithm)
        var rest = message[...]
        while !rest.isEmpty {
            digest.update(Array(rest.prefix(pieceLength)))
            rest = rest.dropFirst(max(1, pieceLength))
            if pieceLength == 0 { break }
        }
        let whole = pieceLength == 0 ? [] : message
        let first = digest.finalize()
        #expect(first == algorithm.digest(of: whole))
        // The same value then starts again.
        digest.update(Array("abc".utf8))
        let second = digest.finalize()
        #expect(second == algorithm.digest(of: Array("abc".utf8)))
    }

    @Test func aMillionLetters() {
        var digest = IncrementalDigest(.sha256)
        for _ in 0..<1000 { digest.update([UInt8](repeating: UInt8(ascii: "a"), count: 1000)) }
        let value = digest.finalize()
        #expect(value.hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func aDigestIsTheSameAsItsBytesAndNoOthers(algorithm: DigestAlgorithm) {
        let digest = algorithm.digest(of: "abc")
        #expect(digest.isSame(as: digest.bytes))
        for place in 0..<digest.byteCount {
            var other = digest.bytes
            other[place] ^= 1
            #expect(!digest.isSame(as: other))
        }
        #expect(!digest.isSame(as: Array(digest.bytes.dropLast())) && !digest.isSame(as: digest.bytes + [0]))
    }

    @Test func digestsOfDifferentLengthsDiffer() {
        #expect(DigestAlgorithm.md5.digest(of: []) != DigestAlgorithm.sha1.digest(of: []))
    }

    @Test func `threads that hash side by side, and end, do not disturb each other`() async {
        let message = Array("message".utf8)
        let expected = DigestAlgorithm.sha256.digest(of: message).hex
        let key = HMACKey(message, algorithm: .sha256)
        let code = key.authenticationCode(for: message).hex
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    (0..<200).allSatisfy { number in
                        _ = DigestAlgorithm.md5.digest(of: [UInt8](repeating: 1, count: number))
                        return DigestAlgorithm.sha256.digest(of: message).hex == expected
                            && key.authenticationCode(for: message).hex == code
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}

import Bytes
import LibCrypto
import Testing

@testable import DevStack

/// The examples of AWS for bodies in chunks, whole and changed in one place.
///
/// - SeeAlso: Amazon S3 API Reference, "Signature calculations for the Authorization header: transferring payload in
///   multiple chunks (chunked upload)" and "… including trailing headers".
@Suite struct ChunkTests {
    private static let content = [UInt8](repeating: UInt8(ascii: "a"), count: 66_560)

    private static func seed(_ signature: String) -> ChunkSeed {
        var key = Array("AWS4wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".utf8)
        for step in ["20130524", "us-east-1", "s3", "aws4_request"] {
            key = HMACKey(key, algorithm: .sha256).authenticationCode(for: Array(step.utf8)).bytes
        }
        return ChunkSeed(
            key: HMACKey(key, algorithm: .sha256), date: "20130524T000000Z",
            scope: "20130524/us-east-1/s3/aws4_request", signature: signature)
    }

    private static func body(_ signatures: [String], trailer: String = "") -> [UInt8] {
        func head(_ size: String, _ signature: String) -> [UInt8] {
            Array("\(size);chunk-signature=\(signature)\r\n".utf8)
        }
        let end = Array("\r\n".utf8)
        return head("10000", signatures[0]) + content[..<65_536] + end + head("400", signatures[1]) + content[65_536...]
            + end + head("0", signatures[2]) + Array(trailer.utf8) + end
    }

    private static let plain = body([
        "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
        "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
        "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
    ])
    private static let plainSeed = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
    private static let trailing = body(
        [
            "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
            "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
            "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
        ],
        trailer: """
            x-amz-checksum-crc32c:sOO8/Q==\r
            x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r

            """)
    private static let trailingSeed = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e"

    @Test(arguments: [1, 7, 4096, 65_536, 1 << 20])
    func `the chunks of the examples are decoded, whatever the pieces`(pieceBytes: Int) throws {
        for (body, signature, trailers) in [
            (Self.plain, Self.plainSeed, [:]),
            (Self.trailing, Self.trailingSeed, ["x-amz-checksum-crc32c": "sOO8/Q=="]),
        ] {
            var decoder = ChunkDecoder(Self.seed(signature))
            var content: [UInt8] = []
            for start in stride(from: 0, to: body.count, by: pieceBytes) {
                #expect(!decoder.isDone)
                content += try decoder.decode(Array(body[start..<min(start + pieceBytes, body.count)]))
            }
            #expect(content == Self.content)
            #expect(decoder.isDone && decoder.trailers == trailers)
        }
        var checksum = RunningChecksum(.crc32c)
        checksum.update(Self.content)
        #expect(Base64.encode(checksum.finish()) == "sOO8/Q==")
    }

    /// Offsets in each part of the body: size, signature, content, line break, and what follows the last chunk.
    @Test(arguments: [0, 4, 30, 90, 5000, 65_620, 65_630, 65_700, 66_500, 66_730, 66_800, 66_830, 66_900])
    func `a byte that is changed is found`(offset: Int) {
        for (body, signature) in [(Self.plain, Self.plainSeed), (Self.trailing, Self.trailingSeed)] {
            guard offset < body.count - 2 else { continue }
            var decoder = ChunkDecoder(Self.seed(signature))
            var changed = body
            changed[offset] ^= 1
            let isAccepted = (try? decoder.decode(changed)) != nil && decoder.isDone
            #expect(!isAccepted, "\(offset)")
        }
    }

    @Test func `what is missing, or too much, is found`() throws {
        for end in [1, 2, 10, 90, 700, 66_000] {
            var decoder = ChunkDecoder(Self.seed(Self.trailingSeed))
            _ = try? decoder.decode(Array(Self.trailing.dropLast(end)))
            #expect(!decoder.isDone)
        }
        for more in ["x", "0\r\n\r\n", "\r\n"] {
            var decoder = ChunkDecoder(Self.seed(Self.plainSeed))
            _ = try decoder.decode(Self.plain)
            #expect(throws: StoreError.malformedChunks) { _ = try decoder.decode(Array((more + "\r\n").utf8)) }
        }
        // Signatures where there should be none, and none where there should be some.
        var unsigned = ChunkDecoder(nil)
        #expect(throws: StoreError.malformedChunks) { _ = try unsigned.decode(Self.plain) }
        var signed = ChunkDecoder(Self.seed(Self.plainSeed))
        #expect(throws: StoreError.malformedChunks) { _ = try signed.decode(Array("0\r\n\r\n".utf8)) }
    }

    /// The values of "123456789", which the catalogues of checks list.
    @Test(arguments: [
        (ChecksumAlgorithm.crc32, "cbf43926"), (ChecksumAlgorithm.crc32c, "e3069283"),
        (ChecksumAlgorithm.crc64nvme, "ae8b14860a799888"),
    ])
    func `checksums have the values of the catalogues`(algorithm: ChecksumAlgorithm, expected: String) {
        var checksum = RunningChecksum(algorithm)
        for piece in ["1234", "", "56789"] { checksum.update(Array(piece.utf8)) }
        #expect(Hex.encode(checksum.finish()) == expected)
    }

    @Test func `entities of keys are read, and others refused`() {
        #expect(XMLText.unescaped("a&lt;&gt;&amp;&quot;&apos;&#13;&#x1F600;b") == "a<>&\"'\r😀b")
        for text in ["&nbsp;", "&amp", "&#x110000;", "&#-1;", "&"] { #expect(XMLText.unescaped(text) == nil) }
    }
}

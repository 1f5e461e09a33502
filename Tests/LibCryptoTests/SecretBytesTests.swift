import LibCrypto
import Testing

@Suite("Comparison and random bytes")
struct SecretBytesTests {
    @Test func comparisonSeesEachByteAndTheLength() {
        let bytes: [UInt8] = Array(0..<40)
        #expect(constantTimeEqual(bytes, bytes))
        #expect(constantTimeEqual([], []))
        #expect(!constantTimeEqual(bytes, Array(bytes.dropLast())))
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 0x80
            #expect(!constantTimeEqual(bytes, changed))
        }
    }

    @Test func randomBytesHaveTheLengthAndDiffer() throws {
        #expect(try randomBytes(count: 0) == [])
        #expect(try randomBytes(count: 1000).count == 1000)
        #expect(try randomBytes(count: 32) != randomBytes(count: 32))
    }
}

import LibCrypto
import Testing

@Suite("Hexadecimal, base64, comparison and random bytes")
struct EncodingTests {
    // RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func base64IsThePublishedText(plain: String, encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
    }

    @Test func base64UsesTheStandardAlphabet() {
        #expect(Base64.encode([0xfb, 0xff, 0xbf]) == "+/+/")
        #expect(Base64.decode("+/+/") == [0xfb, 0xff, 0xbf])
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "=", "==", "====", "Z===", "Zh==", "Zm9=", "Zm9v\n", " Zm9v", "Zm 9v", "Zm9v=",
        "Zg==Zg==",
        "-_-_", "Zm9é", "Z=g=",
    ])
    func base64RefusesEveryOtherText(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test func everyByteSurvivesBothEncodings() throws {
        for count in 0...67 {
            let bytes = try randomBytes(count: count)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Hex.decode(Hex.encode(bytes)) == bytes)
        }
        #expect(Hex.encode(Array(0...255)).count == 512)
    }

    @Test func hexReadsBothCasesAndRefusesTheRest() {
        #expect(Hex.encode([0x00, 0x9f, 0xA0, 0xff]) == "009fa0ff")
        #expect(Hex.decode("009fA0Ff") == [0x00, 0x9f, 0xA0, 0xff])
        for text in ["0", "000", "0g", "0x", " 00", "é0"] { #expect(Hex.decode(text) == nil) }
    }

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

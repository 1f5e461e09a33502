import Bytes
import Testing

@Suite("Hexadecimal and base64")
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

    @Test func everyByteSurvivesBothEncodings() {
        for count in 0...67 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max) }
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
}

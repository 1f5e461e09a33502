import Bytes
import Testing

@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("Az09-._~", "Az09-._~"), ("a b/c?d=e&f+g%", "a%20b%2Fc%3Fd%3De%26f%2Bg%25"),
        ("é\u{0}\u{7f}", "%C3%A9%00%7F"), ("@[`{", "%40%5B%60%7B"),
    ])
    func `Everything but unreserved characters is encoded`(text: String, encoded: String) {
        #expect(text.percentEncoded == encoded)
    }

    @Test(arguments: [
        ("", "", ""), ("a%20b", "a b", "a b"), ("a+b", "a+b", "a b"), ("%2B%c3%A9%2f", "+é/", "+é/"),
        ("%25%32", "%2", "%2"),
    ])
    func `each escape is decoded once`(encoded: String, plain: String, spaced: String) {
        #expect(PercentEncoding.decode(encoded.utf8, plusIsSpace: false) == Array(plain.utf8))
        #expect(PercentEncoding.decode(encoded.utf8, plusIsSpace: true) == Array(spaced.utf8))
    }

    @Test(arguments: ["%", "a%", "%4", "%4x", "%x4", "%%41", "%+1"])
    func `an escape without two digits is refused`(encoded: String) {
        #expect(PercentEncoding.decode(encoded.utf8, plusIsSpace: false) == nil)
    }

    @Test(arguments: 0...40) func `bytes are encoded in their place as beside it`(count: Int) {
        let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max) }
        var beside: [UInt8] = []
        PercentEncoding.append(bytes.span, keeping: .unreservedAndSlash, to: &beside)
        let within = [UInt8](capacity: 3 + 3 * count) { output in
            output.append(copying: "/ ?")
            output.append(copying: bytes)
            PercentEncoding.encode(from: 3, keeping: .unreservedAndSlash, in: &output)
        }
        #expect(within == Array("/ ?".utf8) + beside)
        #expect(PercentEncoding.decode(beside, plusIsSpace: false) == bytes)
    }
}

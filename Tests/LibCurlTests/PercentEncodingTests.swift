import LibCurl
import Testing

@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("Az09-._~", "Az09-._~"), ("a b/c?d=e&f+g%", "a%20b%2Fc%3Fd%3De%26f%2Bg%25"),
        ("é\u{0}\u{7f}", "%C3%A9%00%7F"), ("@[`{", "%40%5B%60%7B"),
    ])
    func `Everything but unreserved characters is encoded`(text: String, encoded: String) {
        #expect(text.percentEncoded == encoded)
    }
}

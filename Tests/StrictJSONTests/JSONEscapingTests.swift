import StrictJSON
import Testing

@Suite struct JSONEscapingTests {
    private func written(_ value: JSONValue, _ escaping: JSONEscaping = .least) -> JSONWriter {
        var json = JSONWriter(escaping: escaping)
        json.value(value)
        return json
    }

    @Test(arguments: [
        (JSONEscaping.least, "\"a/\\\"\\\\\\u0008\\t\\n\\u000c\\r\\u001f\u{7f}\u{9b}\u{202e}é界😀\""),
        (.terminal, "\"a/\\\"\\\\\\u0008\\t\\n\\u000c\\r\\u001f\\u007f\\u009b\\u202eé界😀\""),
        (
            .ascii,
            "\"a/\\\"\\\\\\u0008\\u0009\\u000a\\u000c\\u000d\\u001f\\u007f\\u009b\\u202e\\u00e9\\u754c\\ud83d\\ude00\""
        ),
    ])
    func `each escaping is read back as what was written`(escaping: JSONEscaping, expected: String) throws {
        let text = "a/\"\\\u{8}\t\n\u{c}\r\u{1f}\u{7f}\u{9b}\u{202e}é界😀"
        let json = written(.string(text), escaping)
        #expect(String(decoding: json.bytes, as: UTF8.self) == expected)
        #expect(try JSONReader.read(json.bytes) == .string(text))
    }

    @Test(arguments: [JSONEscaping.least, .terminal, .ascii])
    func `a text in which nothing is to be escaped stays as it is`(escaping: JSONEscaping) {
        let json = written(.string("key-1/ ~."), escaping)
        #expect(String(decoding: json.bytes, as: UTF8.self) == #""key-1/ ~.""#)
    }

    @Test func `U+0000 is refused`() {
        let bytes = Array(#"{"a\u0000":"\u0000"}"#.utf8)
        #expect(throws: JSONError.malformed("U+0000 is not allowed", at: 9)) { try JSONReader.read(bytes) }
    }

    @Test func `lines for people hold the same value`() throws {
        let bytes = Array(#"{"a":[],"b":{},"c":["x\"{[,:]}\\",1,[true]],"d":{"e":null}}"#.utf8)
        let json = written(try JSONReader.read(bytes))
        #expect(
            String(decoding: json.indentedBytes, as: UTF8.self) == #"""
                {
                  "a": [],
                  "b": {},
                  "c": [
                    "x\"{[,:]}\\",
                    1,
                    [
                      true
                    ]
                  ],
                  "d": {
                    "e": null
                  }
                }
                """#)
        #expect(try JSONReader.read(json.indentedBytes) == JSONReader.read(bytes))
    }
}

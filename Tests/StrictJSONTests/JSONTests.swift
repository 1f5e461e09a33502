import StrictJSON
import Testing

@Suite("Strict JSON")
struct JSONTests {
    private func read(_ text: String) throws(JSONError) -> JSONValue {
        try JSONReader.read(Array(text.utf8))
    }

    @Test("reads every kind of value")
    func reads() throws {
        let value = try read(#" {"a":[1,-0,2.5e+3,true,false,null],"b":{"c":"x\"\\\/\b\f\n\r\té\ud83d\ude00é"}} "#)
        #expect(
            value
                == .object([
                    .init(
                        name: "a",
                        value: .array([
                            .number("1"), .number("-0"), .number("2.5e+3"), .bool(true), .bool(false), .null,
                        ])),
                    .init(
                        name: "b",
                        value: .object([.init(name: "c", value: .string("x\"\\/\u{8}\u{c}\n\r\té😀é"))])),
                ]))
    }

    @Test("tells on which line a value begins")
    func lines() throws {
        let text = try JSONText(
            reading: Array(
                """
                {"a": 1,
                 "b": {"c.d": 2, "c": {"d": 3,
                  "e": "é"}},
                 "f": [{"g": 1e9},

                  {"g": [0, 4]}],
                 "h":
                  null}
                """.utf8))
        let lines = [
            "": 1, "a": 1, "b": 2, "b.c.d": 2, "b.c": 2, "b.c.e": 3, "f": 4, "f[0].g": 4, "f[1]": 6, "f[1].g[1]": 6,
            "h": 8,
        ]
        for (field, line) in lines { #expect(text.line(of: field) == line, "\(field)") }
        for field in ["body", "a.b", "b.", "b.x", "f[2]", "f[-1]", "f[", "f[x]", "f.g", "h.i", "b.c.d.e", "ab"] {
            #expect(text.line(of: field) == nil, "\(field)")
        }
    }

    @Test(
        "refuses what two parsers could read differently, or at great cost",
        arguments: [
            "", " ", "{", "}", "[", "]", "{]", "[}", "[1,]", "[,1]", "{,}", #"{"a":1,}"#, #"{"a"}"#, #"{"a":}"#,
            #"{a:1}"#, #"{'a':1}"#, "tru", "truex", "nul", "NaN", "Infinity", "-", "+1", "01", "-01", "1.", ".5", "1e",
            "1e+", "0x10", "1 2", "{} {}", "[] x", "\u{feff}{}", #""abc"#, #""\x41""#, #""\u12""#, #""\u00zz""#,
            #""\u0000""#, #""\ud800""#, #""\ud800x""#, #""\ud800\n""#, #""\ud800\ud800""#, #""\udc00""#, "\"\u{1}\"",
            "\"\n\"", "\"\\", "\"\\u", #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"x":{"a":1,"a":1}}"#,
            "// x\n1", "/* */1", "1\u{0}", "\u{a0}1",
        ]
    )
    func refuses(text: String) {
        #expect(throws: JSONError.self) { try read(text) }
    }

    @Test(
        "refuses bytes that are not UTF-8",
        arguments: [
            [0x22, 0xff, 0x22], [0x22, 0xc0, 0xaf, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22],
            [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
        ]
            as [[UInt8]]
    )
    func refusesBytes(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONReader.read(bytes) }
    }

    @Test("reads 32 levels and no more")
    func depth() throws {
        _ = try read(String(repeating: "[", count: 32) + String(repeating: "]", count: 32))
        #expect(throws: JSONError.self) {
            try read(String(repeating: "[", count: 33) + String(repeating: "]", count: 33))
        }
        #expect(throws: JSONError.self) { try read(String(repeating: "[", count: 65_536)) }
        #expect(throws: JSONError.self) { try read(String(repeating: #"{"a":"#, count: 10_000)) }
    }

    @Test("a member named twice is found among few and among many")
    func duplicates() throws {
        for count in [1, 15, 16, 17, 18, 8000] {
            let members = (0..<count).map { "\"m\($0)\":0" }
            _ = try read("{\(members.joined(separator: ","))}")
            for twin in [0, count / 2, count - 1] {
                let twice = members + ["\"m\(twin)\":0"]
                #expect(throws: JSONError.self) { try read("{\(twice.joined(separator: ","))}") }
            }
        }
    }

    /// U+212A, the Kelvin sign, is canonically equivalent to the letter K. Such names are compared byte by byte here,
    /// because `==` equates them.
    @Test("names are compared as bytes where members are taken, merged or left out")
    func equivalentNames() throws {
        func names(_ value: JSONValue) -> [[UInt8]] {
            guard case .object(let members) = value else { return [] }
            return members.map { Array($0.name.utf8) }
        }
        let (letter, sign) = (Array("K".utf8), Array("\u{212a}".utf8))
        let row = try read(#"{"K":1}"#)
        #expect(try names(row.merged(with: read(#"{"\u212a":2}"#))) == [letter, sign])
        #expect(try names(row.merged(with: read(#"{"\u212a":null}"#))) == [letter])
        #expect(names(row.without(["\u{212a}"])) == [letter])
        #expect(names(row.without(["K"])).isEmpty)
        let others = (0..<16).map { ",\"m\($0)\":0" }.joined()
        for sign in ["\u{212a}", #"\u212a"#] {
            for rest in ["", others] {
                #expect(try names(read("{\"K\":1\(rest),\"\(sign)\":2}")).count == (rest.isEmpty ? 2 : 18))
                #expect(throws: JSONError.self) { try read("{\"K\":1\(rest),\"\\u004b\":2}") }
            }
        }
        for node in [JSONNode.tree(row), try JSONText(reading: Array(#"{"K":1}"#.utf8)).root] {
            var members = try #require(JSONMembers(node))
            #expect(members.take("\u{212a}")?.value == nil)
            #expect(members.take("K")?.value == .number("1"))
        }
    }

    @Test("values say the same in any order of members, and only with the same bytes")
    func equivalence() throws {
        let text = #"{"a":[1,{"b":null,"c":true}],"d":"K/é"}"#
        for same in [text, #" { "d" : "\u004b\/\u00e9", "\u0061" : [ 1 , {"c":true,"b":null} ] } "#] {
            #expect(try read(text).isEquivalent(to: read(same)) && read(same).isEquivalent(to: read(text)), "\(same)")
        }
        for (part, replacement) in [
            ("1", "1.0"), ("null", "false"), ("true", "false"), ("[1,{", "[{"), ("K", #"\u212a"#), ("é", #"e\u0301"#),
            ("\"d\"", "\"e\""), ("}]", "}],\"e\":1"), (",\"c\":true", ""), (text, "[]"), (text, "null"), (text, "{}"),
        ] {
            let other = try read(text.replacing(part, with: replacement))
            #expect(try !read(text).isEquivalent(to: other) && !other.isEquivalent(to: read(text)), "\(replacement)")
        }
    }

    @Test("what is written is read back, and escapes no more than it must")
    func writes() throws {
        var json = JSONWriter()
        json.object { json in
            json.member(named: "quote\"", "a/b\\c\"d\u{1}\n\r\té😀\u{7f}")
            json.member("n", Int64.min)
            json.member("empty", [String]())
            json.member("list", ["x", "y"])
            json.object("o") { $0.member("absent", String?.none) }
            json.member("flag", false)
        }
        let text = String(decoding: json.bytes, as: UTF8.self)
        #expect(
            text
                == #"{"quote\"":"a/b\\c\"d\u0001\n\r\té😀"# + "\u{7f}"
                + #"","n":-9223372036854775808,"empty":[],"list":["x","y"],"o":{},"flag":false}"#)
        var again = JSONWriter()
        again.value(try JSONReader.read(json.bytes))
        #expect(again.bytes == json.bytes)
    }
}

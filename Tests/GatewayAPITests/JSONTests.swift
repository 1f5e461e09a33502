import GatewayCore
import Testing

@testable import GatewayAPI

@Suite("Strict JSON")
struct JSONTests {
    private func read(_ text: String) throws(GatewayError) -> JSONValue {
        try JSONReader.read(Array(text.utf8))
    }

    /// The object that a text is, as it is taken apart in the text and in a tree.
    private func objects(_ text: String) throws -> [JSONObject] {
        [try JSONObject(JSONText(Array(text.utf8))), try JSONObject(read(text))]
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
        #expect(throws: GatewayError.self) { try read(text) }
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
        #expect(throws: GatewayError.self) { try JSONReader.read(bytes) }
    }

    @Test("reads 32 levels and no more")
    func depth() throws {
        _ = try read(String(repeating: "[", count: 32) + String(repeating: "]", count: 32))
        #expect(throws: GatewayError.self) {
            try read(String(repeating: "[", count: 33) + String(repeating: "]", count: 33))
        }
        #expect(throws: GatewayError.self) { try read(String(repeating: "[", count: 65_536)) }
        #expect(throws: GatewayError.self) { try read(String(repeating: #"{"a":"#, count: 10_000)) }
    }

    @Test("a member named twice is found among few and among many")
    func duplicates() throws {
        for count in [1, 15, 16, 17, 18, 8000] {
            let members = (0..<count).map { "\"m\($0)\":0" }
            _ = try read("{\(members.joined(separator: ","))}")
            for twin in [0, count / 2, count - 1] {
                let twice = members + ["\"m\(twin)\":0"]
                #expect(throws: GatewayError.self) { try read("{\(twice.joined(separator: ","))}") }
            }
        }
    }

    @Test("an integer is exact, or refused", arguments: ["1.0", "1e3", "9223372036854775808", "-9223372036854775809"])
    func notIntegers(digits: String) throws {
        for var object in try objects(#"{"n":\#(digits)}"#) {
            #expect(throws: GatewayError.self) { try object.integer("n") }
        }
    }

    @Test("the largest and smallest integers keep every digit")
    func integers() throws {
        for var object in try objects(#"{"a":9223372036854775807,"b":-9223372036854775808,"c":9007199254740993}"#) {
            #expect(try object.integer("a") == .max)
            #expect(try object.integer("b") == .min)
            #expect(try object.integer("c") == 9_007_199_254_740_993)
            try object.end()
        }
    }

    @Test("a wrong type and an unknown member are named by their path")
    func paths() throws {
        for var outer in try objects(#"{"o":{"list":["a",1],"x":1}}"#) {
            var inner = try #require(try outer.object("o"))
            #expect(
                throws: GatewayError.invalidArgument(
                    field: "o.list[1]", reason: "A string is expected, not a number.")
            ) {
                try inner.strings("list")
            }
            #expect(throws: GatewayError.invalidArgument(field: "o.x", reason: "There is no such member.")) {
                try inner.end()
            }
        }
    }

    @Test("members are taken once, in any order, by their decoded names; null is as if it were absent")
    func takes() throws {
        let text = #"{"z":null,"l":[{"n":1},"s",[]],"\u0061":"\n","é":"ü","b":true,"o":{"é":{}},"m":{"k":"v"},"e":[]}"#
        for var object in try objects(text) {
            #expect(try object.string("z") == nil)
            #expect(try object.dictionary("m", atMost: 1) == ["k": "v"])
            #expect(try object.string("é") == "ü")
            #expect(try object.string("a") == "\n")
            #expect(try object.string("a") == nil)
            var inner = try #require(try object.object("o"))
            let innermost = try #require(try inner.object("é"))
            try innermost.end()
            try inner.end()
            #expect(try object.bool("b") == true)
            let items = try #require(try object.values("l", atMost: 3))
            var first = try JSONObject(items[0], at: "l[0]")
            #expect(try first.integer("n") == 1)
            #expect(items[1].string == "s" && items[1].items == nil && items[2].items?.isEmpty == true)
            #expect(items[2].value == .array([]))
            #expect(throws: GatewayError.invalidArgument(field: "e", reason: "There is no such member.")) {
                try object.end()
            }
            #expect(try object.strings("e") == [])
            #expect(object.value("no") == nil)
            try object.end()
        }
        for text in ["[]", "null", "7", #""x""#] {
            #expect(throws: GatewayError.self) { try JSONObject(JSONText(Array(text.utf8))) }
        }
    }

    @Test("of a great many members each is found, and the first that nobody took is named")
    func manyMembers() throws {
        let members = (0..<200).map { #""m\#($0)":\#($0)"# }.joined(separator: ",")
        for var object in try objects("{\(members)}") {
            for index in (0..<200).reversed() where index != 77 && index != 150 {
                #expect(try object.integer("m\(index)") == Int64(index))
            }
            #expect(throws: GatewayError.invalidArgument(field: "m77", reason: "There is no such member.")) {
                try object.end()
            }
            #expect(try object.integer("m77") == 77)
            #expect(throws: GatewayError.invalidArgument(field: "m150", reason: "There is no such member.")) {
                try object.end()
            }
        }
    }

    @Test("a member's name that is sent back is cut")
    func longNames() throws {
        let long = String(repeating: "x", count: 5000)
        var object = try JSONObject(JSONText(Array("{\"m\":{\"\(long)\":1},\"\(long)\":1}".utf8)))
        let cut = String(repeating: "x", count: 64) + "…"
        #expect(throws: GatewayError.invalidArgument(field: "m." + cut, reason: "A string is expected, not a number."))
        {
            try object.dictionary("m", atMost: 9)
        }
        #expect(throws: GatewayError.invalidArgument(field: cut, reason: "There is no such member.")) {
            try object.end()
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
            json.name("o")
            json.object { $0.member("absent", String?.none) }
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

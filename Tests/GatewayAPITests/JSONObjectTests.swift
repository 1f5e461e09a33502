import GatewayCore
import StrictJSON
import Testing

@testable import GatewayAPI

@Suite("Members of a JSON object")
struct JSONObjectTests {
    /// The object in a text, read in place and from a tree.
    private func objects(_ text: String) throws -> [JSONObject] {
        [try JSONObject(JSONText(reading: Array(text.utf8))), try JSONObject(JSONReader.read(Array(text.utf8)))]
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
                    field: "o.list[1]", reason: "The value must be a string, not a number.")
            ) {
                try inner.strings("list")
            }
            #expect(throws: GatewayError.invalidArgument(field: "o.x", reason: "'o.x' does not exist here.")) {
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
            #expect(throws: GatewayError.invalidArgument(field: "e", reason: "'e' does not exist here.")) {
                try object.end()
            }
            #expect(try object.strings("e") == [])
            #expect(object.value("no") == nil)
            try object.end()
        }
        for text in ["[]", "null", "7", #""x""#] {
            #expect(throws: GatewayError.self) { try JSONObject(JSONText(reading: Array(text.utf8))) }
        }
    }

    /// U+212A, the Kelvin sign, is canonically equivalent to the letter K.
    @Test("a name that is canonically equivalent to a member's is another name", arguments: [#"\u212a"#, "\u{212a}"])
    func equivalentNames(sign: String) throws {
        for var object in try objects(#"{"\#(sign)":"s"}"#) {
            #expect(try object.string("K") == nil)
            #expect(
                throws: GatewayError.invalidArgument(field: "\u{212a}", reason: "'\u{212a}' does not exist here.")
            ) {
                try object.end()
            }
            #expect(try object.string("\u{212a}") == "s")
            try object.end()
        }
    }

    @Test("of a great many members each is found, and the first that nobody took is named")
    func manyMembers() throws {
        let members = (0..<200).map { #""m\#($0)":\#($0)"# }.joined(separator: ",")
        for var object in try objects("{\(members)}") {
            for index in (0..<200).reversed() where index != 77 && index != 150 {
                #expect(try object.integer("m\(index)") == Int64(index))
            }
            #expect(throws: GatewayError.invalidArgument(field: "m77", reason: "'m77' does not exist here.")) {
                try object.end()
            }
            #expect(try object.integer("m77") == 77)
            #expect(throws: GatewayError.invalidArgument(field: "m150", reason: "'m150' does not exist here.")) {
                try object.end()
            }
        }
    }

    @Test("a member's name that is sent back is cut")
    func longNames() throws {
        let long = String(repeating: "x", count: 5000)
        var object = try JSONObject(JSONText(reading: Array("{\"m\":{\"\(long)\":1},\"\(long)\":1}".utf8)))
        let cut = String(repeating: "x", count: 64) + "…"
        #expect(
            throws: GatewayError.invalidArgument(
                field: "m." + cut,
                reason: "The value must be a string, not a "
                    + "number.")
        ) {
            try object.dictionary("m", atMost: 9)
        }
        #expect(throws: GatewayError.invalidArgument(field: cut, reason: "'\(cut)' does not exist here.")) {
            try object.end()
        }
    }

    @Test func `what is no JSON is refused with the reason and the place`() {
        for (bytes, reason) in [
            ([0x22, 0xff, 0x22], "The text is not UTF-8."), ([], "The request has no body."),
            (Array("{} {}".utf8), "Nothing may follow the JSON value (at byte 3)."),
            (Array(#"{"a":1,"a":2}"#.utf8), "A member is named twice (at byte 10)."),
        ] as [([UInt8], String)] {
            #expect(throws: GatewayError.invalidArgument(field: "body", reason: reason)) { try JSONText.body(bytes) }
        }
    }
}

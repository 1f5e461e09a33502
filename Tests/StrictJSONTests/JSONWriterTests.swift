import StrictJSON
import Testing

@Suite struct JSONWriterTests {
    private func written(_ members: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        json.object(members)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test func `commas are before and after members that are objects, and not within empty ones`() {
        let alone = written { $0.object("a") { _ in } }
        #expect(alone == #"{"a":{}}"#)
        let among = written { json in
            json.member("a", true)
            json.object("b") { json in
                json.member("c", "x")
                json.object("d") { $0.member("e", false) }
                json.object("f") { _ in }
            }
            json.object("g") { $0.member("h", "y") }
            json.member("i", ["z"])
        }
        #expect(among == #"{"a":true,"b":{"c":"x","d":{"e":false},"f":{}},"g":{"h":"y"},"i":["z"]}"#)
    }

    @Test(arguments: [
        ([String](), #"{"a":[],"b":true,"c":[],"d":[],"e":false}"#),
        (["x"], #"{"a":["x"],"b":true,"c":[["x"]],"d":[{"f":"x"}],"e":false}"#),
        (["x", "y"], #"{"a":["x","y"],"b":true,"c":[["x"],["y"]],"d":[{"f":"x"},{"f":"y"}],"e":false}"#),
    ])
    func `commas are between items, and before and after members that are arrays`(items: [String], expected: String) {
        let text = written { json in
            json.array("a", items) { $0.string($1) }
            json.member("b", true)
            json.array("c", items) { $0.strings([$1]) }
            json.objects("d", items) { $0.member("f", $1) }
            json.member("e", false)
        }
        #expect(text == expected)
    }

    @Test func `objects hold arrays of objects, and objects without members stay`() {
        let text = written { json in
            json.objects("a", 0..<3) { json, count in
                json.objects("b", 0..<count) { json, number in
                    if number > 0 { json.member("c", number) }
                }
            }
        }
        #expect(text == #"{"a":[{"b":[]},{"b":[{}]},{"b":[{},{"c":1}]}]}"#)
    }
}

import HTTPServing
import HTTPTypes
import Testing

@Suite struct HeaderFieldsTests {
    @Test func fieldsKeepTheirOrderTheirCaseAndTheirValues() {
        let other = HTTPField.Name("X-Other")!
        var fields: HeaderFields = [.contentType: "text/plain", other: ""]
        fields.append(.vary, "Origin")
        let long = String(repeating: "ä", count: 40_000)
        fields.append(other, long)
        #expect(fields.map(\.name.rawName) == ["Content-Type", "X-Other", "Vary", "X-Other"])
        #expect(fields.map(\.value) == ["text/plain", "", "Origin", long])
        #expect(!fields.isEmpty && HeaderFields().isEmpty)
    }

    @Test func namesAreFoundWhateverTheirCase() {
        let fields: HeaderFields = [HTTPField.Name("cOnTeNt-TyPe")!: "a/b", HTTPField.Name("ETAG")!: "1"]
        #expect(fields[.contentType] == "a/b" && fields.contains(.contentType))
        #expect(fields[HTTPField.Name("content-typ")!] == nil && fields[HTTPField.Name("content-typf")!] == nil)
        #expect(fields[.eTag] == "1" && !fields.contains(.vary))
        // The two differ in the bit that distinguishes upper and lower case.
        let marks: HeaderFields = [HTTPField.Name("x^")!: "1"]
        #expect(!marks.contains(HTTPField.Name("x~")!) && marks.contains(HTTPField.Name("X^")!))
    }

    @Test func valuesOfOneNameAreJoinedInOrder() {
        var fields = HeaderFields()
        fields.append(.vary, "a")
        fields.append(.origin, "o")
        fields.append(HTTPField.Name("VARY")!, "b")
        #expect(fields[.vary] == "a, b" && fields[values: .vary] == ["a", "b"])
        #expect(fields.onlyValue(of: .vary) == nil && fields.onlyValue(of: .range) == nil)
        #expect(fields.onlyValue(of: .origin).map { Array($0) } == Array("o".utf8))
    }

    @Test func settingReplacesEveryFieldOfTheName() {
        var fields: HeaderFields = [.vary: "a", .origin: "o", .vary: "b"]
        fields[.vary] = "c"
        #expect(fields[values: .vary] == ["c"] && fields[.origin] == "o")
        fields[values: .vary] = ["d", "e"]
        #expect(fields[values: .vary] == ["d", "e"])
        fields[.origin] = nil
        #expect(fields == [.vary: "d", .vary: "e"])
    }

    @Test(arguments: [
        ("a\r\nSet-Cookie: b", "a  Set-Cookie: b"), (" \ta b\t ", "a b"), ("a\u{0}b\u{7f}c", "a b c"), ("\r\n", ""),
        ("a\tb", "a\tb"), ("\u{e9}", "\u{e9}"),
        (String(repeating: "x", count: 100) + "\n", String(repeating: "x", count: 100)),
    ])
    func noValueEndsALine(given: String, kept: String) {
        var fields = HeaderFields()
        fields.append(.location, given)
        #expect(fields[.location] == kept)
    }
}

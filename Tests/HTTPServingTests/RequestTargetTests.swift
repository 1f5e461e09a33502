import HTTPServing
import Testing

@Suite struct RequestTargetTests {
    @Test(arguments: [
        ("/", [""]),
        ("/a/b", ["a", "b"]),
        ("/a/", ["a", ""]),
        ("/a//b", ["a", "", "b"]),
        ("/a/../b/.", ["a", "..", "b", "."]),
        ("/a%2Fb/c", ["a/b", "c"]),
        ("/a%252Fb", ["a%2Fb"]),
        ("/%2e%2E/x", ["..", "x"]),
        ("/%E6%97%A5%e6%9c%ac", ["日本"]),
        ("/a+b", ["a+b"]),
        ("/a%20b?x", ["a b"]),
    ])
    func `a path is split at its slashes, then decoded once`(raw: String, segments: [String]) throws {
        #expect(try RequestTarget(raw).segments == segments)
    }

    @Test func `a query is split, then decoded once`() throws {
        let target = try RequestTarget("/p?a=1&b=%26%3D&c&&d=x=y&a=2&e=1+2%2B")
        #expect(target.rawPath == "/p")
        #expect(target.rawQuery == "a=1&b=%26%3D&c&&d=x=y&a=2&e=1+2%2B")
        #expect(
            target.query.map { [$0.name, $0.value] } == [
                ["a", "1"], ["b", "&="], ["c", ""], ["d", "x=y"], ["a", "2"], ["e", "1 2+"],
            ]
        )
    }

    @Test func `an empty query differs from none`() throws {
        #expect(try RequestTarget("/p?").rawQuery?.isEmpty == true)
        #expect(try RequestTarget("/p").rawQuery == nil)
    }

    @Test(arguments: [
        ("", RequestTargetError.notAPath),
        ("*", .notAPath),
        ("http://host/", .notAPath),
        ("?a=b", .notAPath),
        ("/%", .malformedEscape),
        ("/%4", .malformedEscape),
        ("/%4/1", .malformedEscape),
        ("/%zz", .malformedEscape),
        ("/a?b=%", .malformedEscape),
        ("/a?%=b", .malformedEscape),
        ("/%00", .forbiddenCharacter),
        ("/%0a", .forbiddenCharacter),
        ("/%1F", .forbiddenCharacter),
        ("/%7f", .forbiddenCharacter),
        ("/a?b=%0D", .forbiddenCharacter),
        ("/a b", .forbiddenCharacter),
        ("/a\u{0}b", .forbiddenCharacter),
        ("/é", .forbiddenCharacter),
        ("/a#b", .forbiddenCharacter),
        ("/%ff", .invalidUTF8),
        ("/%C0%AF", .invalidUTF8),
        ("/%ED%A0%80", .invalidUTF8),
        ("/%E6/%97%A5", .invalidUTF8),
        ("/a?b=%80", .invalidUTF8),
    ])
    func `what could be read two ways is refused`(raw: String, error: RequestTargetError) {
        #expect(throws: error) { try RequestTarget(raw) }
    }
}

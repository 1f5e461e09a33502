import Foundation
import HTTPTypes
import Signing
import Testing

/// Keys that are easily altered in transit.
let difficultKeys = [
    "a b", "a+b", "100%", "%41", "文字/鍵.txt", "emoji 🦥👩‍👩‍👧", "quotes '\"`", "~tilde", "star*", "a=b&c;d,e", "a\\b",
    "trailing/", "e\u{301}", "\u{E9}", "..hidden", "dots../x", "(){}[]|^<>!$@:",
    String(repeating: "k", count: 1023), String(repeating: "鍵", count: 341),
]

@Suite struct StoreKeyTests {
    @Test func `each key is an object of its own`() async throws {
        let fixture = try StoreFixture()
        for key in difficultKeys { #expect(try await fixture.put(key, "text of \(key)").status == 200, "\(key)") }
        for key in difficultKeys { #expect(try await fixture.get(key).text == "text of \(key)") }
        #expect(fixture.fileCount == 2 * difficultKeys.count)
    }

    @Test(arguments: [
        "../../../escape", "..", "../records/x", "a/../../b", "/etc/passwd", "//", ".", "con", "a\u{7}b", "a\nb",
        "incoming/x", String(repeating: "../", count: 300),
    ])
    func `no key leads to a file of its own choosing`(key: String) async throws {
        let fixture = try StoreFixture()
        #expect(try await fixture.put(key, "x").status == 200)
        #expect(try await fixture.get(key).text == "x")
        #expect(fixture.fileCount == 2)
        let files = FileManager.default.enumerator(atPath: fixture.directory)?.allObjects ?? []
        let shape = /incoming|buckets(\/demo(\/(records|bodies)(\/[0-9a-f]{2}(\/[0-9a-f-]{36,64}(\.json)?)?)?)?)?/
        for case let file as String in files { #expect(file.wholeMatch(of: shape) != nil, "\(file)") }
    }

    @Test func `the path is decoded once, and nothing of it is folded`() async throws {
        let fixture = try StoreFixture()
        let url = try fixture.url(.put, "a/b", bucket: "demo")
        try await fixture.put("a/b", "right")
        let get = try fixture.url(.get, "a/b")
        // Another spelling of the same bytes is the same request.
        #expect(try await fixture.send(.get, get.replacing("/a/b", with: "/%61%2Fb")).text == "right")
        #expect(try await fixture.send(.get, get.replacing("/demo/a", with: "/demo%2Fa")).text == "right")
        for other in ["/a%252Fb", "/a//b", "/./a/b", "/x/%2e%2e/a/b", "/a/b/", "/A/b", "/a/b%00", "/a/b%20"] {
            let answer = try await fixture.send(.get, get.replacing("/a/b", with: other))
            #expect(answer.status == 403 || answer.status == 400, "\(other)")
        }
        #expect(try await fixture.send(.put, url.replacing("/a/b", with: "/a/%zz")).status == 400)
    }

    @Test func `a key that no store takes is refused`() async throws {
        let fixture = try StoreFixture()
        #expect(try await fixture.put(String(repeating: "k", count: 1024), "x").status == 200)
        #expect(try await fixture.put(String(repeating: "k", count: 1025), "x").code == "KeyTooLongError")
        let zero = try await fixture.put("a\0b", "x")
        #expect(zero.status == 400)
        #expect(fixture.fileCount == 2)
    }
}

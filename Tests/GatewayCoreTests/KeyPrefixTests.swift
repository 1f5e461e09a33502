import Testing

@testable import GatewayCore

@Suite struct KeyPrefixTests {
    let alice: Subject

    init() throws {
        alice = Subject(principal: try Principal("user:alice"), claims: ["tenant": "acme"])
    }

    func matches(_ prefix: KeyPrefix, _ key: String, _ subject: Subject? = nil) throws -> Int? {
        prefix.matchedByteCount(of: try ObjectKey(key), for: subject ?? alice)
    }

    @Test(arguments: [
        ("", "a", 0), ("team/a/", "team/a/x", 7), ("team/a/", "team/a/b/c", 7), ("team/a", "team/a", 6),
        ("ü/", "ü/x", 3), ("👩‍👩‍👧/", "👩‍👩‍👧/x", 19),
    ])
    func `a literal covers what it begins with or names`(prefix: String, key: String, byteCount: Int) throws {
        #expect(try matches(KeyPrefix(literal: prefix), key) == byteCount)
    }

    @Test(arguments: [
        ("team/a/", "team/ab"), ("team/a/", "team/a"), ("team/a", "team/a/b"), ("team/a", "team/ab"),
        ("team/a/", "TEAM/a/x"), ("caf\u{e9}/", "cafe\u{301}/x"), ("cafe\u{301}/", "caf\u{e9}/x"),
        ("a/", "a\u{301}/x"), ("e", "e\u{301}"),
    ])
    func `a literal covers nothing else, compared by bytes`(prefix: String, key: String) throws {
        #expect(try matches(KeyPrefix(literal: prefix), key) == nil)
    }

    @Test func `a slash with a combining mark after it is still a boundary`() throws {
        let key = "a/\u{301}b"
        #expect(try matches(KeyPrefix(literal: "a/"), key) == 2)
        #expect(try ObjectKey(key).candidatePrefixes.map(\.rawValue.utf8.count) == [0, 2, 5])
    }

    @Test func `candidates are the empty text, every boundary and the key`() throws {
        #expect(try ObjectKey("a/b/c").candidatePrefixes == ["", "a/", "a/b/", "a/b/c"].map(ExactText.init))
        #expect(try ObjectKey("a").candidatePrefixes == ["", "a"].map(ExactText.init))
    }

    @Test(arguments: [
        "/a", "/", "a//b", "a//", "./a", "a/../b", "a/.", "\\a", "a\\", "a/..;/", "a\\../b/", "%2e%2e/", "a\u{0}b",
        "a\nb", "a\u{7f}", "a/${sub}/", "${\u{301}",
        String(repeating: "a", count: 1024),
    ])
    func `a literal that no key can begin with is refused`(text: String) {
        #expect(refusedField { try KeyPrefix(literal: text) } == "prefix")
    }

    @Test func `prefixes have at most 1,023 bytes`() throws {
        #expect(try KeyPrefix(literal: String(repeating: "a", count: 1023)).text.utf8.count == 1023)
        #expect(refusedField { try KeyPrefix(literal: String(repeating: "é", count: 512)) } == "prefix")
    }

    @Test(arguments: [
        ("users/${sub}/", "users/alice/x", 12), ("${sub}/", "alice/x", 6),
        ("t/${claim:tenant}/${sub}/", "t/acme/alice/x", 13),
        ("users/${sub}", "users/alice", 11), ("a/${claim:tenant}/b", "a/acme/b", 8),
    ])
    func `a template covers what it stands for`(template: String, key: String, byteCount: Int) throws {
        let prefix = try KeyPrefix(template: template)
        #expect(try matches(prefix, key) == byteCount)
        let literal = try KeyPrefix(literal: #require(prefix.expanded(for: alice)).rawValue)
        #expect(try matches(literal, key) == byteCount)
    }

    @Test(arguments: [
        ("users/${sub}/", "users/alice2/x"), ("users/${sub}/", "users/alic/x"), ("users/${sub}/", "users/alice"),
        ("users/${sub}", "users/alice/x"), ("users/${sub}/", "users/bob/x"), ("users/${sub}/", "users"),
        ("u/${claim:missing}/", "u//x"), ("u/${claim:missing}/", "u/x"),
    ])
    func `a template covers nothing else`(template: String, key: String) throws {
        guard let key = try? ObjectKey(key) else { return }
        #expect(try KeyPrefix(template: template).matchedByteCount(of: key, for: alice) == nil)
    }

    @Test(arguments: [
        "", "/", "a/b", "a\\b", "*", "a*", "a?", "$", "${sub}", "a%2F", "a%", ".", "..", "..;", ".;a", "...", ".. ",
        "a\u{0}", "a\n", "a\u{85}",
    ])
    func `a value that could change the shape of a key matches nothing`(value: String) throws {
        let prefix = try KeyPrefix(template: "u/${claim:tenant}/")
        let subject = Subject(principal: alice.principal, claims: ["tenant": value])
        #expect(prefix.expanded(for: subject) == nil)
        for key in ["u/x", "u/b/x", "u/a/b/x", "u/a%2F/x", "u/*/x"] {
            #expect(prefix.matchedByteCount(of: try ObjectKey(key), for: subject) == nil)
        }
    }

    @Test func `the subject is the principal's own name, never a claim`() throws {
        let subject = Subject(principal: try Principal("user:partner:alice"), claims: ["sub": "alice"])
        #expect(try KeyPrefix(template: "u/${sub}/").expanded(for: subject) == ExactText("u/partner:alice/"))
        let everyone = Subject(principal: .anyone, claims: ["sub": "alice"])
        #expect(try KeyPrefix(template: "u/${sub}/").expanded(for: everyone) == nil)
    }

    @Test(arguments: [
        "users/", "users/x${sub}/", "users/${sub}x/", "users/${name}/", "users/${claim:}/", "users/${claim:sub}/",
        "users/${SUB}/", "users/${sub/", "users/${claim:a b}/", "users/${claim:a/b}/", "${sub}//", "/${sub}",
        "${sub}/..",
        "users/$${sub}/", "u/${sub}${sub}/", "u/${claim:" + String(repeating: "a", count: 129) + "}/", "",
    ])
    func `a template has variables as whole segments`(text: String) {
        #expect(refusedField { try KeyPrefix(template: text) } == "template")
    }

    @Test func `a template with the bare subject is told what to use`() throws {
        let error = #expect(throws: GatewayError.self) { try KeyPrefix(template: "users/${claim:sub}/") }
        guard case .invalidArgument("template", let reason)? = error else { return }
        #expect(reason.contains("Use '${sub}'"), "\(reason)")
    }

    @Test(arguments: [
        "", "/a", "a/", "a//b", "a/./b", "..", "\\x", "a\u{0}", "a\u{1f}", "a\u{7f}", "a/${sub}", "a/$\u{7b}\u{301}x",
        "a/..;/b", "..;", "a/.;x=1/b", "a/...", "...", "a/.. /b", "a/ ../b", "a/. ./b", ". ", "a\\..\\b", "a\\../b",
        "a/..\\b", "a/.\\b", "a\\.", "a\\\\b", "a/\\b", "a\\/b", "a\\", "a/%2e%2e/b", "%2E", "a/.%2e/b", "a/%2e%2E;/b",
        "a/..%3bx/b", "a%2f..%2fb", "a%5C..%5Cb", "a/..%20/b", "a/%2e%2e",
        String(repeating: "k", count: 1024), String(repeating: "é", count: 512),
    ])
    func `a hostile key is refused`(text: String) {
        #expect(refusedField { try ObjectKey(text) } == "key")
    }

    @Test(arguments: [
        "a", "a?b", "a b", "a+b", "100%", "日本語/📷.png", "~'\"*", "a\\b", "a\\b/c d", "$sub", "{x}",
        ".hidden", "..hidden", "a..", "a/b..", "a. ", " a", " ", "a/ /b", "a;b", ";..", "..a;x", "a/;x", "...a",
        "%2e%2ea",
        "https%3A%2F%2Fa.example%2Fx", "%252e%252e", "%", "%2", "a%zz/b", "%2f", "..é",
        String(repeating: "k", count: 1023), String(repeating: "é", count: 511) + "k",
    ])
    func `any other key is kept byte for byte`(text: String) throws {
        #expect(try Array(ObjectKey(text).rawValue.utf8) == Array(text.utf8))
    }

    @Test func `two spellings of a letter are two keys`() throws {
        #expect(try ObjectKey("caf\u{e9}") != ObjectKey("cafe\u{301}"))
    }
}

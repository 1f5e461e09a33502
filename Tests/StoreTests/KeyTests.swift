import HTTPTesting
import Signing
import TestSupport
import Testing

@Suite("Keys arrive as they were meant", .withStores)
struct KeyTests {
    static let names = [
        "with space", " leading and trailing ", "plus+plus", "percent%percent", "%41", "%2F", "%", "100%25",
        "报告/二〇二六年.pdf", "日本語", "👩🏽‍🚀.png", "quote'single", "quote\"double", "tilde~", "star*", "(parentheses)",
        "!$&,;=:@", "question?mark", "hash#", "back\\slash", "[brackets]{braces}", "pipe|caret^grave`", "less<more>",
        "composed-\u{E9}", "decomposed-e\u{301}", "\u{FEFF}mark", "a..b", "...", "trailing/",
    ]

    @Test("an object is stored under exactly the signed key", arguments: StoreKind.allCases, names)
    func roundTrip(kind: StoreKind, name: String) async throws {
        let store = try TestStore(kind)
        try await expectRoundTrip(store, key: store.freshKey(name), addressing: .path)
        try await expectRoundTrip(store, key: store.freshKey(name), addressing: .virtual)
    }

    @Test(
        "a key may have 1,023 bytes", arguments: StoreKind.allCases, ["k", "%", "é", "界", "🛶"]
    )
    func longKey(kind: StoreKind, unit: String) async throws {
        let store = try TestStore(kind)
        var key = store.freshKey("")
        let room = 1023 - key.utf8.count
        key += String(repeating: unit, count: room / unit.utf8.count)
        key += String(repeating: "k", count: 1023 - key.utf8.count)
        #expect(key.utf8.count == 1023)
        try await expectRoundTrip(store, key: key, addressing: .path)
    }

    @Test("two ways of writing the same letter are two objects", arguments: StoreKind.allCases)
    func normalisation(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let folder = store.freshKey("")
        #expect(try await store.upload([1], to: folder + "\u{E9}").status == 200)
        #expect(try await store.download(folder + "e\u{301}").status == 404)
    }

    private func expectRoundTrip(_ store: TestStore, key: String, addressing: Addressing) async throws {
        let body = Array(key.utf8)
        let uploaded = try await store.upload(body, to: key, addressing: addressing)
        #expect(uploaded.status == 200, "\(uploaded.text)")
        let downloaded = try await store.download(key, addressing: addressing)
        #expect(downloaded.status == 200, "\(downloaded.text)")
        #expect(downloaded.body == body)

        let query = [NamedValue("list-type", "2"), NamedValue("prefix", String(key.prefix(36)))]
        let listing = try await store.send("GET", try store.presign("GET", "", query: query).url)
        #expect(listing.status == 200, "\(listing.text)")
        #expect(Array(listedKeys(listing.text).map(\.utf8).map(Array.init)) == [body], "\(listing.text)")
    }

    /// The keys in a listing in XML.
    private func listedKeys(_ listing: String) -> [String] {
        listing.split(separator: "<Key>").dropFirst().map { part in
            let escaped = part[..<(part.firstRange(of: "</Key>")?.lowerBound ?? part.endIndex)]
            let entities = [
                ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&"),
            ]
            return entities.reduce(String(escaped)) { $0.replacing($1.0, with: $1.1) }
        }
    }
}

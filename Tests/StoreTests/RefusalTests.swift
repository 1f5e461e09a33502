import HTTPTesting
import LibCrypto
import Signing
import TestSupport
import Testing

@Suite("What was not signed, a store refuses", .withStores)
struct RefusalTests {
    static let body = Array("exactly these bytes".utf8)

    /// A valid upload with one change.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var method = "PUT"
        var url: @Sendable (String) -> String = { $0 }
        var headers: @Sendable ([NamedValue]) -> [NamedValue] = { $0 }
        var body = RefusalTests.body

        init(_ description: String) { testDescription = description }

        static func url(_ description: String, _ change: @escaping @Sendable (String) -> String) -> Change {
            var result = Change(description)
            result.url = change
            return result
        }

        static func header(_ name: String, _ value: String?, body: [UInt8] = RefusalTests.body) -> Change {
            var result = Change(value.map { "\(name): \($0)" } ?? "no \(name)")
            result.headers = { $0.filter { $0.name != name } + (value.map { [NamedValue(name, $0)] } ?? []) }
            result.body = body
            return result
        }

        static func method(_ method: String) -> Change {
            var result = Change("method \(method)")
            result.method = method
            return result
        }
    }

    static let changes: [Change] = [
        .header("content-type", "text/html"),
        .header("content-type", "image/png; charset=utf-8"),
        .header("content-type", nil),
        .header("content-md5", DigestAlgorithm.md5.digest(of: [0]).base64),
        .header("content-md5", nil),
        .header("content-length", String(body.count + 1), body: body + [0]),
        .header("content-length", String(body.count - 1), body: body.dropLast()),
        .header("content-length", "0", body: []),
        .header("x-amz-meta-owner", "mallory"),
        .header("x-amz-meta-owner", nil),
        .method("GET"),
        .method("DELETE"),
        .url("another key") { $0.replacing("/object.bin?", with: "/object.exe?") },
        .url("a key below") { $0.replacing("/object.bin?", with: "/object.bin/more?") },
        .url("a longer life") { $0.replacing("X-Amz-Expires=300", with: "X-Amz-Expires=3000") },
        .url("fewer signed headers") { $0.replacing("content-length%3B", with: "") },
        .url("a parameter more") { $0 + "&partNumber=1&uploadId=x" },
        .url("another host") { $0.replacing("127.0.0.1", with: "localhost") },
        .url("another signature") { String($0.dropLast()) + ($0.hasSuffix("0") ? "1" : "0") },
        .url("no signature") { String($0[..<($0.firstRange(of: "&X-Amz-Signature=")?.lowerBound ?? $0.endIndex)]) },
    ]

    @Test("a request that differs from what was signed", arguments: StoreKind.allCases, changes)
    func changed(kind: StoreKind, change: Change) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        let headers = binding(Self.body) + [NamedValue("x-amz-meta-owner", "alice")]
        let signed = try store.presign("PUT", key, headers: headers)
        let url = change.url(signed.url)
        let changedHeaders = change.headers(signed.requiredHeaders)
        try #require(
            url != signed.url || changedHeaders != signed.requiredHeaders || change.method != "PUT",
            "the change has to change something"
        )
        let answer = try await store.send(change.method, url, headers: changedHeaders, body: change.body)
        #expect(answer.status == 403, "\(answer.text)")
        #expect(try await store.download(key).status == 404)
    }

    @Test("chunks, which hide the length that was signed", arguments: StoreKind.allCases)
    func chunked(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        let signed = try store.presign("PUT", key, headers: binding(Self.body))
        let headers = signed.requiredHeaders.filter { $0.name != "content-length" }
        let url = try RawURL(signed.url)
        let fields = [("Host", url.authority), ("Transfer-Encoding", "chunked"), ("Connection", "close")]
        let request = RawRequest(
            "PUT", url.target, headers: fields + headers.map { ($0.name, $0.value) },
            body: Array("\(String(Self.body.count, radix: 16))\r\n".utf8) + Self.body + Array("\r\n0\r\n\r\n".utf8)
        )
        let answer = try await request.answer(fromPort: store.port)
        #expect(answer.status == 403, "\(answer.text)")
        #expect(try await store.download(key).status == 404)
    }

    @Test("other bytes than the signed MD5 says, with 400", arguments: StoreKind.allCases)
    func otherBytes(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        let signed = try store.presign("PUT", key, headers: binding(Self.body))
        let others = Array(Self.body.reversed())
        let answer = try await store.send("PUT", signed.url, headers: signed.requiredHeaders, body: others)
        #expect(answer.status == 400, "\(answer.text)")
        #expect(try await store.download(key).status == 404)
    }

    @Test("a URL after its end", arguments: StoreKind.allCases, ["PUT", "GET"])
    func expired(kind: StoreKind, method: String) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        if method == "GET" { #expect(try await store.upload(Self.body, to: key).status == 200) }
        let headers = method == "PUT" ? binding(Self.body) : []
        let signed = try store.presign(method, key, headers: headers, secondsAgo: 61, expiresIn: 60)
        let body = method == "PUT" ? Self.body : nil
        let answer = try await store.send(method, signed.url, headers: signed.requiredHeaders, body: body)
        #expect(answer.status == 403, "\(answer.text)")
    }

    @Test("a download URL used for anything else", arguments: StoreKind.allCases, ["PUT", "DELETE"])
    func otherMethod(kind: StoreKind, method: String) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        #expect(try await store.upload(Self.body, to: key).status == 200)
        let signed = try store.presign("GET", key)
        let answer = try await store.send(method, signed.url, body: method == "DELETE" ? nil : [0])
        #expect(answer.status == 403, "\(answer.text)")
        #expect(try await store.download(key).body == Self.body)
    }

    @Test("response headers that were not signed, or not so", arguments: StoreKind.allCases)
    func responseOverrides(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        #expect(try await store.upload(Self.body, to: key).status == 200)
        let plain = try store.presign("GET", key).url
        #expect(try await store.send("GET", plain + "&response-content-type=text%2Fhtml").status == 403)
        let query = [NamedValue("response-content-disposition", "attachment")]
        let bound = try store.presign("GET", key, query: query).url
        #expect(try await store.send("GET", bound).status == 200)
        let inline = bound.replacing("disposition=attachment", with: "disposition=inline")
        #expect(try await store.send("GET", inline).status == 403)
        let dropped = bound.replacing("&response-content-disposition=attachment", with: "")
        try #require(dropped != bound)
        #expect(try await store.send("GET", dropped).status == 403)
    }

    @Test("a second upload where only creation was signed", arguments: StoreKind.allCases)
    func createOnly(kind: StoreKind) async throws {
        let store = try TestStore(kind)
        let key = store.freshKey()
        let headers = binding(Self.body) + [NamedValue("if-none-match", "*")]
        let signed = try store.presign("PUT", key, headers: headers)
        let withoutCondition = signed.requiredHeaders.filter { $0.name != "if-none-match" }
        #expect(try await store.send("PUT", signed.url, headers: withoutCondition, body: Self.body).status == 403)
        let first = try await store.send("PUT", signed.url, headers: signed.requiredHeaders, body: Self.body)
        #expect(first.status == 200, "\(first.text)")
        let second = try await store.send("PUT", signed.url, headers: signed.requiredHeaders, body: Self.body)
        #expect(second.status == 412, "\(second.text)")
    }
}

import Foundation
import HTTPServing
import HTTPTypes
import Signing
import Testing

@testable import DevStack

@Suite struct StoreDownloadTests {
    @Test(arguments: [
        ("bytes=0-0", "0", "bytes 0-0/10"), ("bytes=3-5", "345", "bytes 3-5/10"), ("bytes=8-", "89", "bytes 8-9/10"),
        ("bytes=8-99999999999999999999", "89", "bytes 8-9/10"), ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=-99", "0123456789", "bytes 0-9/10"), ("Bytes=1-1", "1", "bytes 1-1/10"),
    ])
    func `one range is cut out`(range: String, text: String, contentRange: String) async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "0123456789")
        let answer = try await fixture.get("k", extra: ["range": range])
        #expect(answer.status == 206)
        #expect(answer.text == text)
        #expect(answer["content-range"] == contentRange)
    }

    @Test(arguments: ["bytes=5-3", "bytes=1-2,4-5", "bytes=a-b", "lines=1-2", "bytes=", "bytes=-", "bytes=+1-2", "1-2"])
    func `a range that means nothing is ignored`(range: String) async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "0123456789")
        let answer = try await fixture.get("k", extra: ["range": range])
        #expect(answer.status == 200)
        #expect(answer.text == "0123456789")
    }

    @Test(arguments: ["bytes=10-", "bytes=99-100", "bytes=-0", "bytes=99999999999999999999-"])
    func `a range without a byte of the object is refused`(range: String) async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "0123456789")
        let answer = try await fixture.get("k", extra: ["range": range])
        #expect(answer.status == 416)
        #expect(answer.code == "InvalidRange")
        #expect(answer.text.contains("<ActualObjectSize>10</ActualObjectSize>"))
    }

    @Test func `an empty object has no range`() async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "")
        #expect(try await fixture.get("k").body.isEmpty)
        #expect(try await fixture.get("k", extra: ["range": "bytes=0-"]).status == 416)
        #expect(try await fixture.get("k", extra: ["range": "bytes=-1"]).status == 416)
    }

    @Test func `conditions are weighed in the order of the specification`() async throws {
        let fixture = try StoreFixture()
        let tag = try #require(try await fixture.put("k", "hello")["etag"])
        let then = "Fri, 02 Jan 2026 03:04:05 GMT"
        let before = "Fri, 02 Jan 2026 03:04:04 GMT"
        let cases: [([String: String], Int)] = [
            (["if-none-match": tag], 304), (["if-none-match": "W/\(tag)"], 304), (["if-none-match": "*"], 304),
            (["if-none-match": "\"x\", \(tag)"], 304), (["if-none-match": "\"x\""], 200),
            (["if-modified-since": then], 304), (["if-modified-since": before], 200),
            (["if-modified-since": "yesterday"], 200), (["if-none-match": "\"x\"", "if-modified-since": then], 200),
            (["if-match": tag], 200), (["if-match": "\"x\""], 412), (["if-unmodified-since": then], 200),
            (["if-unmodified-since": before], 412), (["if-match": tag, "if-unmodified-since": before], 200),
            (["range": "bytes=0-0", "if-range": tag], 206), (["range": "bytes=0-0", "if-range": "\"x\""], 200),
            (["range": "bytes=0-0", "if-range": then], 206), (["range": "bytes=0-0", "if-range": before], 200),
        ]
        for (headers, status) in cases {
            let answer = try await fixture.get("k", extra: headers)
            #expect(answer.status == status, "\(headers)")
            if status == 304 { #expect(answer.body.isEmpty && answer["etag"] == tag) }
        }
    }

    @Test func `signed parameters override the headers of the answer`() async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "hello", bound: ["content-type": "text/plain"])
        let overrides = [
            "content-type": "application/json", "content-disposition": "attachment; filename*=UTF-8''%E2%82%AC.txt",
            "cache-control": "no-cache", "content-language": "de", "expires": "0", "content-encoding": "identity",
        ]
        let query = overrides.map { NamedValue("response-\($0.key)", $0.value) }
        let answer = try await fixture.get("k", query: query)
        #expect(answer.status == 200)
        for (name, value) in overrides { #expect(answer[name] == value) }

        let plain = try fixture.url(.get, "k")
        let added = plain + "&response-content-type=text%2Fhtml"
        #expect(try await fixture.send(.get, added).code == "SignatureDoesNotMatch")
        let injected = [NamedValue("response-content-type", "text/html\r\nSet-Cookie: a=b")]
        #expect(try await fixture.get("k", query: injected).code == "InvalidRequest")
        #expect(try await fixture.get("k", query: [NamedValue("response-set-cookie", "a=b")]).status == 501)
    }

    @Test func `what is missing is named`() async throws {
        let fixture = try StoreFixture()
        let key = try await fixture.get("missing<&>")
        #expect(key.status == 404)
        #expect(key.code == "NoSuchKey")
        #expect(key["content-type"] == "application/xml")
        let requestID = try #require(key["x-amz-request-id"])
        #expect(
            key.text.hasSuffix("<Resource>/demo/missing%3C%26%3E</Resource><RequestId>\(requestID)</RequestId></Error>")
        )
        for bucket in ["absent", "UPPER", "..", "a"] {
            let answer = try await fixture.send(.get, try fixture.url(.get, "k", bucket: bucket))
            #expect(answer.status == 404)
            #expect(answer.code == "NoSuchBucket")
        }
        #expect(throws: EmbeddedStoreError.invalidBucketName("../up")) { try fixture.store.makeBucket("../up") }
    }

    @Test func `a bucket may stand in the host`() async throws {
        let fixture = try StoreFixture()
        let url = try fixture.url(.put, "a/k", origin: "http://localhost:9000", addressing: .virtual)
        #expect(url.hasPrefix("http://demo.localhost:9000/a/k?"))
        let put = try await fixture.send(.put, url, headers: ["content-length": "1"], body: .collected([0x61]))
        #expect(put.status == 200)
        #expect(try await fixture.get("a/k").text == "a")
    }

    @Test func `HEAD answers as GET does`() async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "hello")
        let head = try await fixture.send(.head, try fixture.url(.head, "k"))
        let get = try await fixture.get("k")
        #expect(head.status == 200)
        func fields(_ answer: Answer) -> [String] {
            answer.fields.filter { $0.name.canonicalName != "x-amz-request-id" }.map { "\($0.name): \($0.value)" }
        }
        #expect(fields(head) == fields(get))
    }
}

@Suite struct StoreBrowserTests {
    private let preflight = [
        "origin": "https://app.example", "access-control-request-method": "PUT",
        "access-control-request-headers": "content-type, x-amz-meta-a",
    ]

    @Test func `a page of any origin may ask, by default`() async throws {
        let fixture = try StoreFixture()
        let url = try fixture.url(.put, "k")
        let answer = try await fixture.send(.options, url, headers: preflight)
        #expect(answer.status == 200)
        #expect(answer["access-control-allow-origin"] == "*")
        #expect(answer["access-control-allow-methods"] == "PUT, GET, HEAD, POST, DELETE")
        #expect(answer["access-control-allow-headers"] == "content-type, x-amz-meta-a")
        #expect(answer["vary"] == "Origin")
        #expect(try await fixture.send(.options, url).status == 400)
        let patch = preflight.merging(["access-control-request-method": "PATCH"]) { $1 }
        #expect(try await fixture.send(.options, url, headers: patch).status == 403)
    }

    @Test func `a page sees the answer, also a refusal, and its headers`() async throws {
        let fixture = try StoreFixture()
        let origin = ["origin": "https://app.example"]
        let put = try await fixture.put("k", "x", bound: ["x-amz-meta-a": "b"], extra: origin)
        #expect(put["access-control-allow-origin"] == "*")
        let get = try await fixture.get("k", extra: origin)
        #expect(get["access-control-expose-headers"]?.contains("ETag") == true)
        #expect(get["access-control-expose-headers"]?.contains("x-amz-meta-a") == true)
        #expect(try await fixture.get("absent", extra: origin)["access-control-allow-origin"] == "*")
        #expect(try await fixture.get("k")["access-control-allow-origin"] == nil)
    }

    @Test func `configured origins are the only ones`() async throws {
        let fixture = try StoreFixture(allowedOrigins: ["https://app.example"])
        let url = try fixture.url(.put, "k")
        let allowed = try await fixture.send(.options, url, headers: preflight)
        #expect(allowed["access-control-allow-origin"] == "https://app.example")
        let other = preflight.merging(["origin": "https://evil.example"]) { $1 }
        let refused = try await fixture.send(.options, url, headers: other)
        #expect(refused.status == 403)
        #expect(refused.code == "AccessForbidden")
        #expect(refused["access-control-allow-origin"] == nil)
        let get = try await fixture.get("k", extra: ["origin": "https://evil.example"])
        #expect(get["access-control-allow-origin"] == nil)
        #expect(get["vary"] == "Origin")
    }
}

import Foundation
import HTTPTesting
import LibCrypto
import TestSupport
import Testing

/// Uses what the gateway issues at stores that verify signatures, as intended and otherwise.
@Suite(.storeBenches) struct StoreLinkTests {
    static let body = Array("the bytes of an object".utf8)

    @Test("upload, download and HEAD by links alone", arguments: StoreKind.allCases)
    func roundTrip(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let key = bench.freshKey()
        let uploaded = try await bench.uploadLink(key, for: Self.body).use(Self.body)
        #expect(uploaded.status == 200, "\(uploaded.text)")

        let downloaded = try await bench.downloadLink(key).use()
        #expect(downloaded.status == 200)
        #expect(downloaded.body == Self.body)
        #expect(downloaded["Content-Type"] == "image/png")

        let head = try await bench.downloadLink(key, ["method": "HEAD"]).use()
        #expect(head.status == 200)
        #expect(head["Content-Length"] == "\(Self.body.count)")
    }

    @Test("metadata and a SHA-256 are bound and kept", arguments: StoreKind.allCases)
    func everythingBound(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let key = bench.freshKey()
        let checksum = DigestAlgorithm.sha256.digest(of: Self.body).base64
        var link = try await bench.uploadLink(
            key, for: Self.body, ["metadata": ["owner": "alice"], "checksumSHA256": "\(checksum)"])
        let right = link.headers
        #expect(right["x-amz-checksum-sha256"] == checksum)
        link.headers["x-amz-checksum-sha256"] = nil
        #expect(try await link.use(Self.body).status == 403)
        link.headers = right
        link.headers["x-amz-meta-owner"] = "mallory"
        #expect(try await link.use(Self.body).status == 403)
        link.headers = right
        #expect(try await link.use(Self.body).status == 200)
        #expect(try await bench.downloadLink(key).use()["x-amz-meta-owner"] == "alice")
    }

    @Test("an object is created once where only creation was asked for", arguments: StoreKind.allCases)
    func creation(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let link = try await bench.uploadLink(bench.freshKey(), for: Self.body, ["ifNoneMatch": "*"])
        var overwriting = link
        overwriting.headers["if-none-match"] = nil
        #expect(try await overwriting.use(Self.body).status == 403)
        #expect(try await link.use(Self.body).status == 200)
        #expect(try await link.use(Self.body).status == 412)
    }

    @Test("the answer's headers are overridden, with a file name in any script", arguments: StoreKind.allCases)
    func responseOverrides(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let key = bench.freshKey()
        #expect(try await bench.uploadLink(key, for: Self.body).use(Self.body).status == 200)
        let link = try await bench.downloadLink(
            key,
            ["response": ["filename": "Katze – 猫.png", "contentType": "application/x-cat", "cacheControl": "no-cache"]])
        let downloaded = try await link.use()
        #expect(downloaded.status == 200, "\(downloaded.text)")
        #expect(downloaded["Content-Type"] == "application/x-cat")
        #expect(downloaded["Cache-Control"] == "no-cache")
        let disposition = try #require(downloaded["Content-Disposition"])
        #expect(disposition.hasPrefix("attachment"))
        #expect(disposition.contains("filename*=UTF-8''Katze%20%E2%80%93%20%E7%8C%AB.png"))
    }

    /// A use of a link that differs from what was decided.
    struct Misuse: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var status = 403
        var body = StoreLinkTests.body
        let change: @Sendable (inout Link) -> Void
    }

    static let misuses: [Misuse] = [
        Misuse(testDescription: "another content type") { $0.headers["content-type"] = "text/html" },
        Misuse(testDescription: "no content type") { $0.headers["content-type"] = nil },
        Misuse(testDescription: "another MD5") {
            $0.headers["content-md5"] = DigestAlgorithm.md5.digest(of: [0]).base64
        },
        Misuse(testDescription: "no MD5") { $0.headers["content-md5"] = nil },
        Misuse(testDescription: "one byte more", body: body + [0]) {
            $0.headers["content-length"] = "\(body.count + 1)"
        },
        Misuse(testDescription: "nothing", body: []) { $0.headers["content-length"] = "0" },
        Misuse(testDescription: "other bytes of that length", status: 400, body: body.reversed()) { _ in },
        Misuse(testDescription: "another key") { $0.url.replace("/object.bin?", with: "/object.exe?") },
        Misuse(testDescription: "a longer life") { $0.url.replace("X-Amz-Expires=900", with: "X-Amz-Expires=9000") },
        Misuse(testDescription: "another signature") {
            $0.url = $0.url.dropLast() + ($0.url.hasSuffix("0") ? "1" : "0")
        },
        Misuse(testDescription: "another method") { $0.method = "DELETE" },
    ]

    @Test("a link used otherwise is refused by the store", arguments: StoreKind.allCases, misuses)
    func misuse(kind: StoreKind, misuse: Misuse) async throws {
        let bench = try StoreBench.at(kind)
        let key = bench.freshKey()
        let link = try await bench.uploadLink(key, for: Self.body)
        var changed = link
        misuse.change(&changed)
        try #require(
            changed.url != link.url || changed.headers != link.headers || changed.method != link.method
                || misuse.body != Self.body, "the change has to change something")
        let answer = try await changed.use(misuse.body)
        #expect(answer.status == misuse.status, "\(answer.text)")
        #expect(try await bench.downloadLink(key).use().status == 404)
        #expect(try await link.use(Self.body).status == 200, "the link as issued still works")
    }

    @Test("a link ends", arguments: StoreKind.allCases)
    func expiry(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let key = bench.freshKey()
        #expect(try await bench.uploadLink(key, for: Self.body).use(Self.body).status == 200)
        let upload = try await bench.uploadLink(key, for: Self.body, ["expiresIn": 1])
        let download = try await bench.downloadLink(key, ["expiresIn": 1])
        try await waitUntil("the links are refused", seconds: 20) {
            let statuses = [try await upload.use(Self.body).status, try await download.use().status]
            #expect(statuses.allSatisfy { $0 == 200 || $0 == 403 })
            return statuses == [403, 403]
        }
    }

    static let names = [
        "with space", "plus+plus", "percent%percent", "%41", "%2F", "100%25", "报告/二〇二六年.pdf", "👩🏽‍🚀.png",
        "quote'single", "quote\"double", "tilde~", "star*", "!$&,;=:@()", "e\u{301}", "a..b",
    ]

    @Test("an object lies under exactly the key that was asked for", arguments: StoreKind.allCases, names)
    func keys(kind: StoreKind, name: String) async throws {
        let bench = try StoreBench.at(kind)
        try await expectRoundTrip(bench, bench.freshKey(name))
    }

    @Test("a key may have 1,023 bytes", arguments: StoreKind.allCases, ["k", "%", "界", "🛶"])
    func longKey(kind: StoreKind, unit: String) async throws {
        let bench = try StoreBench.at(kind)
        var key = bench.freshKey("")
        key += String(repeating: unit, count: (1023 - key.utf8.count) / unit.utf8.count)
        key += String(repeating: "k", count: 1023 - key.utf8.count)
        try await expectRoundTrip(bench, key)
        let tooLong = try await bench.user.ask(.download(key + "k", from: bench.bucket))
        #expect(tooLong.status == 400)
        #expect(tooLong.json["field"] == "key")
    }

    private func expectRoundTrip(_ bench: StoreBench, _ key: String) async throws {
        let body = Array(key.utf8)
        let uploaded = try await bench.uploadLink(key, for: body).use(body)
        #expect(uploaded.status == 200, "\(uploaded.text)")
        let downloaded = try await bench.downloadLink(key).use()
        #expect(downloaded.status == 200, "\(downloaded.text)")
        #expect(downloaded.body == body)
        // Not under the key that a decoder or a normaliser would produce.
        for other in [key.removingPercentEncoding, key.precomposedStringWithCanonicalMapping] {
            guard let other, Array(other.utf8) != body, !other.isEmpty else { continue }
            let answer = try await bench.user.ask(.download(other, from: bench.bucket))
            if answer.status == 201 { #expect(try await Link(answer.json).use().status == 404, "\(other)") }
        }
    }
}

import Bytes
import Foundation
import HTTPServing
import HTTPTesting
import HTTPTypes
import LibCrypto
import Synchronization
import TestSupport
import Testing

/// A web front end in a real browser. It asks the gateway and uploads to a store; both have other origins than the
/// page.
@Suite struct BrowserTests {
    /// What a page sees when CORS hides an answer from it, or refuses to send the request.
    private static let unreadable: JSON = "TypeError: Failed to fetch"
    private static let body = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    /// A page, and sites that have it alone.
    private final class Page: Sendable {
        private let html = Mutex("")

        func show(_ html: String) { self.html.withLock { $0 = html } }

        func site() -> StandIn {
            StandIn { request in
                guard request.head.target == "/" else { return .bytes("", status: .notFound) }
                var answer = ServerResponse.bytes(self.html.withLock { $0 })
                answer.head.headerFields[.contentType] = "text/html; charset=utf-8"
                return answer
            }
        }
    }

    /// Opens the page in a browser and returns the result of each of its steps.
    private func results(of page: Page, at origin: String, _ bench: StoreBench, _ folder: String) async throws -> JSON {
        let task: JSON = [
            "gateway": "http://127.0.0.1:\(bench.user.client.port)", "token": "\(bench.user.client.token)",
            "bucket": "\(bench.bucket)", "folder": "\(folder)", "length": .number(Self.body.count),
            "md5": "\(DigestAlgorithm.md5.digest(of: Self.body).base64)",
        ]
        let file = try #require(Bundle.module.url(forResource: "Pages/uploads", withExtension: "html"))
        let html = try String(contentsOf: file, encoding: .utf8)
        page.show(html.replacing("TASK</script>", with: String(decoding: try task.bytes, as: UTF8.self) + "</script>"))
        let document = try await Browser.document(at: origin)
        let start = try #require(document.firstRange(of: "<pre id=\"results\">"), "\(document)").upperBound
        let text = String(document[start...].prefix { $0 != "<" })
        return try JSON(try #require(Base64.decode(text)))
    }

    @Test("a browser uploads by link and by form where the bucket's CORS rules name the site, and nowhere else")
    func uploads() async throws {
        try Browser.require()
        let page = Page()
        try await page.site().serve { origin in
            try await page.site().serve { strangeOrigin in
                let settings = ["SLUICE_CORS_ALLOWED_ORIGINS": "\(origin),\(strangeOrigin)"]
                try await StoreBench.with(.radosgw, settings: settings) { bench in
                    try await bench.allowCrossOrigin(origin)
                    let folder = bench.freshKey("")
                    let results = try await results(of: page, at: origin, bench, folder)
                    expectBound(results)
                    #expect(results["redirect"] == Self.unreadable)
                    try await expectStored(bench, folder)
                    let strangeFolder = bench.freshKey("")
                    let kept = try await self.results(of: page, at: strangeOrigin, bench, strangeFolder)
                    try await expectKeptOut(kept, bench, strangeFolder)
                    // After the redirect, the browser sends `Origin: null`.
                    try await bench.allowCrossOrigin("*")
                    let open = try await self.results(of: page, at: origin, bench, bench.freshKey(""))
                    expectBound(open)
                    #expect(open["redirect"] == "200")
                }
            }
        }
    }

    /// Expects that the browser can do what was signed, and nothing else.
    private func expectBound(_ results: JSON) {
        #expect(results["put"] == "200")
        // The store does not let the page read the refusal of a signature that does not match.
        #expect(results["put of another type"] == Self.unreadable)
        #expect(results["put of the type after all"] == "200")
        #expect(results["put of more"] == Self.unreadable)
        #expect(results["form"] == "201")
        #expect(results["form with another key"] == "403")
        #expect(results["form with a file too large"] == "400")
        #expect(results["form without script"] == "loaded")
        #expect(results["get"] == "200")
        #expect(results["redirect without CORS"] == "opaque")
    }

    private func expectStored(_ bench: StoreBench, _ folder: String) async throws {
        for name in ["put.png", "type.png", "cät ☃.png", "plain.png"] {
            let stored = try await bench.downloadLink(folder + name).use()
            #expect(stored.status == 200, "\(name)")
            let isSame = stored.body == Self.body
            #expect(isSame, "\(name)")
            #expect(stored["Content-Type"] == "image/png" && stored["x-amz-meta-origin"] == "browser", "\(name)")
        }
        for name in ["more.png", "key.png", "other.png", "large.png"] {
            #expect(try await bench.downloadLink(folder + name).use().status == 404, "\(name)")
        }
    }

    /// Expects that the gateway answers the other site, but that the store does not let it upload.
    private func expectKeptOut(_ results: JSON, _ bench: StoreBench, _ folder: String) async throws {
        for name in ["put", "form", "get"] {
            #expect(results[name] == Self.unreadable, "\(name)")
        }
        // The browser asks before a PUT. A form has never needed permission: the browser only withholds its answer.
        #expect(try await bench.downloadLink(folder + "put.png").use().status == 404)
        #expect(results["form without script"] == "loaded")
        #expect(try await bench.downloadLink(folder + "plain.png").use().status == 200)
    }
}

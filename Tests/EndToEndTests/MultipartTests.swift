import Foundation
import HTTPTesting
import LibCrypto
import LibPQ
import PostgresTesting
import TestSupport
import Testing

/// Multipart uploads at stores that verify signatures.
@Suite(.storeBenches) struct MultipartTests {
    private static let partLength = 5 << 20

    private static func bytes(_ seed: UInt8) -> [UInt8] {
        (0..<partLength).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ Int(seed)) }
    }

    private func start(
        _ bench: StoreBench, _ key: String, _ changes: [String: JSON] = [:]
    ) async throws -> Answer {
        let request: JSON = ["bucket": "\(bench.bucket)", "key": "\(key)", "contentType": "image/png"]
        return try await bench.user.client.call("POST", "/v1/multipart-uploads", request.with(changes))
    }

    private func open(_ bench: StoreBench, _ key: String, _ changes: [String: JSON] = [:]) async throws -> String {
        let answer = try await start(bench, key, changes)
        try #require(answer.status == 201, "\(answer.text)")
        #expect(answer.json["state"] == "open" && answer["Cache-Control"] == "no-store")
        return "/v1/multipart-uploads/\(try #require(answer.json["id"].text))"
    }

    private func parts(_ bench: StoreBench, _ upload: String, _ bodies: [[UInt8]]) async throws -> Answer {
        let parts = bodies.enumerated().map { index, body -> JSON in
            [
                "partNumber": .number(index + 1), "contentMD5": "\(DigestAlgorithm.md5.digest(of: body).base64)",
                "contentLength": .number(body.count),
            ]
        }
        let answer = try await bench.user.client.call("POST", "\(upload)/parts", ["parts": .array(parts)])
        for result in answer.json["results"].items {
            if let url = result["url"].text { bench.deployment.keepSecret(url) }
        }
        return answer
    }

    /// Uploads parts by their links; returns the list that completes the upload.
    private func put(_ bench: StoreBench, _ upload: String, _ bodies: [[UInt8]]) async throws -> JSON {
        let answer = try await parts(bench, upload, bodies)
        try #require(answer.status == 200, "\(answer.text)")
        var list: [JSON] = []
        for (body, result) in zip(bodies, answer.json["results"].items) {
            let uploaded = try await Link(result).use(body)
            try #require(uploaded.status == 200, "\(uploaded.text)")
            list.append(["partNumber": result["partNumber"], "etag": "\(try #require(uploaded["ETag"]))"])
        }
        return ["parts": .array(list)]
    }

    @Test("three parts with their MD5s become the object, once", arguments: StoreKind.allCases)
    func threeParts(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let key = bench.freshKey("large ü+.png")
        let upload = try await open(
            bench, key, ["metadata": ["origin": "tests"], "contentLength": .number(3 * Self.partLength)])
        let bodies = [Self.bytes(1), Self.bytes(2), Self.bytes(3)]
        let list = try await put(bench, upload, bodies)
        for _ in 0..<2 {
            let done = try await bench.user.client.call("POST", "\(upload):complete", list)
            try #require(done.status == 200, "\(done.text)")
            #expect(done.json["state"] == "completed")
        }
        let downloaded = try await bench.downloadLink(key).use()
        #expect(downloaded.status == 200 && downloaded.body == bodies.joined().map(\.self))
        #expect(downloaded["Content-Type"] == "image/png" && downloaded["x-amz-meta-origin"] == "tests")
        let deliveries = try await bench.deployment.session().texts(
            "SELECT delivery || ' ' || method FROM issuances WHERE object_key LIKE '%large%' ORDER BY id")
        #expect(
            deliveries.filter { $0.hasPrefix("multipart") }.sorted()
                == ["multipart-complete POST"] + Array(repeating: "multipart-part PUT", count: 3)
                + ["multipart-start POST"])
    }

    @Test("the store tells its parts to an app that lost the tags", arguments: StoreKind.allCases)
    func listedParts(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let bob = try await bench.deployment.makeUser("bob-\(UUID().uuidString.lowercased())")
        let grant = try await bench.deployment.grant(["PutObject"], to: bob.principal, in: bench.bucket)
        var own = bench
        own.user = bob
        let upload = try await open(own, bench.freshKey("listed ü+.png"))
        let none = try await bob.client.call("GET", "\(upload)/parts")
        #expect(none.status == 200 && none.json["items"].items.isEmpty, "\(none.text)")
        let bodies = [Self.bytes(1), Self.bytes(2), Array("the last one".utf8)]
        let expected = try await put(own, upload, bodies)
        var found: [JSON] = []
        var page = try await bob.client.call("GET", "\(upload)/parts?pageSize=2")
        #expect(page.json["items"].items.count == 2, "\(page.text)")
        for _ in 0..<3 {
            found += page.json["items"].items
            guard let token = page.json["nextPageToken"].text else { break }
            page = try await bob.client.call("GET", "\(upload)/parts?pageSize=2&pageToken=\(token)")
            try #require(page.status == 200, "\(page.text)")
        }
        #expect(found.map { $0["partNumber"].integer } == [1, 2, 3])
        #expect(found.map { $0["size"].integer } == bodies.map(\.count))
        #expect(found.map { $0["etag"].text } == bodies.map { DigestAlgorithm.md5.digest(of: $0).hex })
        for part in found {
            let text = (part["lastModifiedAt"].text ?? "").replacing(/\.\d+/, with: "")
            let time = try Date(text, strategy: .iso8601)
            #expect(abs(time.timeIntervalSinceNow) < 300)
        }
        // The start and each part have their own ledger rows; lists have none.
        let rows = "SELECT count(*) FROM issuances WHERE principal = '\(bob.principal)'"
        #expect(try await bench.deployment.number(rows) == 1 + 3)
        #expect(try await bench.user.client.call("GET", "\(upload)/parts").status == 404)

        let list = JSON.array(
            found.map { part -> JSON in ["partNumber": part["partNumber"], "etag": part["etag"]] })
        try await bench.deployment.delete("grants", grant)
        let refused = try await bob.client.call("GET", "\(upload)/parts")
        #expect(refused.status == 403 && refused.code == "AccessDenied", "\(refused.text)")
        try await bench.deployment.grant(["PutObject"], to: bob.principal, in: bench.bucket)
        let done = try await bob.client.call("POST", "\(upload):complete", ["parts": list])
        #expect(done.status == 200 && expected["parts"].items.count == 3, "\(done.text)")
        #expect(try await bob.client.call("GET", "\(upload)/parts").status == 409)
    }

    @Test("a part is bound to its number, its upload, its bytes", arguments: StoreKind.allCases)
    func boundParts(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let upload = try await open(bench, bench.freshKey())
        let other = try await open(bench, bench.freshKey())
        let body = Array("a part".utf8)
        let link = try Link(try await parts(bench, upload, [body]).json["results"].items[0])
        let otherLink = try Link(try await parts(bench, other, [body]).json["results"].items[0])
        func uploadID(_ url: String) throws -> String {
            let start = try #require(url.firstRange(of: "uploadId=")).upperBound
            return String(url[start...].prefix { $0 != "&" })
        }
        var wrong = link
        wrong.url = link.url.replacing(try uploadID(link.url), with: try uploadID(otherLink.url))
        #expect(try await wrong.use(body).status == 403)
        wrong.url = link.url.replacing("partNumber=1", with: "partNumber=2")
        #expect(try await wrong.use(body).status == 403)
        #expect(try await (400...403).contains(link.use(Array("b part".utf8)).status))
        #expect(try await link.use(body).status == 200)
        for path in [upload, other] { #expect(try await bench.user.client.call("DELETE", path).status == 204) }
        // The store has forgotten the upload, so the link is useless.
        #expect(try await link.use(body).status == 404)
    }

    @Test("parts that the store does not have complete nothing", arguments: StoreKind.allCases)
    func wrongParts(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let upload = try await open(bench, bench.freshKey())
        let body = Array("the only part".utf8)
        let list = try await put(bench, upload, [body])
        let wrong: JSON = ["parts": [["partNumber": 1, "etag": "00000000000000000000000000000000"]]]
        let refused = try await bench.user.client.call("POST", "\(upload):complete", wrong)
        #expect(refused.status == 400 && refused.json["field"] == "parts", "\(refused.text)")
        let done = try await bench.user.client.call("POST", "\(upload):complete", list)
        #expect(done.status == 200, "\(done.text)")
    }

    @Test("a revoked grant stops parts and completion; nobody else goes on", arguments: StoreKind.allCases)
    func revoked(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let bob = try await bench.deployment.makeUser("bob-\(UUID().uuidString.lowercased())")
        let grant = try await bench.deployment.grant(["PutObject"], to: bob.principal, in: bench.bucket)
        let started = try await bob.client.call(
            "POST", "/v1/multipart-uploads",
            ["bucket": "\(bench.bucket)", "key": "\(bench.freshKey())", "contentType": "image/png"])
        try #require(started.status == 201, "\(started.text)")
        let upload = "/v1/multipart-uploads/\(try #require(started.json["id"].text))"
        let wish: JSON = ["parts": [["partNumber": 1, "contentLength": 6]]]
        #expect(try await bench.user.client.call("POST", "\(upload)/parts", wish).status == 404)
        #expect(try await bench.user.client.call("DELETE", upload).status == 404)
        let link = try Link(try await bob.client.call("POST", "\(upload)/parts", wish).json["results"].items[0])
        bench.deployment.keepSecret(link.url)
        let uploaded = try await link.use(Array("a part".utf8))
        #expect(uploaded.status == 200)
        try await bench.deployment.delete("grants", grant)
        let refused = try await bob.client.call("POST", "\(upload)/parts", wish)
        #expect(refused.json["results"].items.first?["status"] == 403)
        let list: JSON = ["parts": [["partNumber": 1, "etag": "\(try #require(uploaded["ETag"]))"]]]
        #expect(try await bob.client.call("POST", "\(upload):complete", list).status == 403)
        #expect(try await bob.client.call("DELETE", upload).status == 204)
    }

    @Test("the length said at the start holds for all parts together", arguments: StoreKind.allCases)
    func lengths(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let upload = try await open(bench, bench.freshKey(), ["contentLength": 10])
        #expect(try await parts(bench, upload, [Array("123456".utf8), Array("7890".utf8)]).status == 200)
        #expect(try await parts(bench, upload, [Array("123456".utf8)]).status == 200)
        let long = try await parts(bench, upload, [Array("1234567".utf8)])
        #expect(long.status == 400 && long.json["field"] == "parts", "\(long.text)")
        let unknown: JSON = ["parts": [["partNumber": 3]]]
        let unmeasured = try await bench.user.client.call("POST", "\(upload)/parts", unknown)
        #expect(
            unmeasured.status == 400 && unmeasured.json["field"] == "parts[0].contentLength", "\(unmeasured.text)")
        #expect(try await bench.user.client.call("DELETE", upload).status == 204)
    }

    /// An upload whose identifier is not known cannot be told from others of the same key, so none of them is touched.
    @Test(
        "what nobody completes is aborted, and nothing in place of a start whose answer was lost",
        arguments: StoreKind.allCases)
    func forgotten(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let body = Array("a part".utf8)
        let upload = try await open(bench, bench.freshKey())
        let lost = try await open(bench, bench.freshKey())
        let links = try await [upload, lost].asyncMap { upload in
            try Link(try await parts(bench, upload, [body]).json["results"].items[0])
        }
        for link in links { #expect(try await link.use(body).status == 200) }
        let ids = [upload, lost].map { $0.suffix(36) }
        let session = try bench.deployment.session()
        try await session.runScript(
            """
            UPDATE multipart_uploads
            SET check_at = now() + interval '1 hour', state = 'starting', store_upload_id = NULL
            WHERE id = '\(ids[1])'
            """)
        let list = try await bench.deployment.admin.call(
            "GET", "/admin/v1/multipart-uploads?state=starting&bucket=\(bench.bucket)")
        #expect(list.json["items"].items.contains { $0["id"].text == String(ids[1]) })
        // Each gateway runs one round of upkeep when it starts.
        try await session.runScript(
            "UPDATE multipart_uploads SET check_at = now() WHERE id IN ('\(ids[0])', '\(ids[1])')")
        let second = try await bench.deployment.startGateway()
        let ended =
            "SELECT count(*) FROM multipart_uploads WHERE id IN ('\(ids[0])', '\(ids[1])') AND state = 'aborted'"
        let deadline = ContinuousClock.now + .seconds(30)
        while try await session.number(ended) < 2, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try await session.number(ended) == 2)
        await bench.deployment.end(second) { await second.crash() }
        #expect(try await links[0].use(body).status == 404)
        #expect(try await links[1].use(body).status == 200)
    }

    @Test("a part that a quota refused gets its link under the same key, and reserves its length once")
    func refusedPart() async throws {
        let bench = try StoreBench.at(.radosgw)
        let site = bench.deployment
        let carol = try await site.makeUser("carol-\(UUID().uuidString.lowercased())")
        try await site.grant(["PutObject"], to: carol.principal, in: bench.bucket)
        // One for the start, and one for a part.
        let quota = try await site.quota(2, for: carol.principal)
        var own = bench
        own.user = carol
        let upload = try await open(own, bench.freshKey(), ["contentLength": .number(2 * Self.partLength)])
        let list = (1...2).map { number -> JSON in
            ["partNumber": .number(number), "contentLength": .number(Self.partLength)]
        }
        func ask() async throws -> Answer {
            let answer = try await carol.client.call(
                "POST", "\(upload)/parts", ["parts": .array(list)], headers: [(name: "Idempotency-Key", value: "k")])
            for result in answer.json["results"].items {
                if let url = result["url"].text { site.keepSecret(url) }
            }
            return answer
        }
        func reserved() async throws -> Int {
            try await site.number("SELECT parts_length FROM multipart_uploads WHERE id = '\(upload.suffix(36))'")
        }
        let first = try await ask()
        let refused = first.json["results"].items.map { $0["code"].text }
        #expect(first.status == 200 && refused == [nil, "QuotaExceeded"], "\(first.text)")
        #expect(try await reserved() == Self.partLength)
        try await site.limit(quota, to: 3)
        let second = try await ask()
        let issued = second.json["results"].items
        try #require(second.status == 200 && issued.count == 2, "\(second.text)")
        #expect(second["Idempotency-Replayed"] == "true")
        #expect(issued[0] == first.json["results"].items.first)
        #expect(issued[1]["url"].text != nil)
        #expect(try await ask().text == second.text)
        #expect(try await reserved() == 2 * Self.partLength)
        let rows = "SELECT count(*) FROM issuances WHERE principal = '\(carol.principal)'"
        #expect(try await site.number(rows) == 1 + 2)
    }

    @Test("equal completions at once all succeed", arguments: StoreKind.allCases)
    func completionsAtOnce(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let upload = try await open(bench, bench.freshKey())
        let list = try await put(bench, upload, [Self.bytes(1), Array("the last one".utf8)])
        let client = bench.user.client
        @Sendable func complete() async throws -> Answer {
            let answer = try await client.call("POST", "\(upload):complete", list)
            // Swift on a busy machine fails now and then. Clients repeat what gets 503.
            guard answer.status == 503, answer.text.contains("The bucket's store failed: it answered 503") else {
                return answer
            }
            return try await client.call("POST", "\(upload):complete", list)
        }
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<8 { group.addTask { try await complete() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.map(\.status) == Array(repeating: 200, count: 8), "\(answers.map(\.text))")
        #expect(Set(answers.map { $0.json["etag"].text }).count == 1)
    }

    @Test("an admin ends an upload, and the audit says so", arguments: StoreKind.allCases)
    func adminAbort(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let upload = try await open(bench, bench.freshKey())
        let id = upload.suffix(36)
        #expect(try await bench.deployment.admin.call("DELETE", "/admin" + upload).status == 204)
        #expect(try await bench.user.client.call("GET", upload).json["state"] == "aborted")
        #expect(try await parts(bench, upload, [[1]]).status == 409)
        let audited = "SELECT count(*) FROM admin_audit WHERE kind = 'Upload' AND resource_id = '\(id)'"
        #expect(try await bench.deployment.number(audited) == 1)
    }

    @Test(
        "a store that is down is a 503, and what may have been started is kept in mind", arguments: StoreKind.allCases)
    func storeDown(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let bucket = try await bench.deployment.makeBucket(
            "down-\(UUID().uuidString.lowercased())", endpoint: "http://127.0.0.1:9")
        try await bench.deployment.grant(["PutObject"], to: bench.user.principal, in: bucket)
        let answer = try await start(bench, "a", ["bucket": "\(bucket)"])
        #expect(answer.status == 503 && answer.code == "ServiceUnavailable" && answer["Retry-After"] != nil)
        let states = try await bench.deployment.session().texts(
            "SELECT state FROM multipart_uploads WHERE bucket = '\(bucket)'")
        #expect(states == ["starting"])
    }
}

extension Sequence where Element: Sendable {
    /// Maps elements one at a time.
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}

import Foundation
import HTTPTesting
import PostgresTesting
import TestSupport
import Testing

/// One bucket under three addresses of Ceph: the gateway's own, a domain with the bucket in the host, and another port.
@Suite struct PublicEndpointTests {
    private static let body = Array("the bytes of an object".utf8)

    private struct Places {
        let own: String
        let domain: String
        let other: String
        let bucket: String

        init() throws {
            func value(_ name: String) throws -> String { try #require(StoreKind.radosgw.value(name)) }
            (own, other) = (try value("ENDPOINT"), try value("STS_ENDPOINT"))
            domain = try "http://\(value("DOMAIN")):\(RawURL(own).port)"
            bucket = try value("BUCKET")
        }

        /// The beginning of a link at the domain.
        var hosted: String { domain.replacing("http://", with: "http://\(bucket).") + "/" }

        var options: [String: JSON] {
            [
                "publicEndpoints": [
                    "default": ["url": "\(domain)", "addressing": "virtual"], "internal": ["url": "\(other)"],
                ],
                "protocols": ["uppy-companion"],
            ]
        }
    }

    private func with(_ body: @Sendable (StoreBench, Places) async throws -> Void) async throws {
        guard StoreKind.radosgw.isExpected else {
            try Test.cancel("radosgw does not run; CONTRIBUTING.md says how to start it")
        }
        let places = try Places()
        let settings = ["SLUICE_OUTBOUND_ALLOW": "\(places.own),\(places.other)"]
        try await StoreBench.with(.radosgw, settings: settings, options: places.options) { try await body($0, places) }
    }

    @Test func `Ceph takes links of each address, and the gateway keeps to its own`() async throws {
        try await with { bench, places in
            let key = bench.freshKey("a b+c.png")
            let upload = try await bench.uploadLink(key, for: Self.body)
            #expect(upload.url.hasPrefix(places.hosted), "\(upload.url)")
            #expect(try await upload.use(Self.body).status == 200)
            let inside = try await bench.downloadLink(key, ["endpoint": "internal"])
            #expect(inside.url.hasPrefix(places.other + "/\(places.bucket)/"), "\(inside.url)")
            #expect(try await inside.use().body == Self.body)
            for name in ["accelerate", "cdn"] {
                let answer = try await bench.user.ask(
                    JSON.download(key, from: bench.bucket).with(["endpoint": "\(name)"]))
                #expect(answer.status == 400 && answer.json["field"] == "endpoint", "\(answer.text)")
            }

            // The host is in the signature.
            var moved = inside
            moved.url = inside.url.replacing(places.other, with: places.own)
            #expect(try await moved.use().status == 403)

            // The gateway itself asks its own address: it reaches no other name of the store.
            let checked = try await bench.user.client.call(
                "POST", "/v1/issuances/\(try await id(of: key, bench)):confirm")
            #expect(checked.status == 200 && checked.json["state"] == "landed", "\(checked.text)")
        }
    }

    @Test func `forms, parts, redirects and batches choose an address too`() async throws {
        try await with { bench, places in
            let client = bench.user.client
            let form: JSON = [
                "bucket": "\(bench.bucket)", "key": "\(bench.freshKey())", "contentTypes": ["image/png"],
                "maxBytes": 100, "endpoint": "internal",
            ]
            let made = try await client.call("POST", "/v1/post-policies", form)
            #expect(made.json["url"].text?.hasPrefix(places.other) == true, "\(made.text)")
            #expect(try await Form(made.json).send().status == 204)

            let key = bench.freshKey("parts.bin")
            let started = try await client.call(
                "POST", "/v1/multipart-uploads",
                ["bucket": "\(bench.bucket)", "key": "\(key)", "contentType": "image/png"])
            let path = "/v1/multipart-uploads/\(try #require(started.json["id"].text, "\(started.text)"))"
            var tags: [JSON] = []
            for (number, name) in [(1, nil), (2, "internal")] as [(Int, String?)] {
                var wish: [String: JSON] = ["parts": [["partNumber": .number(number)]]]
                if let name { wish["endpoint"] = .string(name) }
                let parts = try await client.call("POST", "\(path)/parts", JSON.object(wish))
                let link = try Link(parts.json["results"].items[0])
                #expect(link.url.hasPrefix(name == nil ? places.hosted : places.other), "\(link.url)")
                let sent = try await link.use([UInt8](repeating: 7, count: number == 1 ? 5 << 20 : 5))
                tags.append(["partNumber": .number(number), "etag": "\(try #require(sent["ETag"], "\(sent.text)"))"])
            }
            let completed = try await client.call("POST", "\(path):complete", ["parts": .array(tags)])
            #expect(completed.json["state"] == "completed", "\(completed.text)")

            for (query, front) in [("", places.hosted), ("?endpoint=internal", places.other)] {
                let redirect = try await client.call("GET", "/v1/objects/\(bench.bucket)/\(key)\(query)")
                #expect(redirect.status == 303 && redirect["Location"]?.hasPrefix(front) == true, "\(query)")
            }
            let items: [JSON] = [
                .download(key, from: bench.bucket),
                JSON.download(key, from: bench.bucket).with(["endpoint": "internal"]),
                JSON.download(key, from: bench.bucket).with(["endpoint": "cdn"]),
            ]
            let batch = try await client.call("POST", "/v1/presigned-urls/batch", ["items": .array(items)])
            let results = batch.json["results"].items
            #expect(results[0]["url"].text?.hasPrefix(places.hosted) == true)
            #expect(results[1]["url"].text?.hasPrefix(places.other) == true && results[2]["status"] == 400)
        }
    }

    @Test func `Uppy is told the address that its links name`() async throws {
        try await with { bench, places in
            let client = bench.user.client
            let place = [("Sluice-Bucket", bench.bucket), ("Sluice-Prefix", "")]
            let started = try await client.call(
                "POST", "/companion/s3/multipart", ["filename": "a b.bin", "type": "image/png"], headers: place)
            let id = try #require(started.json["uploadId"].text, "\(started.text)")
            let key = try #require(started.json["key"].text)
            let query = "key=" + key.replacing("/", with: "%2F").replacing(" ", with: "%20")
            let link = try await client.call("GET", "/companion/s3/multipart/\(id)/1?\(query)", headers: place)
            let url = try #require(link.json["url"].text, "\(link.text)")
            let part = try await Link(["method": "PUT", "url": .string(url), "headers": [:]]).use([1, 2, 3])
            let parts: JSON = [["PartNumber": 1, "ETag": "\(try #require(part["ETag"], "\(part.text)"))"]]
            let done = try await client.call(
                "POST", "/companion/s3/multipart/\(id)/complete?\(query)", ["parts": parts], headers: place)
            let location = try #require(done.json["location"].text, "\(done.text)")
            #expect(location.hasPrefix(places.hosted) && url.hasPrefix(location + "?"), "\(location)")
        }
    }

    @Test func `a repeated request has the same link of the same address`() async throws {
        try await with { bench, places in
            let request = JSON.download("a/b", from: bench.bucket).with(["endpoint": "internal"])
            let headers = [(name: "Idempotency-Key", value: UUID().uuidString)]
            let first = try await bench.user.client.call("POST", "/v1/presigned-urls", request, headers: headers)
            let again = try await bench.user.client.call("POST", "/v1/presigned-urls", request, headers: headers)
            #expect(first.json["url"].text?.hasPrefix(places.other) == true && first.json["url"] == again.json["url"])
            #expect(again["Idempotency-Replayed"] == "true")
        }
    }

    @Test func `a test of the bucket tells of each address`() async throws {
        try await with { bench, _ in
            let answer = try await bench.deployment.admin.call("POST", "/admin/v1/buckets/\(bench.bucket):validate")
            let steps = answer.json["steps"].items.filter { $0["step"] == "endpoint" }
            #expect(answer.json["valid"] == true && steps.count == 2, "\(answer.text)")
            // The gateway does not reach the domain.
            #expect(steps[0]["endpoint"] == "default" && steps[0]["outcome"] == "skipped", "\(answer.text)")
            #expect(steps[1]["endpoint"] == "internal" && steps[1]["outcome"] == "passed", "\(answer.text)")
            let patch: JSON = ["publicEndpoints": ["internal": ["url": "\(bench.endpoint)", "addressing": "cname"]]]
            let changed = try await bench.deployment.admin.call(
                "PATCH", "/admin/v1/buckets/\(bench.bucket)", patch,
                headers: [(name: "If-Match", value: "*")])
            #expect(changed.status == 200, "\(changed.text)")
            let wrong = try await bench.deployment.admin.call("POST", "/admin/v1/buckets/\(bench.bucket):validate")
            let step = wrong.json["steps"].items.filter { $0["step"] == "endpoint" }[1]
            #expect(step["outcome"] == "failed" && wrong.json["valid"] == false, "\(wrong.text)")
        }
    }

    private func id(of key: String, _ bench: StoreBench) async throws -> String {
        let ids = try await bench.deployment.session().texts(
            "SELECT id::text FROM issuances WHERE object_key = '\(key)' AND action = 'PutObject'")
        return try #require(ids.first)
    }
}

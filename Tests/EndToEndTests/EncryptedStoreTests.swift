import Foundation
import HTTPTesting
import TestSupport
import Testing

/// Buckets whose uploads request encryption, at a store that has the key.
@Suite struct EncryptedStoreTests {
    private static let body = Array("the bytes of an object".utf8)
    private static let header = "x-amz-server-side-encryption"
    private static let keyHeader = "x-amz-server-side-encryption-aws-kms-key-id"

    /// Runs `body` with a bench whose bucket names the key of the store.
    private func withBench(
        scheme: String, _ body: @Sendable (_ bench: StoreBench, _ key: String) async throws -> Void
    ) async throws {
        let key = StoreKind.radosgw.value("KMS_KEY") ?? ""
        try Surroundings.require(!key.isEmpty, orElse: "SLUICE_TEST_RADOSGW_KMS_KEY is not set")
        let options: [String: JSON] = [
            "scheme": "\(scheme)", "encryption": ["algorithm": "aws:kms", "keyID": "\(key)"],
        ]
        try await StoreBench.with(.radosgw, options: options, reachesStore: true) { bench in
            try await body(bench, key)
        }
    }

    /// Expects that the store keeps the bytes encrypted, and gives them back.
    private static func expectEncrypted(_ name: String, _ bytes: [UInt8], _ bench: StoreBench, _ key: String)
        async throws
    {
        let stored = try await bench.downloadLink(name).use()
        #expect(stored.status == 200 && stored.body == bytes, "\(stored.text)")
        #expect(stored[header] == "aws:kms" && stored[keyHeader] == key, "\(name)")
    }

    @Test(arguments: ["aws-v4", "aws-v2"])
    func `a link uploads with the headers that it names, and with no others`(scheme: String) async throws {
        try await withBench(scheme: scheme) { bench, key in
            let name = bench.freshKey()
            let link = try await bench.uploadLink(name, for: Self.body)
            #expect(link.headers[Self.header] == "aws:kms" && link.headers[Self.keyHeader] == key)
            for (header, value) in [
                (Self.header, nil), (Self.header, "AES256"), (Self.keyHeader, nil), (Self.keyHeader, "another-key"),
            ] as [(String, String?)] {
                var changed = link
                changed.headers[header] = value
                #expect(try await changed.use(Self.body).status == 403, "\(header) \(value ?? "is missing")")
            }
            #expect(try await bench.downloadLink(name).use().status == 404)
            #expect(try await link.use(Self.body).status == 200)
            try await Self.expectEncrypted(name, Self.body, bench, key)
        }
    }

    @Test(arguments: ["aws-v4", "aws-v2"])
    func `an upload in parts is encrypted from its start, and its parts need no header`(scheme: String) async throws {
        try await withBench(scheme: scheme) { bench, key in
            let (client, name) = (bench.user.client, bench.freshKey())
            let started = try await client.call(
                "POST", "/v1/multipart-uploads",
                ["bucket": "\(bench.bucket)", "key": "\(name)", "contentType": "image/png"])
            try #require(started.status == 201, "\(started.text)")
            let upload = "/v1/multipart-uploads/\(try #require(started.json["id"].text))"
            let parts = try await client.call("POST", "\(upload)/parts", ["parts": [["partNumber": 1]]])
            let result = try #require(parts.json["results"].items.first)
            bench.deployment.keepSecret(try #require(result["url"].text))
            let part = try Link(result)
            #expect(!part.headers.keys.contains { $0.contains("encryption") })
            let uploaded = try await part.use(Self.body)
            try #require(uploaded.status == 200, "\(uploaded.text)")
            let list: JSON = ["parts": [["partNumber": 1, "etag": "\(try #require(uploaded["ETag"]))"]]]
            let done = try await client.call("POST", "\(upload):complete", list)
            #expect(done.status == 200 && done.json["state"] == "completed", "\(done.text)")
            try await Self.expectEncrypted(name, Self.body, bench, key)
        }
    }

    @Test func `a form uploads with the fields that it has, and the store refuses it with others`() async throws {
        try await withBench(scheme: "aws-v4") { bench, key in
            let folder = bench.freshKey("")
            let form = try await bench.form(folder, leavesKey: false)
            for name in [Self.header, Self.keyHeader] {
                var changed = form
                changed.set(name, "another")
                #expect(try await changed.send().status == 403)
                changed.fields.removeAll { $0.name == name }
                #expect(try await changed.send().status == 403)
            }
            #expect(try await form.send().status == 201)
            try await Self.expectEncrypted(folder + "cat.png", form.file, bench, key)
        }
    }

    @Test(arguments: ["aws-v4", "aws-v2"]) func `the test of the bucket finds out whether the store has the key`(
        scheme: String
    ) async throws {
        try await withBench(scheme: scheme) { bench, _ in
            let admin = bench.deployment.admin
            let path = "/admin/v1/buckets/\(bench.bucket)"
            for (keyID, isValid) in [(nil, true), ("no-such-key", false)] as [(String?, Bool)] {
                if let keyID {
                    let changed = try await admin.call(
                        "PATCH", path, ["encryption": ["keyID": "\(keyID)"]], headers: [("If-Match", "*")])
                    try #require(changed.status == 200, "\(changed.text)")
                }
                let found = try await admin.call("POST", path + ":validate")
                #expect(found.json["valid"] == .bool(isValid), "\(found.text)")
                #expect(found.json["steps"].items.first?["outcome"].text == (isValid ? "passed" : "failed"))
            }
        }
    }
}

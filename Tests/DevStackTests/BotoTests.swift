import Foundation
import HTTPServing
import HTTPTypes
import LibCrypto
import Signing
import TestSupport
import Testing

@testable import DevStack

/// URLs made by AWS's own SDK for Python, so that the store is not checked against this project's signer alone.
@Suite(.python(with: "boto3"))
struct BotoTests {
    @Test func `an upload with type, digests, length and metadata is bound to them`() async throws {
        let fixture = try StoreFixture(now: Boto.now)
        let url = try await Boto.url(
            "put_object",
            [
                "Key": "a b/é.txt", "ContentType": "text/plain", "ContentMD5": "hello".digest(.md5),
                "ContentLength": 5, "Metadata": ["owner": "alice"],
            ])
        let headers = [
            "content-type": "text/plain", "content-md5": "hello".digest(.md5), "content-length": "5",
            "x-amz-meta-owner": "alice",
        ]
        func put(_ headers: [String: String], _ text: String = "hello") async throws -> Answer {
            try await fixture.send(.put, url, headers: headers, body: .collected(Array(text.utf8)))
        }
        for name in headers.keys {
            var wrong = headers
            wrong[name] = nil
            #expect(try await put(wrong).code == "SignatureDoesNotMatch", "without \(name)")
            wrong[name] = name == "content-length" ? "6" : "x\(headers[name]!)"
            #expect(try await put(wrong).code == "SignatureDoesNotMatch", "other \(name)")
        }
        #expect(try await put(headers, "jello").code == "BadDigest")
        #expect(fixture.fileCount == 0)
        #expect(try await put(headers).status == 200)

        let get = try await Boto.url(
            "get_object",
            [
                "Key": "a b/é.txt", "ResponseContentType": "text/csv; charset=utf-8",
                "ResponseContentDisposition": "attachment; filename=\"a b.txt\"; filename*=UTF-8''%C3%A9.txt",
            ])
        let answer = try await fixture.send(.get, get)
        #expect(answer.text == "hello")
        #expect(answer["content-type"] == "text/csv; charset=utf-8")
        #expect(answer["content-disposition"]?.hasSuffix("UTF-8''%C3%A9.txt") == true)
        #expect(answer["x-amz-meta-owner"] == "alice")
        let head = try await Boto.url("head_object", ["Key": "a b/é.txt"])
        #expect(try await fixture.send(.head, head).status == 200)
    }

    @Test func `checksums and create-only are kept`() async throws {
        let fixture = try StoreFixture(now: Boto.now)
        let sha256 = "hello".digest(.sha256)
        let url = try await Boto.url("put_object", ["Key": "k", "ChecksumSHA256": sha256, "IfNoneMatch": "*"])
        let headers = ["x-amz-checksum-sha256": sha256, "if-none-match": "*", "content-length": "5"]
        func put(_ text: String) async throws -> Answer {
            try await fixture.send(.put, url, headers: headers, body: .collected(Array(text.utf8)))
        }
        #expect(try await put("jello").code == "BadDigest")
        #expect(try await put("hello").status == 200)
        #expect(try await put("hello").code == "PreconditionFailed")
    }

    @Test func `expired and tampered URLs are refused`() async throws {
        let late = try StoreFixture { Boto.now().advanced(bySeconds: 61)! }
        let url = try await Boto.url("get_object", ["Key": "k"])
        let expired = try await late.send(.get, url)
        #expect(expired.status == 403)
        #expect(expired.text.contains("Request has expired"))
        let fixture = try StoreFixture(now: Boto.now)
        #expect(try await fixture.send(.get, url).code == "NoSuchKey")
        #expect(try await fixture.send(.get, url.replacing("/demo/k", with: "/demo/l")).code == "SignatureDoesNotMatch")
        #expect(try await fixture.send(.get, url + "&a=b").code == "SignatureDoesNotMatch")
        let other = try await Boto.url("delete_object", ["Key": "k"])
        #expect(try await fixture.send(.get, other).code == "SignatureDoesNotMatch")
        #expect(try await fixture.send(.delete, other).status == 204)
    }

    @Test func `difficult keys arrive`() async throws {
        let fixture = try StoreFixture(now: Boto.now)
        let puts = try await Boto.urls(difficultKeys.map { ("put_object", ["Key": $0]) })
        let gets = try await Boto.urls(difficultKeys.map { ("get_object", ["Key": $0]) })
        for (key, url) in zip(difficultKeys, puts) {
            let text = "text of \(key)"
            let answer = try await fixture.send(
                .put, url, headers: ["content-length": String(text.utf8.count)], body: .collected(Array(text.utf8)))
            #expect(answer.status == 200, "\(key)")
        }
        for (key, url) in zip(difficultKeys, gets) {
            #expect(try await fixture.send(.get, url).text == "text of \(key)")
            #expect(try await fixture.get(key, at: Boto.now()).text == "text of \(key)")
        }
    }
}

/// Asks boto3 for presigned URLs.
enum Boto {
    static let now: @Sendable () -> SigningInstant = {
        StoreFixture.instant(Int64(Date().timeIntervalSince1970))
    }

    private static let program = """
        import json, sys, boto3
        from botocore.config import Config
        asked = json.load(sys.stdin)
        client = boto3.client("s3", endpoint_url=asked["endpoint"], region_name="us-east-1",
            aws_access_key_id=asked["accessKeyID"], aws_secret_access_key=asked["secretAccessKey"],
            config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
        print(json.dumps([client.generate_presigned_url(call["method"], Params=dict(call["parameters"], Bucket="demo"),
            ExpiresIn=60) for call in asked["calls"]]))
        """

    static func url(_ method: String, _ parameters: [String: Any]) async throws -> String {
        try #require(try await urls([(method, parameters)]).first)
    }

    static func urls(_ calls: [(method: String, parameters: [String: Any])]) async throws -> [String] {
        let python = try Python.path
        let asked: [String: Any] = [
            "endpoint": StoreFixture.origin, "accessKeyID": StoreFixture.credential.accessKeyID,
            "secretAccessKey": StoreFixture.credential.secretAccessKey,
            "calls": calls.map { ["method": $0.method, "parameters": $0.parameters] },
        ]
        let input = String(decoding: try JSONSerialization.data(withJSONObject: asked), as: UTF8.self)
        let outcome = try await Command([python, "-c", program]).run(input: input)
        try #require(outcome.succeeded, "\(outcome.output)")
        return try JSONDecoder().decode([String].self, from: Data(outcome.output.utf8))
    }
}

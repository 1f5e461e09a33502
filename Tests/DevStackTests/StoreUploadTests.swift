import Foundation
import HTTPServing
import HTTPTypes
import LibCrypto
import Signing
import Synchronization
import Testing

@testable import DevStack

@Suite struct StoreUploadTests {
    @Test func `an upload comes back with its type, metadata, tag and date`() async throws {
        let fixture = try StoreFixture()
        let bound = ["content-type": "text/plain", "x-amz-meta-owner": "alice", "cache-control": "no-store"]
        let put = try await fixture.put("a/b.txt", "hello", bound: bound)
        #expect(put.status == 200)
        #expect(put["etag"] == "\"5d41402abc4b2a76b9719d911017c592\"")

        let got = try await fixture.get("a/b.txt")
        #expect(got.status == 200)
        #expect(got.text == "hello")
        for (name, value) in bound { #expect(got[name] == value) }
        #expect(got["etag"] == put["etag"])
        #expect(got["last-modified"] == "Fri, 02 Jan 2026 03:04:05 GMT")
        #expect(try await fixture.get("a/b").code == "NoSuchKey")
    }

    @Test func `what the signature binds cannot be left out, changed or added to`() async throws {
        let fixture = try StoreFixture()
        let url = try fixture.url(.put, "k", bound: ["content-type": "text/plain", "content-length": "5"])
        func put(_ headers: [String: String], _ body: String = "hello") async throws -> Answer {
            try await fixture.send(.put, url, headers: headers, body: .collected(Array(body.utf8)))
        }
        let wrong: [[String: String]] = [
            ["content-type": "text/html", "content-length": "5"],
            ["content-type": "Text/plain", "content-length": "5"],
            ["content-length": "5"],
            ["content-type": "text/plain", "content-length": "6"],
            ["content-type": "text/plain"],
        ]
        for headers in wrong {
            let answer = try await put(headers)
            #expect(answer.status == 403)
            #expect(answer.code == "SignatureDoesNotMatch")
        }
        let right = ["content-type": "text/plain", "content-length": "5"]
        for unsigned in ["x-amz-meta-a", "x-amz-acl", "x-amz-checksum-sha256", "x-amz-date"] {
            let answer = try await put(right.merging([unsigned: "1"]) { $1 })
            #expect(answer.status == 403)
            #expect(answer.code == "AccessDenied")
            #expect(answer.text.contains("<HeadersNotSigned>\(unsigned)</HeadersNotSigned>"))
        }
        for body in ["hell", "hello!", ""] {
            let answer = try await put(right, body)
            #expect(answer.status == 400)
            #expect(answer.code == "IncompleteBody")
        }
        #expect(fixture.fileCount == 0)
        #expect(try await put(right).status == 200)
    }

    @Test func `another method, key, bucket, host or secret is another request`() async throws {
        let fixture = try StoreFixture()
        try fixture.store.makeBucket("other")
        let url = try fixture.url(.put, "k")
        let length = ["content-length": "0"]
        #expect(try await fixture.send(.get, url).code == "SignatureDoesNotMatch")
        #expect(try await fixture.send(.head, url).status == 403)
        for (part, other) in [
            ("/demo/k", "/demo/K"), ("/demo/k", "/demo//k"), ("/demo/k", "/demo/x/../k"), ("/demo/", "/other/"),
            ("127.0.0.1", "localhost"), ("Expires=60", "Expires=600"), ("Signature=", "Signature=0"),
            ("X-Amz-Algorithm", "a=b&X-Amz-Algorithm"),
        ] {
            let tampered = url.replacing(part, with: other)
            #expect(tampered != url)
            let answer = try await fixture.send(.put, tampered, headers: length)
            #expect(answer.status == 403 || answer.status == 400, "\(tampered)")
        }
        let stranger = SigningCredential(accessKeyID: "AKDEMO", secretAccessKey: "guess")
        let forged = try fixture.url(.put, "k", credential: stranger)
        #expect(try await fixture.send(.put, forged, headers: length).code == "SignatureDoesNotMatch")
        let unknown = SigningCredential(accessKeyID: "AKOTHER", secretAccessKey: "demo secret/+")
        let answer = try await fixture.send(.put, try fixture.url(.put, "k", credential: unknown), headers: length)
        #expect(answer.status == 403)
        #expect(answer.code == "InvalidAccessKeyId")
        let abroad = try await fixture.send(.put, try fixture.url(.put, "k", region: "eu-west-1"), headers: length)
        #expect(abroad.status == 400)
        #expect(abroad.code == "AuthorizationQueryParametersError")
        #expect(fixture.fileCount == 0)
    }

    @Test func `a URL lives from its date to its expiry`() async throws {
        let clock = Mutex(StoreFixture.signedAt)
        let fixture = try StoreFixture { clock.withLock { $0 } }
        let url = try fixture.url(.put, "k", expiresIn: 60)
        let answers: [(Int, Int, String?)] = [
            (-901, 403, "Request is not valid yet"), (-900, 200, nil), (0, 200, nil), (59, 200, nil),
            (60, 403, "Request has expired"), (86_400, 403, "Request has expired"),
        ]
        for (seconds, status, message) in answers {
            clock.withLock { $0 = StoreFixture.signedAt.advanced(bySeconds: seconds)! }
            let answer = try await fixture.send(.put, url, headers: ["content-length": "0"])
            #expect(answer.status == status, "after \(seconds) s")
            if let message {
                #expect(answer.code == "AccessDenied")
                #expect(answer.text.contains("<Message>\(message)</Message>"))
            }
        }
    }

    @Test func `digests are held against the bytes`() async throws {
        let fixture = try StoreFixture()
        let right = ["content-md5": "hello".digest(.md5), "x-amz-checksum-sha256": "hello".digest(.sha256)]
        #expect(try await fixture.put("k", "hello", bound: right).status == 200)
        let enabled = try await fixture.get("k", bound: ["x-amz-checksum-mode": "ENABLED"])
        #expect(enabled["x-amz-checksum-sha256"] == "hello".digest(.sha256))

        for (name, value) in right {
            let answer = try await fixture.put("k", "jello", bound: [name: value])
            #expect(answer.status == 400)
            #expect(answer.code == "BadDigest")
        }
        for text in ["", "x", "aGVsbG8=", right["content-md5"]! + "="] {
            #expect(try await fixture.put("k", "hello", bound: ["content-md5": text]).code == "InvalidDigest")
            let sha256 = try await fixture.put("k", "hello", bound: ["x-amz-checksum-sha256": text])
            #expect(sha256.code == "InvalidRequest")
        }
        #expect(try await fixture.get("k").text == "hello")
        #expect(fixture.fileCount == 2)
    }

    @Test func `create-only uploads meet what is there`() async throws {
        let fixture = try StoreFixture()
        let bound = ["if-none-match": "*"]
        #expect(try await fixture.put("k", "first", bound: bound).status == 200)
        let second = try await fixture.put("k", "second", bound: bound)
        #expect(second.status == 412)
        #expect(second.code == "PreconditionFailed")
        #expect(try await fixture.get("k").text == "first")
        #expect(try await fixture.put("k", "third").status == 200)
        #expect(try await fixture.get("k").text == "third")
    }

    @Test func `one of many create-only uploads wins`() async throws {
        let fixture = try StoreFixture()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<16 {
                group.addTask { try await fixture.put("k", "text \(number)", bound: ["if-none-match": "*"]).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [200] + Array(repeating: 412, count: 15))
        #expect(fixture.fileCount == 2)
    }

    @Test func `uploads of one key replace each other whole, and readers see one of them`() async throws {
        let fixture = try StoreFixture()
        let texts = (0..<8).map { String(repeating: "\($0)", count: 100_000 + $0) }
        try await fixture.put("k", texts[0], bound: ["content-type": "text/0"])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, text) in texts.enumerated() {
                group.addTask {
                    for _ in 0..<10 {
                        let put = try await fixture.put("k", text, bound: ["content-type": "text/\(number)"])
                        #expect(put.status == 200)
                    }
                }
                group.addTask {
                    for _ in 0..<20 {
                        let got = try await fixture.get("k")
                        let type = try #require(got["content-type"]?.split(separator: "/").last.flatMap { Int($0) })
                        #expect(got.text == texts[type])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(fixture.fileCount == 2)
    }

    @Test func `a reader always finds the bytes that the record names`() async throws {
        let fixture = try StoreFixture()
        let files = fixture.store.objects.files
        try replaceObject(of: files)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    let found = try files.open("demo", "k")
                    #expect(found?.record.key == "k")
                }
            }
            for _ in 0..<300 { try replaceObject(of: files) }
            group.cancelAll()
            try await group.waitForAll()
        }
        #expect(fixture.fileCount == 2)
    }

    @Test func `lengths are stated and limited`() async throws {
        let fixture = try StoreFixture(maxObjectBytes: 10)
        let url = try fixture.url(.put, "k")
        let missing = try await fixture.send(.put, url, body: .collected([1]))
        #expect(missing.status == 411)
        #expect(missing.code == "MissingContentLength")
        let large = try await fixture.send(.put, url, headers: ["content-length": "11"])
        #expect(large.status == 400)
        #expect(large.code == "EntityTooLarge")
        #expect(try await fixture.put("k", "0123456789").status == 200)
        let server = try await Answer(fixture.store.response(to: .contentTooLarge(maxBytes: 10)))
        #expect(server.code == "EntityTooLarge")
        let metadata = ["x-amz-meta-a": String(repeating: "x", count: 2047)]
        #expect(try await fixture.put("k", "", bound: metadata).status == 200)
        let more = ["x-amz-meta-a": String(repeating: "x", count: 2048)]
        #expect(try await fixture.put("k", "", bound: more).code == "MetadataTooLarge")
    }

    @Test func `what the store does not do is refused, not ignored`() async throws {
        let fixture = try StoreFixture()
        for bound in [
            ["x-amz-copy-source": "/demo/k"], ["x-amz-acl": "public-read"], ["x-amz-tagging": "a=b"],
            ["x-amz-content-sha256": "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"],
            ["content-encoding": "aws-chunked"], ["x-amz-checksum-md5": "AAAAAA=="],
            ["x-amz-storage-class": "GLACIER"],
            ["if-match": "*"], ["if-none-match": "\"x\""],
        ] {
            let answer = try await fixture.put("k", "x", bound: bound)
            #expect(answer.status == 501, "\(bound)")
            #expect(answer.code == "NotImplemented")
        }
        for name in ["acl", "uploads", "tagging", "versionId"] {
            let answer = try await fixture.get("k", query: [NamedValue(name, "1")])
            #expect(answer.status == 501)
        }
        for method in [HTTPRequest.Method.patch, .connect] {
            #expect(try await fixture.send(method, try fixture.url(.put, "k")).status == 501)
        }
        for name in ["acl", "cors", "policy", "tagging", "versions"] {
            #expect(try await fixture.get("", query: [NamedValue(name, "")]).status == 501)
        }
        #expect(fixture.fileCount == 0)
    }

    @Test func `a request without a presigned URL is refused`() async throws {
        let fixture = try StoreFixture()
        let anonymous = try await fixture.send(.get, "http://127.0.0.1:9000/demo/k")
        #expect(anonymous.status == 403)
        #expect(anonymous.code == "AccessDenied")
        let authorization = ["authorization": "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host, Signature=y"]
        let malformed = try await fixture.send(.get, "http://127.0.0.1:9000/demo/k", headers: authorization)
        #expect(malformed.code == "AuthorizationHeaderMalformed")
        let both = try await fixture.send(.get, try fixture.url(.get, "k"), headers: authorization)
        #expect(both.code == "InvalidArgument")
        let url = try fixture.url(.get, "k")
        for broken in [
            url + "&X-Amz-Signature=00", url.replacing("X-Amz-Date=2026", with: "X-Amz-Date=x026"),
            url.replacing("X-Amz-Expires=60", with: "X-Amz-Expires=604801"),
            url.replacing("X-Amz-Expires=60", with: "X-Amz-Expires=-1"),
            url.replacing("SignedHeaders=host", with: "SignedHeaders="),
            url.replacing("us-east-1%2Fs3", with: "s3"),
        ] {
            let answer = try await fixture.send(.get, broken)
            #expect(answer.status == 400, "\(broken)")
            #expect(answer.code == "AuthorizationQueryParametersError")
        }
    }

    @Test func `an upload that breaks off leaves nothing, and what was there stays`() async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "old")
        for error in [RequestBodyError.disconnected, .timedOut, .tooLarge] {
            let sent = Mutex(false)
            let body = RequestBodyStream {
                let isFirst = sent.withLock { sent in
                    defer { sent = true }
                    return !sent
                }
                guard isFirst else { throw error }
                return [1, 2, 3]
            }
            let answer = try await fixture.send(
                .put, try fixture.url(.put, "k"), headers: ["content-length": "100"], body: .stream(body))
            #expect(answer.status == 400)
        }
        #expect(try await fixture.get("k").text == "old")
        #expect(fixture.fileCount == 2)
    }

    @Test func `each piece of a body is on disk before the next is taken`() async throws {
        let fixture = try StoreFixture()
        let piece = [UInt8](repeating: 7, count: 10_000)
        let count = 50
        let taken = Mutex(0)
        let body = RequestBodyStream {
            let before = taken.withLock { taken in
                defer { taken += 1 }
                return taken
            }
            let incoming = "\(fixture.directory)/incoming"
            let file = try #require(try FileManager.default.contentsOfDirectory(atPath: incoming).first)
            let size = try FileManager.default.attributesOfItem(atPath: "\(incoming)/\(file)")[.size] as? Int
            #expect(size == before * piece.count)
            return before < count ? piece : nil
        }
        let answer = try await fixture.send(
            .put, try fixture.url(.put, "k"), headers: ["content-length": "\(count * piece.count)"], body: .stream(body)
        )
        #expect(answer.status == 200)
        #expect(taken.withLock { $0 } == count + 1)
        #expect(try await fixture.get("k").body.count == count * piece.count)
    }

    @Test func `what an earlier run left half uploaded is cleared, objects stay`() async throws {
        let fixture = try StoreFixture()
        try await fixture.put("k", "kept")
        let orphan = try fixture.store.objects.files.beginUpload()
        try orphan.write([1, 2, 3])
        #expect(fixture.fileCount == 3)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: fixture.directory)
        let reopened = try ObjectFiles(directory: fixture.directory)
        let attributes = try FileManager.default.attributesOfItem(atPath: fixture.directory)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        #expect(fixture.fileCount == 2)
        #expect(try reopened.record("demo", "k")?.byteCount == 4)
    }
}

private func replaceObject(of files: ObjectFiles) throws {
    let record = ObjectRecord(
        key: "k", body: UUID().uuidString, byteCount: 0, md5: "", checksums: nil, modifiedAt: 0, fields: [])
    try files.commit(try files.beginUpload(), "demo", record, onlyIfAbsent: false)
}

import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import Testing

@testable import GatewayCloud

@Suite struct StoredUploadsTests {
    private func look(
        _ peer: StandIn, bucket: String = "photos",
        scheme: Bucket.Scheme = .awsV4,
        now: @escaping @Sendable () -> Date = { Date(timeIntervalSince1970: 1_900_000_000) }
    ) async throws -> StoreLook? {
        try await peer.serve { origin in
            try await look(at: origin, bucket: bucket, scheme: scheme, now: now)
        }
    }

    private func look(
        at origin: String, bucket: String = "photos", scheme: Bucket.Scheme = .awsV4,
        timeout: Duration = .seconds(20),
        now: @escaping @Sendable () -> Date = { Date(timeIntervalSince1970: 1_900_000_000) }
    ) async throws -> StoreLook? {
        var rows = StoreRows(endpoint: origin)
        rows.scheme = scheme
        rows.provider = scheme == .gcsV4HMAC ? .gcs : scheme == .ossV4 ? .oss : .s3
        let uploads = StoredUploads(
            StoreCalls(
                client: OutboundClient(policy: try OutboundPolicy(origins: [origin]), timeout: timeout),
                cache: PolicyCache(source: rows), signer: URLSigner(), now: now))
        return try await uploads.look(at: ObjectKey("uploads/a b.bin"), in: BucketName(bucket))
    }

    private static func refusal(_ code: String) -> String {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>\(code)</Code><Message>x</Message></Error>"
    }

    @Test func theObjectIsAskedForByASignedHead() async throws {
        let peer = StandIn { _ in .bytes(String(repeating: "x", count: 12_345)) }
        #expect(try await look(peer)?.object?.size == 12_345)
        let request = try #require(peer.heads.first)
        #expect(request.method == .head)
        #expect(request.target.hasPrefix("/photos/uploads/a%20b.bin?X-Amz-Algorithm=AWS4-HMAC-SHA256&"))
        #expect(request.target.contains("&X-Amz-Signature="))
    }

    @Test(arguments: [nil, "x-amz-delete-marker", "x-oss-delete-marker"])
    func nothingIsThereOrNoMore(marker: String?) async throws {
        let look = try await look(
            StandIn { _ in
                var answer = ServerResponse.bytes(Self.refusal("NoSuchKey"), status: .notFound)
                if let name = marker.flatMap({ HTTPField.Name($0) }) { answer.head.headerFields.append(name, "true") }
                return answer
            })
        #expect(look?.object == nil)
        #expect(look?.wasDeleted == (marker != nil))
    }

    @Test(arguments: [0, 100, -100, 100_000, -100_000.0])
    func theStoreTellsItsTime(ahead: TimeInterval) async throws {
        for status in [HTTPResponse.Status.ok, .notFound] {
            let answer = Self.refusal("NoSuchKey")
            let look = try await look(StandIn { _ in .bytes(answer, status: status) }) {
                Date().addingTimeInterval(ahead)
            }
            let difference = try #require(look?.clockDifference)
            #expect(difference <= abs(ahead) && difference >= abs(ahead) - 3)
        }
    }

    @Test func `that there is no object is asked twice, the second time by a GET`() async throws {
        for scheme in [Bucket.Scheme.awsV4, .ossV4, .gcsV4HMAC] {
            let peer = StandIn { _ in .bytes(Self.refusal("NoSuchKey"), status: .notFound) }
            #expect(try await look(peer, scheme: scheme)?.object == nil)
            #expect(peer.heads.map(\.method) == [.head, .get])
            #expect(peer.heads.map { $0.headerFields[.range] } == [nil, "bytes=0-0"])
            // A compressed refusal could not be read.
            #expect(peer.heads.last?.headerFields[.acceptEncoding] == nil)
        }
    }

    /// A proxy in front of the store may know nothing of a path, and a symbolic link may lead to nothing.
    @Test(arguments: [
        "", "Not Found", "<html><body>404</body></html>", refusal("NoSuchBucket"), refusal("SymlinkTargetNotExist"),
        "{\"code\": \"NoSuchKey\"}", "<Code>NoSuchKey</Code>", String(repeating: "x", count: 100_000),
    ])
    func `a 404 in other words than the store's proves nothing`(body: String) async throws {
        let peer = StandIn { _ in .bytes(body, status: .notFound) }
        await #expect(throws: StoreFailure.unclear("")) { try await look(peer) }
    }

    @Test(arguments: [200, 206, 403, 500])
    func `a HEAD that the GET contradicts proves nothing`(status: Int) async throws {
        let peer = StandIn { request in
            .bytes(Self.refusal("NoSuchKey"), status: request.head.method == .head ? .notFound : .init(code: status))
        }
        await #expect(throws: StoreFailure.unclear("")) { try await look(peer) }
    }

    @Test func `Google tells the length of an object that was uploaded compressed`() async throws {
        let encodings: [(Bucket.Scheme, String?)] = [(.gcsV4HMAC, "gzip"), (.awsV4, nil), (.ossV4, nil)]
        for (scheme, expected) in encodings {
            let peer = StandIn { _ in .bytes("12345") }
            #expect(try await look(peer, scheme: scheme)?.object?.size == 5)
            #expect(peer.heads.map { $0.headerFields[.acceptEncoding] } == [expected])
        }
    }

    @Test func `a store that hangs or is not there is told from one that refuses`() async throws {
        await #expect(throws: StoreFailure.silent("")) { try await look(at: "http://127.0.0.1:9") }
        for kind in HangingServer.Kind.allCases {
            let store = try HangingServer(kind)
            await #expect(throws: StoreFailure.silent(""), "\(kind)") {
                try await look(at: store.origin, timeout: .milliseconds(300))
            }
        }
    }

    @Test(arguments: [301, 400, 403, 500, 503])
    func anyOtherAnswerIsNone(status: Int) async throws {
        let peer = StandIn { _ in .bytes("", status: HTTPResponse.Status(code: status)) }
        await #expect(throws: StoreFailure.unclear("")) { try await look(peer) }
    }

    @Test func `an answer without a length proves nothing, and the reason is told`() async throws {
        let peer = StandIn { _ in
            ServerResponse(
                head: ResponseHead(status: .ok),
                body: .stream(length: nil) { writer in try await writer.write(Array("x".utf8)) })
        }
        let failure = await #expect(throws: StoreFailure.self) { try await look(peer) }
        guard case .unclear(let cause) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect("\(cause)".contains("how long the object is"))
    }

    @Test func aBucketWithoutARowCanNeverBeAsked() async throws {
        let peer = StandIn { _ in .bytes("x") }
        #expect(try await look(peer, bucket: "gone") == nil)
        #expect(peer.requests.isEmpty)
    }

    private func object(_ answer: ServerResponse) async throws -> StoredObject? {
        try await StandIn { _ in answer }.serve { origin in
            let uploads = StoredUploads(
                StoreCalls(
                    client: OutboundClient(policy: try OutboundPolicy(origins: [origin]), timeout: .seconds(20)),
                    cache: PolicyCache(source: StoreRows(endpoint: origin)), signer: URLSigner(),
                    now: { Date(timeIntervalSince1970: 1_900_000_000) }))
            return try await uploads.object(ObjectKey("uploads/a b.bin"), in: BucketName("photos"), withSHA256: false)
        }
    }

    private static func head(_ fields: [(String, String)]) throws -> ServerResponse {
        var response = ServerResponse.bytes("12345")
        for (name, value) in fields {
            response.head.headerFields.append(try #require(HTTPField.Name(name)), value)
        }
        return response
    }

    @Test("tells the MD5 in the words of each store, and none where the tag is another thing")
    func md5() async throws {
        let md5 = "7215ee9c7d9dc229d2921a40e899ec5f"
        let base64 = "chXunH2dwinSkhpA6JnsXw=="
        let bytes: [UInt8] = [
            0x72, 0x15, 0xee, 0x9c, 0x7d, 0x9d, 0xc2, 0x29, 0xd2, 0x92, 0x1a, 0x40, 0xe8, 0x99, 0xec, 0x5f,
        ]
        for fields in [
            [("ETag", "\"\(md5)\"")], [("ETag", "\(md5)")], [("ETag", "\"\(md5.uppercased())\"")],
            [("ETag", "\"x-2\""), ("Content-MD5", base64)],
            [("ETag", "\"x\""), ("x-goog-hash", "crc32c=AAAAAA==, md5=\(base64)")],
            [("ETag", "\"x\""), ("x-goog-hash", "crc32c=AAAAAA=="), ("x-goog-hash", "md5=\(base64)")],
            [("ETag", "\"\(md5)\""), ("x-amz-server-side-encryption", "AES256")],
        ] {
            #expect(try await object(try Self.head(fields))?.md5 == bytes, "\(fields)")
        }
        for fields in [
            [("ETag", "\"\(md5)-2\"")], [("ETag", "\"\(md5)\""), ("x-amz-server-side-encryption", "aws:kms")],
            [("ETag", "\"\(md5)\""), ("x-amz-server-side-encryption-customer-algorithm", "AES256")],
            [("ETag", "\"\(md5)\""), ("x-oss-server-side-encryption", "KMS")],
            [("ETag", "\"\(md5)\""), ("x-oss-object-type", "Appendable")], [],
        ] {
            let found = try #require(try await object(try Self.head(fields)))
            #expect(found.md5 == nil && found.size == 5, "\(fields)")
        }
    }

    @Test("tells when the object was written by the gateway's clock, whatever the store's says")
    func modification() async throws {
        let found = try await object(try Self.head([("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")]))
        let age = 1_900_000_000 - (try #require(found?.modifiedAt)).timeIntervalSince1970
        #expect(abs(age - Date().timeIntervalSince1970) < 5)
        #expect(try await object(try Self.head([("Last-Modified", "yesterday")]))?.modifiedAt == nil)
    }

    @Test("tells nothing that a row or an answer could not hold")
    func hostileFields() async throws {
        let tag = String(repeating: "x", count: 200)
        let found = try await object(try Self.head([("ETag", tag), ("Content-Type", "image/png\u{e9}")]))
        #expect(found?.etag == nil && found?.contentType == nil && found?.size == 5)
    }

    @Test("tells refusals from failures", arguments: [301, 307, 400, 403, 500, 503])
    func failures(status: Int) async throws {
        let expected: GatewayError =
            status < 500 ? .storeRefused(status: status, code: nil) : .unavailable(retryAfter: 5)
        await #expect(throws: expected) {
            try await object(.bytes("", status: HTTPResponse.Status(code: status)))
        }
        #expect(try await object(.bytes("", status: .notFound)) == nil)
    }
}

import Foundation
import GatewayCore
import HTTPServing
import HTTPTesting
import HTTPTypes
import TestSupport
import Testing

/// Lists of parts, in the form of each store.
@Suite(.timeLimit(.minutes(2))) struct StoredPartsTests {
    private static let tags = ["5d41402abc4b2a76b9719d911017c592", "7D793037A0760186574B0282F2F435E7"]

    private static func part(_ number: String, _ etag: String = tags[0], size: String = "5", at time: String) -> String
    {
        """
        <Part><PartNumber>\(number)</PartNumber><LastModified>\(time)</LastModified><ETag>\(etag)</ETag>\
        <Size>\(size)</Size></Part>
        """
    }

    /// Answers of Amazon, Alibaba and Google to the same question, according to their documentation.
    private static let answers = [
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>photos</Bucket><Key>k</Key>\
        <UploadId>id-1</UploadId><Initiator><ID>x</ID><DisplayName>y</DisplayName></Initiator>\
        <StorageClass>STANDARD</StorageClass><PartNumberMarker>0</PartNumberMarker>\
        <NextPartNumberMarker>10</NextPartNumberMarker><MaxParts>2</MaxParts><IsTruncated>true</IsTruncated>\
        \(part("2", "&quot;\(tags[0])&quot;", size: "5368709120", at: "2030-03-17T17:46:40.000Z"))\
        \(part("10", "\"\(tags[1])\"", size: "0", at: "2030-03-17T17:46:41Z"))</ListPartsResult>
        """,
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <ListPartsResult>
          <Bucket>photos</Bucket>
          <EncodingType>url</EncodingType>
          <Key>k</Key>
          <UploadId>id-1</UploadId>
          <PartNumberMarker>0</PartNumberMarker>
          <NextPartNumberMarker>10</NextPartNumberMarker>
          <MaxParts>2</MaxParts>
          <IsTruncated>true</IsTruncated>
          <Part>
            <PartNumber>2</PartNumber>
            <LastModified>2030-03-17T17:46:40.000Z</LastModified>
            <ETag>"\(tags[0])"</ETag>
            <HashCrc64ecma>2024000000000000000</HashCrc64ecma>
            <Size>5368709120</Size>
          </Part>
          <Part>
            <PartNumber>10</PartNumber>
            <LastModified>2030-03-17T17:46:41.000Z</LastModified>
            <ETag>"\(tags[1])"</ETag>
            <Size>0</Size>
          </Part>
        </ListPartsResult>
        """,
        """
        <?xml version='1.0' encoding='UTF-8'?><ListPartsResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>\
        <Bucket>photos</Bucket><Key>k</Key><UploadId>id-1</UploadId><StorageClass>STANDARD</StorageClass>\
        <PartNumberMarker>0</PartNumberMarker><MaxParts>2</MaxParts><IsTruncated>true</IsTruncated>\
        \(part("2", tags[0], size: "5368709120", at: "2030-03-17T17:46:40.000Z"))\
        \(part("10", tags[1], size: "0", at: "2030-03-17T17:46:41.000000Z"))</ListPartsResult>
        """,
    ]

    private func atStore(
        _ text: String, status: Int = 200,
        _ body: @escaping @Sendable (UploadDesk, MultipartUpload) async throws -> Void
    ) async throws -> [RequestHead] {
        let peer = StandIn { _ in .bytes(text, status: HTTPResponse.Status(code: status)) }
        try await peer.serve { origin in
            let desk = try UploadDesk(StoreRows(endpoint: origin), reachedAt: origin)
            try await body(desk, desk.openUpload("id-1"))
        }
        return peer.heads
    }

    @Test(arguments: answers) func `are read with number, tag, size and time, and their list goes on`(text: String)
        async throws
    {
        let requests = try await atStore(text) { desk, upload in
            let page = try await desk.parts(upload.id, size: 2)
            #expect(page.items.map(\.part.number) == [2, 10])
            #expect(page.items.map(\.part.etag) == Self.tags)
            #expect(page.items.map(\.size) == [5_368_709_120, 0])
            let times = page.items.map { $0.modifiedAt.timeIntervalSince(UploadDesk.now) }
            #expect(times == [0, 1])
            let token = try #require(page.nextPageToken)
            // This store starts from the beginning. An answer is invalid if its parts do not come after the token.
            await #expect(throws: GatewayError.unavailable(retryAfter: 5)) {
                try await desk.parts(upload.id, size: 2, token: token)
            }
            await #expect(throws: GatewayError.self) { try await desk.parts(upload.id, token: token + "A") }
            let other = try await desk.openUpload("id-2")
            await #expect(throws: GatewayError.self) { try await desk.parts(other.id, token: token) }
        }
        #expect(requests.count == 2)
        #expect(requests[0].target.contains("max-parts=2&") && !requests[0].target.contains("part-number-marker"))
        #expect(requests[1].target.contains("part-number-marker=10&"))
    }

    private static let good = part("1", at: "2030-03-17T17:46:40Z")

    @Test(arguments: [
        "", "<html/>", "<ListPartsResult>", "<ListMultipartUploadsResult></ListMultipartUploadsResult>",
        "<ListPartsResult>\(good)\(good)</ListPartsResult>",
        "<ListPartsResult>\(part("2", at: "2030-03-17T17:46:40Z"))\(good)</ListPartsResult>",
        "<ListPartsResult>\(part("0", at: "2030-03-17T17:46:40Z"))</ListPartsResult>",
        "<ListPartsResult>\(part("10001", at: "2030-03-17T17:46:40Z"))</ListPartsResult>",
        "<ListPartsResult>\(part("x", at: "2030-03-17T17:46:40Z"))</ListPartsResult>",
        "<ListPartsResult>\(part("1", "&lt;a&gt;", at: "2030-03-17T17:46:40Z"))</ListPartsResult>",
        "<ListPartsResult>\(part("1", size: "-1", at: "2030-03-17T17:46:40Z"))</ListPartsResult>",
        "<ListPartsResult>\(part("1", at: "yesterday"))</ListPartsResult>",
        "<ListPartsResult><IsTruncated>true</IsTruncated></ListPartsResult>",
    ])
    func `are all read, or none is believed`(text: String) async throws {
        _ = try await atStore(text) { desk, upload in
            await #expect(throws: GatewayError.unavailable(retryAfter: 5)) { try await desk.parts(upload.id) }
        }
    }

    @Test(arguments: [
        (404, "NoSuchUpload", GatewayError.conflict(reason: "The store no longer knows the upload.")),
        (404, "NoSuchBucket", .storeRefused(status: 404, code: "NoSuchBucket")),
        (403, "AccessDenied", .storeRefused(status: 403, code: "AccessDenied")),
        (503, "SlowDown", .unavailable(retryAfter: 5)),
    ])
    func `are not told by a store that refuses`(status: Int, code: String, error: GatewayError) async throws {
        _ = try await atStore("<Error><Code>\(code)</Code></Error>", status: status) { desk, upload in
            await #expect(throws: error) { try await desk.parts(upload.id) }
            // Whoever goes on with an upload that is gone begins anew.
            #expect(desk.rows.state(of: upload.id) == (code == "NoSuchUpload" ? .aborting : .open))
        }
    }
}

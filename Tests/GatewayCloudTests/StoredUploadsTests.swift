import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Testing

@testable import GatewayCloud

@Suite struct StoredUploadsTests {
    private func landed(_ peer: TestPeer, bucket: String = "photos") async throws -> Int64? {
        try await peer.serve { origin in
            let uploads = StoredUploads(
                client: OutboundClient(policy: try OutboundPolicy(origins: [origin]), timeout: .seconds(20)),
                cache: PolicyCache(source: StoreRows(endpoint: origin)),
                now: { Date(timeIntervalSince1970: 1_900_000_000) })
            return try await uploads.landedBytes(
                bucket: BucketName(bucket), key: ObjectKey("uploads/a b.bin"), issuance: UUID())
        }
    }

    @Test func theLengthOfTheObjectCounts() async throws {
        let peer = TestPeer { _ in .bytes(String(repeating: "x", count: 12_345)) }
        #expect(try await landed(peer) == 12_345)
        let request = try #require(peer.requests.first)
        #expect(request.method == .head)
        #expect(request.path?.hasPrefix("/photos/uploads/a%20b.bin?X-Amz-Algorithm=AWS4-HMAC-SHA256&") == true)
        #expect(request.path?.contains("&X-Amz-Signature=") == true)
    }

    @Test func nothingStoredCountsNothing() async throws {
        #expect(try await landed(TestPeer { _ in .bytes("", status: .notFound) }) == 0)
    }

    @Test(arguments: [301, 400, 403, 500, 503])
    func anyOtherAnswerIsNone(status: Int) async throws {
        let peer = TestPeer { _ in .bytes("", status: HTTPResponse.Status(code: status)) }
        await #expect(throws: OutboundError.status(status)) { try await landed(peer) }
    }

    @Test func aBucketWithoutARowCanNeverBeAsked() async throws {
        let peer = TestPeer { _ in .bytes("x") }
        #expect(try await landed(peer, bucket: "gone") == nil)
        #expect(peer.requests.isEmpty)
    }
}

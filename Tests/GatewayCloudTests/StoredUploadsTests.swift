import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Testing

@testable import GatewayCloud

/// Rows of one bucket, `photos`, and its credential.
private struct BucketRows: PolicySource {
    static let position = PolicyPosition(sequence: 1, tag: UUID())
    static let credentialID = UUID()

    let endpoint: String

    func load(
        _ keys: [PolicyKey], literalGrantLimit: Int
    ) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        var rows: [PolicyRows] = []
        for key in keys {
            switch key {
            case .bucket(let name):
                let bucket = Bucket(
                    name: name, provider: .s3, endpoint: endpoint, region: "eu-west-1", addressing: .path,
                    scheme: .awsV4, credentialID: Self.credentialID, createdAt: .distantPast)
                rows.append(.bucket(name.rawValue == "photos" ? bucket : nil))
            case .credential(let id):
                let credential = StorageCredential(
                    id: id, name: "main", accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("secret"),
                    createdAt: .distantPast)
                rows.append(.credential(id == Self.credentialID ? credential : nil))
            case .principal: rows.append(.principal(PrincipalRows()))
            case .issuer: rows.append(.issuer(nil))
            case .apiKey: rows.append(.apiKey(nil))
            case .ticket: rows.append(.ticket(nil))
            }
        }
        return PolicyLoad(position: Self.position, rows: rows)
    }

    func grants(at places: [GrantPlace]) async throws(GatewayError) -> PolicyLoad<[[Grant]]> {
        PolicyLoad(position: Self.position, rows: places.map { _ in [] })
    }

    func grants(
        of principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int
    ) async throws(GatewayError) -> PolicyLoad<[Grant]> {
        PolicyLoad(position: Self.position, rows: [])
    }

    func changes(since position: PolicyPosition?) async throws(GatewayError) -> PolicyChanges {
        .restart(at: Self.position)
    }
}

@Suite struct StoredUploadsTests {
    private func landed(_ peer: TestPeer, bucket: String = "photos") async throws -> Int64? {
        try await peer.serve { origin in
            let uploads = StoredUploads(
                client: OutboundClient(policy: try OutboundPolicy(origins: [origin]), timeout: .seconds(20)),
                cache: PolicyCache(source: BucketRows(endpoint: origin)),
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

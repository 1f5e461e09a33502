import Foundation
import GatewayCloud
import GatewayCore
import TestSupport
import Testing

/// Multipart uploads of `user:alice` at a store, with rows in memory. Every step takes the same path as in the gateway.
final class UploadDesk: Sendable {
    static let now = Date(timeIntervalSince1970: 1_900_000_000)
    static let key = "uploads/large ü+.mov"

    let rows = MemoryUploadRows()
    let uploads: MultipartUploads
    let calls: MultipartCalls
    private let caller: Caller

    init(_ source: any PolicySource, reachedAt origin: String) throws {
        let cache = PolicyCache(source: source)
        caller = Caller(
            principal: try Principal("user:alice"), groups: [], roles: [], claims: [:], expiresAt: nil,
            token: Secret("token"), scope: nil, position: StoreRows.position)
        calls = MultipartCalls(
            StoreCalls(
                client: OutboundClient(policy: try OutboundPolicy(origins: [origin]), timeout: .seconds(20)),
                cache: cache, signer: URLSigner(), now: { Self.now }))
        let issuing = ProvenIssuing(
            cache: cache, authenticator: OneCaller(caller: caller), ledger: Recorder(), denials: Recorder(),
            now: { Self.now }, randomBytes: { (0..<$0).map { _ in UInt8.random(in: 0...255) } })
        uploads = MultipartUploads(
            issuing, urls: PresignedURLs(issuing), cache: cache, rows: rows, store: calls, life: .seconds(3600),
            now: { Self.now })
    }

    private var request: RequestContext {
        .init(caller: caller, sourceAddress: nil, requestID: "r-1", deadline: .now + .seconds(20))
    }

    func start() async throws -> MultipartUpload {
        var fields = IssueRequest.Fields()
        (fields.bucket, fields.key, fields.contentType) = ("photos", Self.key, "video/quicktime")
        fields.metadata = ["origin": "tests"]
        return try await uploads.start(fields, in: request)
    }

    /// Makes an open upload with the store's identifier.
    func openUpload(_ storeUploadID: String) async throws -> MultipartUpload {
        let upload = MultipartUpload(
            id: UUID(), principal: caller.principal, bucket: try BucketName("photos"), key: try ObjectKey(Self.key),
            contentType: try #require(MediaType("video/quicktime")), contentLength: nil, state: .open,
            storeUploadID: storeUploadID, createdAt: Self.now, expiresAt: Self.now.addingTimeInterval(3600))
        try await rows.insert(upload)
        return upload
    }

    func complete(_ id: UUID, _ parts: [UploadedPart]) async throws -> MultipartUpload {
        try await uploads.complete(id, parts: parts, in: request)
    }

    func parts(_ id: UUID, size: Int = 100, token: String? = nil) async throws -> Page<StoredPart> {
        try await uploads.storedParts(of: id, ListQuery(pageSize: size, pageToken: token), in: request)
    }

    func abort(_ id: UUID) async throws {
        try await uploads.abort(id, by: caller)
    }

    /// Aborts an upload as an admin does.
    func abort(_ id: UUID, inRequest requestID: String) async throws {
        try await uploads.abort(id, by: ChangeContext(actor: try Principal("user:root"), requestID: requestID))
    }
}

/// Accepts one caller.
private struct OneCaller: Authenticator {
    let caller: Caller

    func authenticate(_ token: Secret<String>) async throws(GatewayError) -> Caller { caller }
}

/// Records everything.
private struct Recorder: IssuanceLedger, DenialCounting {
    func record(
        _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
    ) async -> [Result<RecordVerdict, GatewayError>] {
        proposals.map { _ in .success(.recorded(remaining: [])) }
    }

    func count(_ denial: Denial) {}
}

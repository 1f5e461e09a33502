import Foundation
import GatewayCore
import Synchronization

/// Multipart uploads in memory, and a store that accepts everything. One upload of `user:alice` is open from the
/// beginning.
final class MemoryUploads: MultipartUploadRows, MultipartStore {
    static let openID = uuid("0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a01")

    let uploads = Mutex<[UUID: MultipartUpload]>([:])
    /// The parts that the store has of every upload.
    let parts = Mutex<[StoredPart]>([])
    /// The parts that links were issued for.
    let reserved = Mutex<[UUID: [ReservedPart]]>([:])
    /// The error that the store throws instead.
    let failure = Mutex<GatewayError?>(nil)

    init() {
        guard let principal = try? Principal.user("alice"), let bucket = try? BucketName("photos"),
            let key = try? ObjectKey("uploads/large.png"), let contentType = MediaType("image/png")
        else { preconditionFailure("The names are good.") }
        let upload = MultipartUpload(
            id: Self.openID, principal: principal, bucket: bucket, key: key, contentType: contentType,
            contentLength: 10_000_000,
            state: .open, storeUploadID: "store-1", createdAt: TestGateway.now,
            expiresAt: TestGateway.now.addingTimeInterval(3600))
        uploads.withLock { $0[Self.openID] = upload }
    }

    func insert(_ upload: MultipartUpload) async throws(GatewayError) {
        uploads.withLock { $0[upload.id] = upload }
    }

    func find(_ id: UUID) async throws(GatewayError) -> MultipartUpload? { uploads.withLock { $0[id] } }

    func open(_ id: UUID, as storeUploadID: String) async throws(GatewayError) -> MultipartUpload.State {
        uploads.withLock { $0[id]?.state = .open }
        return .open
    }

    func move(
        _ id: UUID, from states: Set<MultipartUpload.State>, to change: MultipartChange
    ) async throws(GatewayError) -> Bool {
        uploads.withLock { uploads in
            guard var upload = uploads[id], states.contains(upload.state) else { return false }
            switch change {
            case .refused: upload.state = .open
            case .completing(let parts): (upload.state, upload.parts) = (.completing, parts)
            case .completed(let parts, let etag, _):
                (upload.state, upload.parts, upload.etag) = (.completed, parts, etag)
            case .aborting: upload.state = .aborting
            case .aborted: upload.state = .aborted
            }
            uploads[id] = upload
            return true
        }
    }

    func prove(_ admin: ChangeContext) async throws(GatewayError) {}

    func abort(
        _ id: UUID, from state: MultipartUpload.State, to change: MultipartChange, by admin: ChangeContext
    ) async throws(GatewayError) -> Bool {
        try await move(id, from: [state], to: change)
    }

    func reserve(_ parts: [ReservedPart], of id: UUID) async throws(GatewayError) -> PartReservation {
        reserved.withLock { reserved in
            let all = reserved[id, default: []] + parts
            reserved[id] = all
            let lengths = all.compactMap(\.contentLength)
            return .reserved(objectLength: lengths.count == all.count ? lengths.reduce(0, +) : nil)
        }
    }

    func release(_ issuances: [UUID]) async {
        reserved.withLock { reserved in
            for id in reserved.keys { reserved[id]?.removeAll { issuances.contains($0.issuance) } }
        }
    }

    func list(_ query: ListQuery) async throws(GatewayError) -> Page<MultipartUpload> {
        Page(items: uploads.withLock { Array($0.values) }, nextPageToken: nil)
    }

    func start(_ issued: IssuedURL) async throws(GatewayError) -> String {
        if let failure = failure.withLock({ $0 }) { throw failure }
        return "store-2"
    }

    func complete(
        _ issued: IssuedURL, parts: [UploadedPart]
    ) async throws(GatewayError) -> MultipartCompletion {
        switch failure.withLock({ $0 }) {
        case .notFound: return .unknownUpload(wasRepeated: false)
        case .some(let failure): throw failure
        case nil: return .done(etag: "5eb63bbbe01eeed093cb22bb8f5acdc3-2")
        }
    }

    func parts(
        of upload: MultipartUpload, after number: Int, atMost count: Int
    ) async throws(GatewayError) -> StoredParts {
        if let failure = failure.withLock({ $0 }) { throw failure }
        let held = parts.withLock { $0 }.filter { $0.part.number > number }
        return StoredParts(
            parts: Array(held.prefix(count)), next: held.count > count ? held[count - 1].part.number : nil)
    }

    func abort(_ storeUploadID: String, of upload: MultipartUpload) async throws(GatewayError) -> Bool {
        if let failure = failure.withLock({ $0 }) { throw failure }
        return true
    }

    func discard(_ storeUploadID: String, of upload: MultipartUpload) async throws(StoreFailure) {}

    func etag(of upload: MultipartUpload, mayBeComplete: Bool) async throws(GatewayError) -> String? { nil }
}

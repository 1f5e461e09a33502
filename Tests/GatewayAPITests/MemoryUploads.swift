import Foundation
import GatewayCore
import Synchronization
import TestSupport

/// A store of uploads in parts that accepts everything, with rows in memory. One upload of `user:alice` is open from
/// the beginning.
final class MemoryUploads: MultipartStore {
    static let openID = uuid("0198c5a1-7a3b-7c11-9f6e-3f1d2c4b5a01")

    let rows = MemoryUploadRows()
    /// The parts that the store has of every upload.
    let parts = Mutex<[StoredPart]>([])
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
        rows.uploads[Self.openID] = upload
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

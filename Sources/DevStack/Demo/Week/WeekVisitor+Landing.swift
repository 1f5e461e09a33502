import FoundationEssentials
import GatewayCore

/// What arrives at the store in the demo's week.
extension WeekVisitor {
    /// The entity tag of every object: nothing is stored that it could be computed from.
    static let etag = "5d41402abc4b2a76b9719d911017c592"

    /// Says that objects arrived at the store. It reports most of them; the app confirms the others.
    func land(
        _ uploads: [(id: UUID, key: ObjectKey, size: Int64, type: String)], _ visit: Visit,
        in bucket: BucketName? = nil,
        etag: String = etag
    ) async throws {
        guard !uploads.isEmpty else { return }
        let bucket = try bucket ?? BucketName(DemoWorld.bucket)
        let madeAt = gateway.clock.now.addingTimeInterval(2)
        for upload in uploads {
            gateway.store.put(
                StoredObject(size: upload.size, etag: etag, contentType: upload.type, modifiedAt: madeAt),
                at: upload.key, in: bucket)
        }
        if dice.chance(0.92) {
            let objects = uploads.map { MadeObject(key: $0.key, madeAt: madeAt, size: $0.size, etag: etag) }
            _ = try await gateway.storeEvents.note(objects, in: bucket)
        } else {
            for upload in uploads { _ = try await gateway.confirmation.confirm(upload.id, by: visit.context.caller) }
        }
    }
}

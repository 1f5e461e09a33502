import Foundation
import GatewayCore
import Synchronization

/// The state of uploads, in memory.
final class MemoryUploadRecords: UploadRecords {
    let rows = Mutex<[UUID: ListedUpload]>([:])
    let queries = Mutex<[UploadQuery]>([])

    func upload(_ id: UUID) async throws(GatewayError) -> ListedUpload? { rows.withLock { $0[id] } }

    func note(_ finding: UploadFinding, on id: UUID) async throws(GatewayError) -> UploadFinding {
        var finding = finding
        finding.foundAt = TestGateway.now
        let noted = finding
        rows.withLock { rows in
            rows[id]?.finding = noted
            if let state = UploadState(rawValue: noted.kind.rawValue) { rows[id]?.state = state }
        }
        return finding
    }

    func uploads(_ query: UploadQuery) async throws(GatewayError) -> LedgerPage<ListedUpload> {
        queries.withLock { $0.append(query) }
        let items = rows.withLock { Array($0.values) }
        return LedgerPage(
            items: items, nextPageToken: nil,
            range: try LedgerRange(from: query.from, to: query.to, span: 60, now: TestGateway.now))
    }

    /// Adds an upload of `user:alice` to `photos`, issued a minute before the instant of the tests.
    @discardableResult func add(
        principal: String = "user:alice", delivery: String = "presigned-url", action: String = "PutObject",
        method: String = "PUT", key: String = "uploads/a.png", isDead: Bool = false,
        _ change: (inout UploadRecord) -> Void = { _ in }
    ) -> UUID {
        let issuedAt = TestGateway.now.addingTimeInterval(-60)
        let random = (0..<10).map { _ in UInt8.random(in: 0...255) }
        var record = UploadRecord(
            id: .version7(at: issuedAt, randomBytes: random), issuedAt: issuedAt,
            expiresAt: issuedAt.addingTimeInterval(900), delivery: delivery, action: action, method: method,
            principal: principal, bucket: "photos", key: key, contentType: "image/png",
            contentMD5: [UInt8](repeating: 7, count: 16), contentLength: 10, isDead: isDead)
        change(&record)
        let row = ListedUpload(record: record, state: isDead ? .expired : .issued, finding: nil)
        rows.withLock { $0[row.record.id] = row }
        return record.id
    }
}

/// A store with one object under every key, with none, or with a failure.
final class StubObjects: StoredObjects {
    let answer = Mutex<Result<StoredObject?, GatewayError>>(.success(nil))
    let asked = Mutex<[String]>([])

    func object(
        _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
    ) async throws(GatewayError) -> StoredObject? {
        asked.withLock { $0.append("\(bucket)/\(key)") }
        return try answer.withLock { $0 }.get()
    }

    /// An object that fits the uploads of ``MemoryUploadRecords``.
    static func fitting(_ change: (inout StoredObject) -> Void = { _ in }) -> StoredObject {
        var object = StoredObject(
            size: 10, etag: "tag", contentType: "image/png", md5: [UInt8](repeating: 7, count: 16),
            modifiedAt: TestGateway.now)
        change(&object)
        return object
    }
}

/// The place of Alibaba OSS's key; empty until a test serves a key.
final class StubCallbackKeys: KeySetFetcher {
    let documents = Mutex<[String: [UInt8]]>([:])
    let asked = Mutex<[String]>([])

    func keySet(at url: String) async throws(GatewayError) -> [UInt8] {
        asked.withLock { $0.append(url) }
        guard let document = documents.withLock({ $0[url] }) else { throw .unavailable(retryAfter: 5) }
        return document
    }
}

/// The events that stores sent, in memory.
final class MemoryStoreEvents: StoreEventRecords {
    /// The secret for `photos` at the beginning.
    static let secret = "sluicee_abcdefghijkl_" + String(repeating: "s", count: 43)

    let secrets = Mutex<[EventSecret]>([])
    let objects = Mutex<[MadeObject]>([])

    init() {
        guard let text = EventSecretText(parsing: Secret(Self.secret)), let bucket = try? BucketName("photos") else {
            preconditionFailure("The secret of the tests has the form of one.")
        }
        let secret = EventSecret(bucket: bucket, name: text.name, hash: text.hash, createdAt: TestGateway.now)
        secrets.withLock { $0.append(secret) }
    }

    func secret(named name: String) async throws(GatewayError) -> (bucket: BucketName, hash: [UInt8])? {
        secrets.withLock { secrets in secrets.first { $0.name == name }.map { ($0.bucket, $0.hash) } }
    }

    func note(_ objects: [MadeObject], in bucket: BucketName) async throws(GatewayError) -> Int {
        self.objects.withLock { known in
            let new = objects.filter { object in
                !known.contains {
                    $0 == object || $0.key == object.key && $0.callbackID != nil && $0.callbackID == object.callbackID
                }
            }
            known += new
            return new.count
        }
    }

    func rotate(
        _ secret: EventSecret, overlap: Int, by change: ChangeContext
    ) async throws(GatewayError) -> EventSecret {
        var secret = secret
        secret.previousUntil = overlap > 0 ? TestGateway.now.addingTimeInterval(TimeInterval(overlap)) : nil
        let made = secret
        secrets.withLock { secrets in
            secrets.removeAll { $0.bucket == made.bucket }
            secrets.append(made)
        }
        return made
    }

    func secret(of bucket: BucketName) async throws(GatewayError) -> EventSecret? {
        secrets.withLock { secrets in secrets.first { $0.bucket == bucket } }
    }

    func removeSecret(of bucket: BucketName, by change: ChangeContext) async throws(GatewayError) -> Bool {
        secrets.withLock { secrets in
            let count = secrets.count
            secrets.removeAll { $0.bucket == bucket }
            return secrets.count < count
        }
    }
}

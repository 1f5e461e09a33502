public import FoundationEssentials
public import GatewayCore
import Synchronization

/// The stores of the demo's week, as far as the gateway asks them. Nothing is stored: they remember which objects the
/// people of the week are said to have uploaded, and open sessions that no store knows.
public final class WeekStore: StoredObjects, UploadVerifier, MultipartStore, SessionOpener {
    private let objects = Mutex<[String: StoredObject]>([:])
    private let uploads = Mutex(0)
    private let now: @Sendable () -> Date

    /// Creates stores without objects.
    ///
    /// - Parameter now: The clock of the week.
    public init(now: @escaping @Sendable () -> Date) {
        self.now = now
    }

    private static func name(_ key: ObjectKey, in bucket: BucketName) -> String { "\(bucket.rawValue)/\(key.rawValue)" }

    /// Remembers an object.
    func put(_ object: StoredObject, at key: ObjectKey, in bucket: BucketName) {
        objects.withLock { $0[Self.name(key, in: bucket)] = object }
    }

    /// Returns the object at a key.
    public func object(
        _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
    ) async throws(GatewayError) -> StoredObject? {
        objects.withLock { $0[Self.name(key, in: bucket)] }
    }

    /// Returns the object at a key, with a clock that agrees with the gateway's.
    public func look(at key: ObjectKey, in bucket: BucketName) async throws(StoreFailure) -> StoreLook? {
        StoreLook(object: objects.withLock { $0[Self.name(key, in: bucket)] }, clockDifference: 0)
    }

    /// Names an upload.
    public func start(_ issued: IssuedURL) async throws(GatewayError) -> String {
        uploads.withLock { count in
            count += 1
            return "WEEK\(count)"
        }
    }

    /// Assembles an object of an unknown size.
    public func complete(
        _ issued: IssuedURL, parts: [UploadedPart]
    ) async throws(GatewayError) -> MultipartCompletion {
        .done(etag: "5d41402abc4b2a76b9719d911017c592-\(parts.count)")
    }

    /// Lists no parts.
    public func parts(
        of upload: MultipartUpload, after number: Int, atMost count: Int
    ) async throws(GatewayError) -> StoredParts {
        StoredParts(parts: [], next: nil)
    }

    /// Forgets an upload.
    public func abort(_ storeUploadID: String, of upload: MultipartUpload) async throws(GatewayError) -> Bool { true }

    /// Has nothing left.
    public func discard(_ storeUploadID: String, of upload: MultipartUpload) async throws(StoreFailure) {}

    /// Whether the object at the key is that of an upload.
    public func etag(of upload: MultipartUpload, mayBeComplete: Bool) async throws(GatewayError) -> String? { nil }

    /// Opens a session that no store knows.
    public func open(_ order: SessionOrder) async throws(GatewayError) -> SessionCredential {
        SessionCredential(
            accessKeyID: "STS.WEEK", secretAccessKey: Secret("none"), sessionToken: Secret("none"),
            expiresAt: now().addingTimeInterval(TimeInterval(order.duration)))
    }
}

import Bytes
public import FoundationEssentials
import LibCrypto

/// Accepts event notifications from stores. An event is only a hint: it updates the known state of uploads but releases
/// no reserved bytes.
public struct StoreEvents: Sendable {
    /// Maximum number of events in one message.
    public static let maxEvents = 1000

    private let records: any StoreEventRecords
    private let lookUps = EventSecretLookUps()
    private let objects: any StoredObjects
    private let keys: CallbackKeys
    private let isAtOSS: @Sendable (BucketName) async throws(GatewayError) -> Bool
    private let hints = CallbackHints()
    /// The gateway's clock.
    public let now: @Sendable () -> Date

    /// Events older than `memory` are ignored, because no upload waits for them any more. A store's clock may be ahead
    /// by up to `clockDifference`.
    private static let memory: TimeInterval = 10 * 86_400
    private static let clockDifference: TimeInterval = 3600
    /// Compared with if no hash is stored, so that both cases take equally long.
    private static let noHash = [UInt8](repeating: 0, count: 32)

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - records: Stores the events.
    ///   - objects: Asks stores about objects that were reported without a secret.
    ///   - keys: The keys that verify Alibaba OSS callbacks.
    ///   - isAtOSS: Returns whether a bucket exists and its store is Alibaba OSS. If the rows cannot be read, it must
    ///     fail for every bucket, also for those that it knows.
    ///   - now: The gateway's clock.
    public init(
        records: any StoreEventRecords, objects: any StoredObjects, keys: CallbackKeys,
        isAtOSS: @escaping @Sendable (BucketName) async throws(GatewayError) -> Bool,
        now: @escaping @Sendable () -> Date
    ) {
        self.records = records
        self.objects = objects
        self.keys = keys
        self.isAtOSS = isAtOSS
        self.now = now
    }

    /// Finds the bucket that a secret belongs to.
    ///
    /// - Throws: `unauthenticated`, `slowDown` while too many unknown secrets are looked up, `unavailable`.
    public func bucket(of secret: Secret<String>) async throws(GatewayError) -> BucketName {
        let refusal = GatewayError.unauthenticated(reason: "The secret is not accepted.")
        guard let text = EventSecretText(parsing: secret) else { throw refusal }
        let askedAt = now()
        guard try !lookUps.isRefused(text.hash, at: askedAt) else { throw refusal }
        let kept = try await records.secret(named: text.name)
        let isRight = constantTimeEqual(text.hash, kept?.hash ?? Self.noHash)
        lookUps.note(text.hash, isGood: isRight && kept != nil, at: askedAt)
        guard isRight, let kept else { throw refusal }
        return kept.bucket
    }

    /// Records which objects were created; returns how many events reported an object not known before.
    ///
    /// - Throws: `accessDenied` if an event is for another bucket, in which case nothing is recorded; `unavailable`.
    public func note(_ events: [StoreEvent], in bucket: BucketName) async throws(GatewayError) -> Int {
        guard events.allSatisfy({ $0.bucket.isSameBytes(as: bucket.rawValue) }) else { throw .accessDenied }
        let made = events.compactMap(made)
        return made.isEmpty ? 0 : try await records.note(made, in: bucket)
    }

    /// Verifies that Alibaba OSS signed a callback: see ``CallbackKeys/verify(_:signature:keyURL:)``.
    public func verify(_ message: [UInt8], signature: String, keyURL: String) async throws(GatewayError) {
        try await keys.verify(message, signature: signature, keyURL: keyURL)
    }

    /// Accepts a callback authenticated only by the key of Alibaba OSS, which signs the callbacks of any of its
    /// customers. The gateway asks the store for the object and records it as the store reports it, or not at all.
    ///
    /// Whether this throws does not depend on the bucket, so that nobody learns which buckets exist: what cannot be
    /// asked or recorded now is dropped. `:confirm` finds such an upload later.
    ///
    /// - Parameter message: What the key signed.
    /// - Returns: Whether the callback reported an object not known before. Only metrics may disclose this.
    /// - Throws: `slowDown` for too many callbacks about whatever buckets, `unavailable` if no rows can be read.
    public func take(hint event: StoreEvent, signedIn message: [UInt8]) async throws(GatewayError) -> Bool {
        guard let told = made(event), told.callbackID != nil, let bucket = try? BucketName(event.bucket),
            let hint = try hints.admit(message, at: now())
        else { return false }
        do throws(GatewayError) {
            guard try await isAtOSS(bucket) else { return false }
        } catch {
            hints.forget(hint)
            throw error
        }
        guard let share = hints.share(of: bucket, at: now()) else { return false }
        do throws(GatewayError) {
            return try await record(told, in: bucket, share)
        } catch {
            return false
        }
    }

    /// Asks the store for a reported object and records it; returns whether it was not known before.
    private func record(
        _ told: MadeObject, in bucket: BucketName, _ share: Gate
    ) async throws(GatewayError) -> Bool {
        let answer = try await hints.pass(share) { () async throws(GatewayError) in
            try await objects.object(told.key, in: bucket, withSHA256: false)
        }
        guard let found = answer else { return false }
        let madeAt = found.modifiedAt ?? told.madeAt
        guard madeAt > now().addingTimeInterval(-Self.memory) else { return false }
        // Built from the store's answer, because whoever obtains signed callbacks can put anything into them. Each
        // object gets one row, with times rounded to ten minutes.
        let mark = "found:\(Int64(madeAt.timeIntervalSince1970 / 600)):\(found.etag ?? "")"
        let object = MadeObject(key: told.key, madeAt: madeAt, size: found.size, etag: found.etag, callbackID: mark)
        return try await records.note([object], in: bucket) > 0
    }

    /// Returns the object that an event reports; `nil` if the event is unusable. No permitted upload has a key that
    /// does not parse.
    private func made(_ event: StoreEvent) -> MadeObject? {
        let now = now()
        guard event.isCreation, let text = event.key, let key = try? ObjectKey(text), let madeAt = event.madeAt,
            madeAt > now.addingTimeInterval(-Self.memory), madeAt < now.addingTimeInterval(Self.clockDifference)
        else { return nil }
        return MadeObject(
            key: key, madeAt: madeAt, size: event.size.flatMap { $0 >= 0 ? $0 : nil },
            etag: event.etag.flatMap { $0.consists(of: .visible, count: 1...128) ? $0 : nil },
            callbackID: event.callbackID)
    }
}

/// Manages the event secrets of buckets for admins.
public struct EventSecrets: Sendable {
    private let records: any StoreEventRecords
    private let now: @Sendable () -> Date
    private let random: RandomSource

    /// Creates the use case from its parts.
    public init(
        records: any StoreEventRecords, now: @escaping @Sendable () -> Date,
        randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.records = records
        self.now = now
        random = RandomSource(randomBytes)
    }

    /// Generates a new secret for a bucket. This is the only time its text is returned.
    ///
    /// - Parameter overlap: How long the previous secret remains valid.
    /// - Throws: `notFound`, `unavailable`.
    public func rotate(
        _ bucket: BucketName, overlap: RotationOverlap, by change: ChangeContext
    ) async throws(GatewayError) -> (secret: EventSecret, text: Secret<String>) {
        let text = try random.secret(EventSecretText.randomByteCount) { EventSecretText(randomBytes: $0) }
        let secret = EventSecret(bucket: bucket, name: text.name, hash: text.hash, createdAt: now())
        return (try await records.rotate(secret, overlap: overlap.seconds, by: change), text.text)
    }

    /// Reads the record of a bucket's secret.
    ///
    /// - Throws: `notFound`, `unavailable`.
    public func secret(of bucket: BucketName) async throws(GatewayError) -> EventSecret {
        guard let secret = try await records.secret(of: bucket) else { throw .notFound(.eventSecret) }
        return secret
    }

    /// Removes a bucket's secrets. Events from its store are no longer accepted.
    ///
    /// - Throws: `notFound`, `unavailable`.
    public func remove(of bucket: BucketName, by change: ChangeContext) async throws(GatewayError) {
        guard try await records.removeSecret(of: bucket, by: change) else { throw .notFound(.eventSecret) }
    }
}

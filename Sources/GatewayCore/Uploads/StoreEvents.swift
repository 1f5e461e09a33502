public import Foundation
import LibCrypto
import Synchronization

/// Takes what stores tell. It is a hint: it changes what is known of uploads, and frees no reserved bytes.
public struct StoreEvents: Sendable {
    /// Most events of one message.
    public static let maxEvents = 1000

    private let records: any StoreEventRecords
    private let lookUps = EventSecretLookUps()
    private let objects: any StoredObjects
    private let keys: CallbackKeys
    private let isAtOSS: @Sendable (BucketName) async throws(GatewayError) -> Bool
    /// Anybody can have callbacks signed and send them again, and each that is about a bucket of ours has its store asked.
    private let looks = Gate(size: 16)
    private let allowance = Hints()
    /// The clock.
    public let now: @Sendable () -> Date

    /// What is told of later than this no upload waits for; and so far may a store's clock be ahead.
    private static let memory: TimeInterval = 10 * 86_400
    private static let clockDifference: TimeInterval = 3600
    /// Compared with where there is nothing to compare with, so that both take as long.
    private static let noHash = [UInt8](repeating: 0, count: 32)

    /// Puts the use case together.
    ///
    /// - Parameters:
    ///   - records: Remembers what was told.
    ///   - objects: Asks stores about objects that somebody without a secret told of.
    ///   - keys: Those that Alibaba OSS signs its callbacks with.
    ///   - isAtOSS: Whether there is such a bucket, and its store is Alibaba OSS.
    ///   - now: The clock.
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

    /// Finds the bucket that a secret speaks for.
    ///
    /// - Throws: `unauthenticated`, `slowDown` while too many unknown secrets are looked up, `unavailable`.
    public func bucket(of secret: Secret<String>) async throws(GatewayError) -> BucketName {
        let refusal = GatewayError.unauthenticated(reason: "The secret is not accepted.")
        guard let text = EventSecretText(parsing: secret) else { throw refusal }
        guard try !lookUps.isRefused(text.hash, at: now()) else { throw refusal }
        let kept = try await records.secret(named: text.name)
        let isRight = constantTimeEqual(text.hash, kept?.hash ?? Self.noHash)
        lookUps.note(text.hash, isGood: isRight && kept != nil)
        guard isRight, let kept else { throw refusal }
        return kept.bucket
    }

    /// Writes down which objects were made; gives how many of the events told of one that was not known.
    ///
    /// - Throws: `accessDenied` where one is of another bucket, and nothing is written down then; `unavailable`.
    public func note(_ events: [StoreEvent], in bucket: BucketName) async throws(GatewayError) -> Int {
        guard events.allSatisfy({ $0.bucket.utf8.elementsEqual(bucket.rawValue.utf8) }) else { throw .accessDenied }
        let made = events.compactMap(made)
        return made.isEmpty ? 0 : try await records.note(made, in: bucket)
    }

    /// Checks that Alibaba OSS signed a callback: ``CallbackKeys/verify(_:signature:keyURL:)``.
    public func verify(_ message: [UInt8], signature: String, keyURL: String) async throws(GatewayError) {
        try await keys.verify(message, signature: signature, keyURL: keyURL)
    }

    /// Takes a callback that only Alibaba OSS stands for, whose key signs whatever any of its customers has called: the object is
    /// written down as the gateway's own look at the store finds it, or not at all.
    ///
    /// - Returns: Whether that told of an object that was not known; nobody but metrics may hear it.
    /// - Throws: `slowDown`, `unavailable`.
    public func take(hint event: StoreEvent) async throws(GatewayError) -> Bool {
        guard let told = made(event), told.callbackID != nil, let bucket = try? BucketName(event.bucket),
            try await isAtOSS(bucket)
        else { return false }
        guard allowance.left.withLock({ [now = now()] in $0.take(at: now) }) else {
            throw .slowDown(retryAfter: 1, cause: "too many callbacks without a secret")
        }
        let found: StoredObject?
        do throws(GatewayError) {
            found = try await looks.pass { () async throws(GatewayError) in
                try await objects.object(told.key, in: bucket, withSHA256: false)
            }
        } catch {
            switch error {
            case .slowDown, .unavailable: throw error
            default: return false
            }
        }
        guard let found else { return false }
        let madeAt = found.modifiedAt ?? told.madeAt
        guard madeAt > now().addingTimeInterval(-Self.memory) else { return false }
        // Of what the store says, as whoever has callbacks signed may say anything: one object has one row, within minutes.
        let mark = "found:\(Int64(madeAt.timeIntervalSince1970 / 600)):\(found.etag ?? "")"
        let object = MadeObject(key: told.key, madeAt: madeAt, size: found.size, etag: found.etag, callbackID: mark)
        return try await records.note([object], in: bucket) > 0
    }

    /// What an event is worth: no upload that was permitted can have another kind of key.
    private func made(_ event: StoreEvent) -> MadeObject? {
        let now = now()
        guard event.isCreation, let text = event.key, let key = try? ObjectKey(text), let madeAt = event.madeAt,
            madeAt > now.addingTimeInterval(-Self.memory), madeAt < now.addingTimeInterval(Self.clockDifference)
        else { return nil }
        return MadeObject(
            key: key, madeAt: madeAt, size: event.size.flatMap { $0 >= 0 ? $0 : nil },
            etag: event.etag.flatMap { $0.isVisible(1...128) ? $0 : nil }, callbackID: event.callbackID)
    }
}

/// How often stores are asked because of hints.
private final class Hints: Sendable {
    let left = Mutex(Allowance(burst: 64, perSecond: 32))
}

/// The secrets of buckets, as admins see to them.
public struct EventSecrets: Sendable {
    /// Longest time for which a former secret stays good, in seconds.
    public static let maxOverlap = 604_800

    private let records: any StoreEventRecords
    private let now: @Sendable () -> Date
    private let randomBytes: @Sendable (Int) throws -> [UInt8]

    /// Puts the use case together.
    public init(
        records: any StoreEventRecords, now: @escaping @Sendable () -> Date,
        randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.records = records
        self.now = now
        self.randomBytes = randomBytes
    }

    /// Makes a secret for a bucket; its text is told this once.
    ///
    /// - Parameter overlap: Seconds for which the former one stays good.
    /// - Throws: `invalidArgument` for `overlapSeconds`, `notFound`, `unavailable`.
    public func rotate(
        _ bucket: BucketName, overlap: Int64, by change: ChangeContext
    ) async throws(GatewayError) -> (secret: EventSecret, text: Secret<String>) {
        try require(
            0...Int64(Self.maxOverlap) ~= overlap, "overlapSeconds",
            "The former secret stays good for 0 to 604,800 seconds.")
        guard let random = try? randomBytes(EventSecretText.randomByteCount),
            let text = EventSecretText(randomBytes: random)
        else { throw .unavailable(retryAfter: 1, cause: "the system gives no random bytes") }
        let secret = EventSecret(bucket: bucket, name: text.name, hash: text.hash, createdAt: now())
        return (try await records.rotate(secret, overlap: Int(overlap), by: change), text.text)
    }

    /// Reads what is kept of a bucket's secret.
    ///
    /// - Throws: `notFound`, `unavailable`.
    public func secret(of bucket: BucketName) async throws(GatewayError) -> EventSecret {
        guard let secret = try await records.secret(of: bucket) else { throw .notFound(.eventSecret) }
        return secret
    }

    /// Removes a bucket's secrets: its store is not listened to any more.
    ///
    /// - Throws: `notFound`, `unavailable`.
    public func remove(of bucket: BucketName, by change: ChangeContext) async throws(GatewayError) {
        guard try await records.removeSecret(of: bucket, by: change) else { throw .notFound(.eventSecret) }
    }
}

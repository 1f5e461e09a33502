public import FoundationEssentials

/// An event notification from a store, reduced to the parts that were understood.
public struct StoreEvent: Sendable, Equatable {
    /// The bucket that the event occurred in.
    public var bucket: String
    /// Whether an object was created; all other events are ignored.
    public var isCreation: Bool
    /// The object key, decoded; `nil` if it cannot be decoded.
    public var key: String?
    /// When the event occurred, by the store's clock; `nil` if the time is missing or cannot be parsed.
    public var madeAt: Date?
    /// Length of the object in bytes, if reported.
    public var size: Int64?
    /// Entity tag of the object, without quotes, if reported.
    public var etag: String?
    /// Distinguishes events that carry no time: two events with the same id are one event.
    public var callbackID: String?

    /// Creates an event from its parts.
    public init(
        bucket: String, isCreation: Bool, key: String?, madeAt: Date?, size: Int64? = nil, etag: String? = nil,
        callbackID: String? = nil
    ) {
        self.bucket = bucket
        self.isCreation = isCreation
        self.key = key
        self.madeAt = madeAt
        self.size = size
        self.etag = etag
        self.callbackID = callbackID
    }
}

/// An object whose creation a store reported, in the form that is stored.
public struct MadeObject: Sendable, Equatable {
    /// The object key.
    public var key: ObjectKey
    /// When the object was created, by the store's clock.
    public var madeAt: Date
    /// Length in bytes, if reported.
    public var size: Int64?
    /// Entity tag, if reported.
    public var etag: String?
    /// The id that distinguishes a callback from others.
    public var callbackID: String?

    /// Creates an object record from its parts.
    public init(key: ObjectKey, madeAt: Date, size: Int64?, etag: String?, callbackID: String? = nil) {
        self.key = key
        self.madeAt = madeAt
        self.size = size
        self.etag = etag
        self.callbackID = callbackID
    }
}

/// The secret that a store authenticates with when it reports events of a bucket. Only its hash is stored.
public struct EventSecret: Sendable, Equatable {
    /// The bucket that the secret is for.
    public var bucket: BucketName
    /// The public part of the secret.
    public var name: String
    /// SHA-256 of the secret's text, 32 bytes.
    public var hash: [UInt8]
    /// When the secret was created; set by the row store.
    public var createdAt: Date
    /// The instant until which the previous secret is accepted too.
    public var previousUntil: Date?

    /// Creates a record of a secret.
    public init(bucket: BucketName, name: String, hash: [UInt8], createdAt: Date, previousUntil: Date? = nil) {
        self.bucket = bucket
        self.name = name
        self.hash = hash
        self.createdAt = createdAt
        self.previousUntil = previousUntil
    }
}

/// Stores reported events and the secrets that stores authenticate with.
public protocol StoreEventRecords: Sendable {
    /// Reads the bucket and the hash of a currently valid secret by its name; `nil` if there is none.
    ///
    /// - Throws: `unavailable`, like all other methods.
    func secret(named name: String) async throws(GatewayError) -> (bucket: BucketName, hash: [UInt8])?

    /// Records objects created in a bucket; returns how many were new.
    func note(_ objects: [MadeObject], in bucket: BucketName) async throws(GatewayError) -> Int

    /// Replaces a bucket's secret. The previous one remains valid for `overlap` seconds.
    ///
    /// - Throws: `notFound` if the bucket does not exist.
    func rotate(_ secret: EventSecret, overlap: Int, by change: ChangeContext) async throws(GatewayError) -> EventSecret

    /// Reads the record of a bucket's secret; `nil` if the bucket has none.
    func secret(of bucket: BucketName) async throws(GatewayError) -> EventSecret?

    /// Removes a bucket's secrets; returns whether there were any.
    func removeSecret(of bucket: BucketName, by change: ChangeContext) async throws(GatewayError) -> Bool
}

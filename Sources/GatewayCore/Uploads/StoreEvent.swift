public import Foundation

/// Something that a store tells of, as far as it was understood.
public struct StoreEvent: Sendable, Equatable {
    /// The bucket that it happened in.
    public var bucket: String
    /// Whether an object was made; anything else is of no interest.
    public var isCreation: Bool
    /// The object's key, decoded; `nil` where it cannot be.
    public var key: String?
    /// When it happened, by the store's clock; `nil` where that was not said or not understood.
    public var madeAt: Date?
    /// Length of the object in bytes, where it was told.
    public var size: Int64?
    /// Its entity tag, without quotes, where it was told.
    public var etag: String?
    /// What tells it from others that say no time: the same word twice is one event.
    public var callbackID: String?

    /// Describes an event.
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

/// An object that a store told of, in a form that can be kept.
public struct MadeObject: Sendable, Equatable {
    /// Its key.
    public var key: ObjectKey
    /// When it was made, by the store's clock.
    public var madeAt: Date
    /// Its length, where that was told.
    public var size: Int64?
    /// Its entity tag, where that was told.
    public var etag: String?
    /// What tells a callback from others.
    public var callbackID: String?

    /// Puts it together.
    public init(key: ObjectKey, madeAt: Date, size: Int64?, etag: String?, callbackID: String? = nil) {
        self.key = key
        self.madeAt = madeAt
        self.size = size
        self.etag = etag
        self.callbackID = callbackID
    }
}

/// What a store authenticates with when it tells of a bucket, as it is kept: never the secret itself.
public struct EventSecret: Sendable, Equatable {
    /// The bucket.
    public var bucket: BucketName
    /// The public part of the secret.
    public var name: String
    /// SHA-256 of the secret's text, 32 bytes.
    public var hash: [UInt8]
    /// When it was made; set by the store of rows.
    public var createdAt: Date
    /// Until when the former secret is good as well.
    public var previousUntil: Date?

    /// Puts it together.
    public init(bucket: BucketName, name: String, hash: [UInt8], createdAt: Date, previousUntil: Date? = nil) {
        self.bucket = bucket
        self.name = name
        self.hash = hash
        self.createdAt = createdAt
        self.previousUntil = previousUntil
    }
}

/// Remembers what stores told, and what they authenticate with.
public protocol StoreEventRecords: Sendable {
    /// Reads the bucket and the hash that go with the name of a secret that is good now; `nil` where there is none.
    ///
    /// - Throws: `unavailable`, as do all the others.
    func secret(named name: String) async throws(GatewayError) -> (bucket: BucketName, hash: [UInt8])?

    /// Writes objects down that were made in a bucket; gives how many were new.
    func note(_ objects: [MadeObject], in bucket: BucketName) async throws(GatewayError) -> Int

    /// Puts a secret in the place of a bucket's former one, which stays good for so many seconds.
    ///
    /// - Throws: `notFound` where there is no such bucket.
    func rotate(_ secret: EventSecret, overlap: Int, by change: ChangeContext) async throws(GatewayError) -> EventSecret

    /// Reads what is kept of a bucket's secret; `nil` where it has none.
    func secret(of bucket: BucketName) async throws(GatewayError) -> EventSecret?

    /// Removes a bucket's secrets; answers whether there were any.
    func removeSecret(of bucket: BucketName, by change: ChangeContext) async throws(GatewayError) -> Bool
}

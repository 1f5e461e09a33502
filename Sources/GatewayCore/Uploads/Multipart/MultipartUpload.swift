import Bytes
public import FoundationEssentials

/// A multipart upload, bound to the key and the caller that it was started for.
public struct MultipartUpload: Sendable, Equatable {
    /// The progress of an upload.
    public enum State: String, Sendable, CaseIterable {
        /// The store is being asked to start the upload, or its answer never arrived.
        case starting
        /// Parts can be uploaded.
        case open
        /// The store is being asked to assemble the parts, or its answer never arrived.
        case completing
        /// The object exists at the store.
        case completed
        /// The store is being asked to discard the parts.
        case aborting
        /// The store has discarded the parts, or has not done so for weeks, or cannot be asked to, because the bucket
        /// was removed.
        case aborted

        /// The states in which the store may still hold parts.
        static let unfinished: Set<State> = [.starting, .open, .completing, .aborting]
    }

    /// UUIDv7; also the id of the ledger row for the start of the upload.
    public var id: UUID
    /// The principal that started the upload; no other may continue it.
    public var principal: Principal
    /// The bucket of the object.
    public var bucket: BucketName
    /// The object key.
    public var key: ObjectKey
    /// Content type of the object.
    public var contentType: MediaType
    /// Maximum total length of all parts in bytes, as stated at the start.
    public var contentLength: Int64?
    /// The progress of the upload.
    public var state: State
    /// The store's upload id; `nil` until the store has reported it.
    public var storeUploadID: String?
    /// The parts of the object, once completion was requested.
    public var parts: [UploadedPart]
    /// Entity tag of the object, without quotes, once the object exists.
    public var etag: String?
    /// When the upload was started.
    public var createdAt: Date
    /// When the upload is aborted if it is not completed.
    public var expiresAt: Date

    /// Creates an upload from its parts.
    public init(
        id: UUID, principal: Principal, bucket: BucketName, key: ObjectKey, contentType: MediaType,
        contentLength: Int64?, state: State, storeUploadID: String? = nil, parts: [UploadedPart] = [],
        etag: String? = nil, createdAt: Date, expiresAt: Date
    ) {
        self.id = id
        self.principal = principal
        self.bucket = bucket
        self.key = key
        self.contentType = contentType
        self.contentLength = contentLength
        self.state = state
        self.storeUploadID = storeUploadID
        self.parts = parts
        self.etag = etag
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// A part held by the store, identified as the store reported it to the client.
public struct UploadedPart: Sendable, Equatable {
    /// Maximum number of parts of an object, and the highest part number.
    public static let maxCount = 10_000

    /// Part number, 1…10,000.
    public let number: Int
    /// Entity tag of the part, without quotes.
    public let etag: String

    /// Creates a part after validating its number and entity tag.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `partNumber` or `etag`.
    public init(number: Int, etag: String) throws(GatewayError) {
        try Self.check(number: number)
        let tag = etag.withoutQuotes
        // Excludes markup characters and quotes.
        guard tag.consists(of: .alphanumeric.union("-_+/=.:"), count: 1...128) else {
            throw .invalidArgument(field: "etag", reason: "Send the entity tag that the store answered for the part.")
        }
        self.number = number
        self.etag = tag
    }

    /// Checks that a part number is in range.
    static func check(number: Int) throws(GatewayError) {
        guard 1...maxCount ~= number else {
            throw .invalidArgument(field: "partNumber", reason: "The part number must be 1 to 10,000.")
        }
    }
}

/// A part held by the store, as the store lists it.
public struct StoredPart: Sendable, Equatable {
    /// Part number and entity tag.
    public var part: UploadedPart
    /// Length in bytes.
    public var size: Int64
    /// When the store received the part, by the store's clock.
    public var modifiedAt: Date

    /// Creates an entry of the store's list.
    public init(part: UploadedPart, size: Int64, modifiedAt: Date) {
        self.part = part
        self.size = size
        self.modifiedAt = modifiedAt
    }
}

/// One page of the parts that a store holds of an upload.
public struct StoredParts: Sendable, Equatable {
    /// The parts, by ascending number.
    public var parts: [StoredPart]
    /// The part number after which the next page begins; `nil` on the last page.
    public var next: Int?

    /// Creates a page of parts.
    public init(parts: [StoredPart], next: Int?) {
        self.parts = parts
        self.next = next
    }
}

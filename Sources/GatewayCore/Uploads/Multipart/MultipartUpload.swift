public import Foundation

/// An upload in parts, bound to the key and the caller that it was started for.
public struct MultipartUpload: Sendable, Equatable {
    /// How far it is.
    public enum State: String, Sendable, CaseIterable {
        /// The store is being asked, or its answer never arrived.
        case starting
        /// Parts can be uploaded.
        case open
        /// The store is being asked to put the parts together, or its answer never arrived.
        case completing
        /// The object is there.
        case completed
        /// The store is to forget the parts.
        case aborting
        /// The store has forgotten the parts.
        case aborted

        /// Those in which the store may still hold parts.
        public static let unfinished: Set<State> = [.starting, .open, .completing, .aborting]
    }

    /// UUIDv7; also the identifier of the ledger's row about its start.
    public var id: UUID
    /// Who started it, and nobody else may go on with it.
    public var principal: Principal
    /// Where.
    public var bucket: BucketName
    /// On what.
    public var key: ObjectKey
    /// Content type of the object.
    public var contentType: MediaType
    /// Most bytes of all parts together, as said at the start.
    public var contentLength: Int64?
    /// How far it is.
    public var state: State
    /// The store's own identifier; `nil` until it was heard of.
    public var storeUploadID: String?
    /// The parts of the object, once it was asked for.
    public var parts: [UploadedPart]
    /// The object's entity tag, without quotes, once it is there.
    public var etag: String?
    /// When it was started.
    public var createdAt: Date
    /// When it is aborted unless the object is there.
    public var expiresAt: Date

    /// Puts an upload together.
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

/// A part that the store has, as the store named it to the client.
public struct UploadedPart: Sendable, Equatable {
    /// Most parts of an object; also the greatest number of a part.
    public static let maxCount = 10_000

    /// 1…10,000.
    public let number: Int
    /// The part's entity tag, without quotes.
    public let etag: String

    /// Checks a part.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for `partNumber` or `etag`.
    public init(number: Int, etag: String) throws(GatewayError) {
        try Self.check(number: number)
        var tag = etag.utf8[...]
        if tag.count >= 2, tag.first == UInt8(ascii: "\""), tag.last == UInt8(ascii: "\"") {
            tag = tag.dropFirst().dropLast()
        }
        // Nothing that would be markup or a quote.
        guard 1...128 ~= tag.count,
            tag.allSatisfy({ ASCII.isAlphanumeric($0) || "-_+/=.:".utf8.contains($0) })
        else {
            throw .invalidArgument(field: "etag", reason: "An entity tag is what the store answered to the part.")
        }
        self.number = number
        self.etag = String(Substring(tag))
    }

    /// Refuses numbers that no part can have.
    static func check(number: Int) throws(GatewayError) {
        guard 1...maxCount ~= number else {
            throw .invalidArgument(field: "partNumber", reason: "The number of a part is 1 to 10,000.")
        }
    }
}

/// A part that the store has, as the store tells of it.
public struct StoredPart: Sendable, Equatable {
    /// Number and entity tag.
    public var part: UploadedPart
    /// Bytes.
    public var size: Int64
    /// When the store got it, by the store's clock.
    public var modifiedAt: Date

    /// Puts it together.
    public init(part: UploadedPart, size: Int64, modifiedAt: Date) {
        self.part = part
        self.size = size
        self.modifiedAt = modifiedAt
    }
}

/// Some of the parts that a store has of an upload.
public struct StoredParts: Sendable, Equatable {
    /// By ascending number.
    public var parts: [StoredPart]
    /// The number after which the list goes on; `nil` at its end.
    public var next: Int?

    /// Puts them together.
    public init(parts: [StoredPart], next: Int?) {
        self.parts = parts
        self.next = next
    }
}

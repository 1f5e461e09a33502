public import Foundation

/// An object as a store describes it.
public struct StoredObject: Sendable, Equatable {
    /// Length in bytes.
    public var size: Int64
    /// Its entity tag, without quotes; `nil` where the store tells none that is plain text.
    public var etag: String?
    /// Its content type, as it is kept.
    public var contentType: String?
    /// MD5 of the bytes, 16 bytes, where the store tells it or its entity tag is one.
    public var md5: [UInt8]?
    /// SHA-256 of the bytes, 32 bytes, where the store tells it or its entity tag is one.
    public var sha256: [UInt8]?
    /// When it was written last, by the gateway's clock and to a second or two.
    public var modifiedAt: Date?

    /// Describes an object.
    public init(
        size: Int64, etag: String? = nil, contentType: String? = nil, md5: [UInt8]? = nil, sha256: [UInt8]? = nil,
        modifiedAt: Date? = nil
    ) {
        self.size = size
        self.etag = etag
        self.contentType = contentType
        self.md5 = md5
        self.sha256 = sha256
        self.modifiedAt = modifiedAt
    }
}

/// Asks stores what lies under a key.
public protocol StoredObjects: Sendable {
    /// Asks for the object that lies there now; `nil` where nothing does.
    ///
    /// - Parameter withSHA256: Whether the store is to tell its SHA-256, which some do only when they are asked, and which may need
    ///   a further permission.
    /// - Throws: `unavailable` where the store does not answer, ``GatewayError/storeRefused(status:code:)`` where it says
    ///   something else, `conflict` where the bucket's row is gone, so that nobody can ask.
    func object(
        _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
    ) async throws(GatewayError) -> StoredObject?
}

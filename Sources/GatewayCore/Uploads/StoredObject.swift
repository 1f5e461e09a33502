public import FoundationEssentials

/// An object as a store describes it.
public struct StoredObject: Sendable, Equatable {
    /// Length in bytes.
    public var size: Int64
    /// Entity tag, without quotes; `nil` if the store reports none in plain text.
    public var etag: String?
    /// Content type, as stored.
    public var contentType: String?
    /// MD5 of the content, 16 bytes, if the store reports it or the entity tag is an MD5.
    public var md5: [UInt8]?
    /// SHA-256 of the content, 32 bytes, if the store reports it or the entity tag is a SHA-256.
    public var sha256: [UInt8]?
    /// When the object was last written, converted to the gateway's clock and accurate to a second or two.
    public var modifiedAt: Date?

    /// Creates a description of an object.
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

/// Asks stores about objects by key.
public protocol StoredObjects: Sendable {
    /// Asks for the current object at a key; `nil` if there is none.
    ///
    /// - Parameter withSHA256: Whether to ask for the object's SHA-256. Some stores report it only on request, and may
    ///   require an additional permission.
    /// - Throws: `unavailable` if the store does not answer, ``GatewayError/storeRefused(status:code:)`` if it answers
    ///   with another error, `conflict` if the bucket's row is gone and the store therefore cannot be asked.
    func object(
        _ key: ObjectKey, in bucket: BucketName, withSHA256: Bool
    ) async throws(GatewayError) -> StoredObject?
}

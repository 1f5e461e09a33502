public import FoundationEssentials

/// The data of an issuance that is needed to determine the result of its upload.
public struct UploadRecord: Sendable, Equatable {
    /// Identifier of the issuance.
    public var id: UUID
    /// When the issuance was recorded, by the database's clock.
    public var issuedAt: Date
    /// The instant until which an upload may begin.
    public var expiresAt: Date
    /// The delivery, as a raw value of ``Delivery``.
    public var delivery: String
    /// The action that the issuance permits.
    public var action: String
    /// The HTTP method that is bound.
    public var method: String
    /// The principal that the issuance belongs to.
    public var principal: String
    /// The bucket of the object.
    public var bucket: String
    /// The object key.
    public var key: String
    /// The bound content type, or several separated by `, ` of which the client sends one.
    public var contentType: String?
    /// The bound MD5, 16 bytes.
    public var contentMD5: [UInt8]?
    /// The requested SHA-256, 32 bytes.
    public var contentSHA256: [UInt8]?
    /// Whether the signature is valid only for bytes with that SHA-256.
    public var signsPayload: Bool
    /// The bound length in bytes; for forms and multipart uploads, the maximum.
    public var contentLength: Int64?
    /// Whether the database's clock has passed ``expiresAt``.
    public var isDead: Bool
    /// Entity tag that the store reported when a multipart upload was completed.
    public var completedETag: String?
    /// Whether the row of a multipart upload is gone, so that ``expiresAt`` is the death of the URL that started it.
    public var hasForgottenEnd = false
    /// Whether this is a multipart upload that the store certainly has not completed, so that an object under its key
    /// is another upload's.
    public var isUncompleted = false

    /// Creates a record from its parts.
    public init(
        id: UUID, issuedAt: Date, expiresAt: Date, delivery: String, action: String, method: String, principal: String,
        bucket: String, key: String, contentType: String?, contentMD5: [UInt8]?, contentSHA256: [UInt8]? = nil,
        signsPayload: Bool = false, contentLength: Int64?, isDead: Bool
    ) {
        self.id = id
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.delivery = delivery
        self.action = action
        self.method = method
        self.principal = principal
        self.bucket = bucket
        self.key = key
        self.contentType = contentType
        self.contentMD5 = contentMD5
        self.contentSHA256 = contentSHA256
        self.signsPayload = signsPayload
        self.contentLength = contentLength
        self.isDead = isDead
    }
}

/// The result of an upload.
public enum UploadState: String, Sendable, CaseIterable {
    /// No object is known to have arrived, and an upload is still possible.
    case issued
    /// An object is or was at the store, as the source of the finding says. Only a confirmation compares all of the
    /// bound properties.
    case landed
    /// The object at the store does not match the bound properties.
    case mismatched
    /// The object at the store matches, but the store does not report whether it has the requested SHA-256.
    case unverified
    /// No object is known to have arrived, and an upload is no longer possible.
    case expired
}

/// The gateway's finding about an upload at the store.
public struct UploadFinding: Sendable, Equatable {
    /// The kinds of findings.
    public enum Kind: String, Sendable, CaseIterable {
        case absent
        case landed
        case mismatched
        case unverified
    }

    /// Properties that can differ from the bound ones.
    public enum Mismatch: String, Sendable, CaseIterable {
        case size
        case md5
        case sha256
        case type
    }

    /// The origin of a finding.
    public enum Source: String, Sendable, CaseIterable {
        /// The gateway asked the store because a client or admin requested it.
        case confirmation
        /// The gateway asked the store in order to settle reserved bytes; this compares only the size.
        case settlement
        /// The store reported the object unasked.
        case event
        /// The gateway completed the multipart upload.
        case completion
    }

    /// The kind of finding.
    public var kind: Kind
    /// The properties that differ; empty unless `kind` is `mismatched`.
    public var mismatches: [Mismatch]
    /// The origin of the finding.
    public var source: Source
    /// Length of the object in bytes, if there is one.
    public var size: Int64?
    /// Entity tag of the object.
    public var etag: String?
    /// Content type of the object.
    public var contentType: String?
    /// When the finding was made, by the database's clock; `nil` until it is recorded.
    public var foundAt: Date?

    /// Creates a finding from its parts.
    public init(
        kind: Kind, mismatches: [Mismatch] = [], source: Source, size: Int64? = nil, etag: String? = nil,
        contentType: String? = nil, foundAt: Date? = nil
    ) {
        self.kind = kind
        self.mismatches = mismatches
        self.source = source
        self.size = size
        self.etag = etag
        self.contentType = contentType
        self.foundAt = foundAt
    }
}

public import Foundation

/// An issuance as far as it matters to what became of it.
public struct UploadRecord: Sendable, Equatable {
    /// Identifier of the issuance.
    public var id: UUID
    /// When it was recorded, by the database's clock.
    public var issuedAt: Date
    /// Until when an upload may begin.
    public var expiresAt: Date
    /// How it left, as ``Delivery``.
    public var delivery: String
    /// What it permits.
    public var action: String
    /// The method that is bound.
    public var method: String
    /// Whose it is.
    public var principal: String
    /// Where.
    public var bucket: String
    /// On what.
    public var key: String
    /// What was bound: the type, or several of which one is to be sent, `, ` between them.
    public var contentType: String?
    /// The MD5 that was bound, 16 bytes.
    public var contentMD5: [UInt8]?
    /// The SHA-256 that was asked for, 32 bytes.
    public var contentSHA256: [UInt8]?
    /// Whether the signature held for bytes of that SHA-256 alone.
    public var signsPayload: Bool
    /// The length that was bound; of forms and uploads in parts the greatest.
    public var contentLength: Int64?
    /// Whether the database's clock is past ``expiresAt``.
    public var isDead: Bool
    /// Entity tag that the store gave to an upload in parts.
    public var completedETag: String?
    /// What the gateway found out so far.
    public var finding: UploadFinding?

    /// Puts a record together.
    public init(
        id: UUID, issuedAt: Date, expiresAt: Date, delivery: String, action: String, method: String, principal: String,
        bucket: String, key: String, contentType: String?, contentMD5: [UInt8]?, contentSHA256: [UInt8]? = nil,
        signsPayload: Bool = false, contentLength: Int64?, isDead: Bool, completedETag: String? = nil,
        finding: UploadFinding? = nil
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
        self.completedETag = completedETag
        self.finding = finding
    }
}

/// What became of an upload.
public enum UploadState: String, Sendable, CaseIterable {
    /// Nothing is known to have arrived, and it still can.
    case issued
    /// An object that fits what was bound is there, or was.
    case landed
    /// An object is there, but not the one that was bound.
    case mismatched
    /// An object is there that fits, but the store does not tell whether its SHA-256 is the one that was asked for.
    case unverified
    /// Nothing is known to have arrived, and it can no more.
    case expired
}

/// What the gateway found when it had the store asked.
public struct UploadFinding: Sendable, Equatable {
    /// What was found.
    public enum Kind: String, Sendable, CaseIterable {
        case absent
        case landed
        case mismatched
        case unverified
    }

    /// What differs from what was bound.
    public enum Mismatch: String, Sendable, CaseIterable {
        case size
        case md5
        case sha256
        case type
    }

    /// Who tells.
    public enum Source: String, Sendable, CaseIterable {
        /// The gateway asked the store, since somebody wanted to know.
        case confirmation
        /// The gateway asked the store to settle reserved bytes; that looks at the size alone.
        case settlement
        /// The store told by itself; nobody asked.
        case event
        /// The gateway had the store put the parts together.
        case completion
    }

    /// What was found.
    public var kind: Kind
    /// What differs; empty unless `kind` says so.
    public var mismatches: [Mismatch]
    /// Who tells.
    public var source: Source
    /// Length of the object, where there is one.
    public var size: Int64?
    /// Its entity tag.
    public var etag: String?
    /// Its content type.
    public var contentType: String?
    /// When this was found, by the database's clock; `nil` before it is written down.
    public var foundAt: Date?

    /// Puts a finding together.
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

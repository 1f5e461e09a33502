import FoundationEssentials

/// A presigned URL as the gateway answers it. Whoever holds it can use it.
public struct Link: Sendable, Decodable {
    /// Identifies the issuance.
    public var id: String
    /// The method.
    public var method: String
    /// The URL.
    public var url: String
    /// Headers that must be sent byte for byte.
    public var headers: [String: String]
    /// The end of the URL's life, RFC 3339.
    public var expiresAt: String
    /// Its life in seconds.
    public var expiresIn: Int
}

/// A request for a presigned URL.
public struct LinkRequest: Sendable, Encodable {
    /// What the link may do: `PutObject`, `GetObject`, `ListObjects` or `DeleteObject`.
    public var action: String
    var bucket: String
    /// The object; `nil` for a listing, which has a prefix instead.
    var key: String?
    var prefix: String?
    var list: List?
    var contentType: String?
    var contentMD5: String?
    var checksumSHA256: String?
    var contentLength: Int64?
    /// Life of the link in seconds; `nil` for the bucket's default.
    public var expiresIn: Int?
    var metadata: [String: String]?
    var ifNoneMatch: String?
    /// Headers of a download's answer.
    public var response: Response?

    /// How the store groups and pages the keys of a listing.
    struct List: Sendable, Encodable {
        var delimiter: String?
        var maxKeys: Int
        var continuationToken: String?
        /// The store percent-encodes keys in its answer: XML cannot hold all of them.
        var encodingType = "url"
    }

    /// Headers of a download's answer.
    public struct Response: Sendable, Encodable {
        /// The name under which browsers save the object.
        public var filename: String

        /// Names the file.
        public init(filename: String) { self.filename = filename }
    }

    /// Asks for a download.
    public init(downloading address: ObjectAddress) {
        action = "GetObject"
        bucket = address.bucket
        key = address.key
    }

    init(uploading address: ObjectAddress) {
        action = "PutObject"
        bucket = address.bucket
        key = address.key
    }

    init(deleting address: ObjectAddress) {
        action = "DeleteObject"
        bucket = address.bucket
        key = address.key
    }

    init(listing place: ObjectAddress, _ list: List) {
        action = "ListObjects"
        bucket = place.bucket
        prefix = place.key
        self.list = list
    }
}

/// Temporary credentials for a store. Whoever holds them can use them.
public struct TemporaryCredentials: Sendable, Decodable {
    /// The access key id.
    public var accessKeyID: String
    /// The secret access key.
    public var secretAccessKey: String
    /// The session token, which must be sent with the keys.
    public var sessionToken: String
    /// The end of their life, RFC 3339.
    public var expiration: String

    private enum CodingKeys: String, CodingKey {
        case accessKeyID = "AccessKeyId"
        case secretAccessKey = "SecretAccessKey"
        case sessionToken = "Token"
        case expiration = "Expiration"
    }
}

/// A request for an upload in parts.
struct MultipartRequest: Encodable {
    var bucket: String
    var key: String
    var contentType: String
    var contentLength: Int64
    var metadata: [String: String]?
}

/// An upload in parts.
struct MultipartUpload: Decodable {
    var id: String
    var state: String
    var etag: String?
}

/// A part to ask a link for.
struct PartRequest: Encodable {
    var partNumber: Int
    var contentMD5: String
    var checksumSHA256: String?
    var contentLength: Int64?
}

/// The link for a part, or why there is none.
enum PartAnswer: Decodable {
    case link(Link)
    case problem(Problem)

    init(from decoder: any Decoder) throws {
        // Only problems have a status.
        if let problem = try? Problem(from: decoder) {
            self = .problem(problem)
        } else {
            self = .link(try Link(from: decoder))
        }
    }
}

/// A part that the store has.
struct StoredPart: Codable, Equatable {
    var partNumber: Int
    var etag: String
    var size: Int64
}

/// What the gateway found at the store.
struct UploadState: Decodable {
    var state: String
    var mismatches: [String]?
    var size: Int64?
    var etag: String?
}

/// A refusal in the form of the protocols of other clients.
struct ProtocolRefusal: Decodable {
    var code: String
    var message: String
    var requestID: String?

    func problem(_ status: Int) -> Problem {
        Problem(status: status, code: code, detail: message, requestID: requestID)
    }
}

/// Bodies and pages with one member.
enum Envelope {
    struct Parts<Part: Encodable>: Encodable { var parts: [Part] }
    struct Results<Item: Decodable>: Decodable { var results: [Item] }

    struct Page<Item: Decodable>: Decodable {
        var items: [Item]
        var nextPageToken: String?
    }

    struct CompletedPart: Encodable {
        var partNumber: Int
        var etag: String
    }

    struct Empty: Codable {}
}

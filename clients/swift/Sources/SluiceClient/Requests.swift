// What the gateway is asked. Members have the names of the contract.

extension Sluice {
    /// Where an upload goes.
    public struct Target: Sendable, Hashable, Encodable {
        /// The bucket.
        public var bucket: String
        /// The key of the object. Absent if the gateway names the object.
        public var key: String?
        /// The gateway names the object `<keyPrefix><UUIDv7>[.<keyExtension>]`. Empty, or ends with `/`.
        public var keyPrefix: String?
        /// The end of the name that the gateway gives, without a dot.
        public var keyExtension: String?
        /// The type of the object.
        public var contentType: String
        /// The object's own metadata, 2 KiB in all.
        public var metadata: [String: String]?

        /// An object with this key.
        public init(
            bucket: String, key: String, contentType: String = "application/octet-stream",
            metadata: [String: String]? = nil
        ) {
            self.bucket = bucket
            self.key = key
            self.contentType = contentType
            self.metadata = metadata
        }

        /// An object that the gateway names, so that clients cannot replace each other's.
        public init(
            bucket: String, keyPrefix: String, keyExtension: String? = nil,
            contentType: String = "application/octet-stream", metadata: [String: String]? = nil
        ) {
            self.bucket = bucket
            self.keyPrefix = keyPrefix
            self.keyExtension = keyExtension
            self.contentType = contentType
            self.metadata = metadata
        }
    }

    /// How a file is uploaded.
    public struct UploadOptions: Sendable, Hashable {
        /// Refuse to replace an object that exists. The file is then sent by one request, up to 5 GiB. On Linux it is
        /// held in memory meanwhile.
        public var createOnly = false
        /// Life in seconds of the link of a file that is sent by one request.
        public var expiresIn: Int?
        /// Bind the MD5 of the file, or of each part. Without it, it is bound if the grant requires it.
        public var md5 = true
        /// Bind the SHA-256 of a file that is sent by one request. Without it, it is bound if the bucket requires it,
        /// that of each part as well. Other buckets cannot bind that of a part: with it, a file that is sent in parts
        /// fails there with `NotEnforceable`.
        public var sha256 = false
        /// Ask the gateway what has arrived.
        public var confirm = true
        /// Go on if the same file has been uploaded in part.
        public var resume = true
        /// Length of parts in bytes, if it differs from ``Sluice/Options/partSize``.
        public var partSize: Int64?
        /// Number of parts that are sent at once, if it differs from ``Sluice/Options/parallel``.
        public var parallel: Int?

        /// Options as they are by default.
        public init() {}
    }

    /// An object to download.
    public struct ObjectRequest: Sendable, Hashable {
        /// The bucket.
        public var bucket: String
        /// The key of the object.
        public var key: String
        /// The version of the object, if not the newest.
        public var versionID: String?
        /// Headers of the store's answer.
        public var response: ResponseOverrides?
        /// Life of the link in seconds.
        public var expiresIn: Int?

        /// The newest version of an object.
        public init(bucket: String, key: String) {
            self.bucket = bucket
            self.key = key
        }
    }

    /// Headers that the store is to answer with.
    public struct ResponseOverrides: Sendable, Hashable, Encodable {
        /// Names the file for browsers that save the object.
        public var filename: String?
        /// `Content-Disposition`.
        public var contentDisposition: String?
        /// `Content-Type`.
        public var contentType: String?
        /// `Content-Language`.
        public var contentLanguage: String?
        /// `Cache-Control`.
        public var cacheControl: String?
        /// `Expires`.
        public var expires: String?
        /// `Content-Encoding`.
        public var contentEncoding: String?

        /// No overrides, or a name under which browsers save the object.
        public init(filename: String? = nil) {
            self.filename = filename
        }
    }

    /// A request for a link that uploads or downloads, at the bucket's default address; see `POST /v1/presigned-urls`.
    public struct LinkRequest: Sendable, Hashable, Encodable {
        /// What a link permits.
        public enum Action: String, Sendable, Encodable {
            /// To upload an object.
            case putObject = "PutObject"
            /// To download an object.
            case getObject = "GetObject"
        }

        /// What the link permits.
        public var action: Action
        /// `HEAD` for a link that only tells of an object. By default the method of the action.
        public var method: String?
        /// The bucket.
        public var bucket: String
        /// The key of the object. Absent if the gateway names the object.
        public var key: String?
        /// The gateway names the object `<keyPrefix><UUIDv7>[.<keyExtension>]`.
        public var keyPrefix: String?
        /// The end of the name that the gateway gives, without a dot.
        public var keyExtension: String?
        /// The type of the object to upload. Uploads need it.
        public var contentType: String?
        /// The MD5 of the bytes to upload, in base64.
        public var contentMD5: String?
        /// The SHA-256 of the bytes to upload, in base64.
        public var checksumSHA256: String?
        /// The length of the object to upload, in bytes.
        public var contentLength: Int64?
        /// The object's own metadata.
        public var metadata: [String: String]?
        /// `*`: the store refuses to replace an object that exists.
        public var ifNoneMatch: String?
        /// The version of the object to download.
        public var versionID: String?
        /// Headers of the store's answer to a download.
        public var response: ResponseOverrides?
        /// What Alibaba OSS makes of an image or a video before it answers.
        public var process: String?
        /// Life of the link in seconds.
        public var expiresIn: Int?

        /// A link for an upload.
        public init(_ target: Target) {
            action = .putObject
            bucket = target.bucket
            key = target.key
            keyPrefix = target.keyPrefix
            keyExtension = target.keyExtension
            contentType = target.contentType
            metadata = target.metadata
        }

        /// A link for a download.
        public init(_ object: ObjectRequest) {
            action = .getObject
            bucket = object.bucket
            key = object.key
            versionID = object.versionID
            response = object.response
            expiresIn = object.expiresIn
        }
    }

    /// A request for the link of a part.
    public struct PartRequest: Sendable, Hashable, Encodable {
        /// The number of the part, from 1 to 10,000.
        public var partNumber: Int
        /// The MD5 of the part, in base64.
        public var contentMD5: String?
        /// The SHA-256 of the part, in base64. Only buckets that require it can bind it.
        public var checksumSHA256: String?
        /// The length of the part in bytes.
        public var contentLength: Int64?

        /// A part of this number.
        public init(partNumber: Int) {
            self.partNumber = partNumber
        }
    }

    /// A request for a form, as `POST /v1/post-policies` takes it. Set one of `key`, `keyPrefix` and `keyStartsWith`.
    public struct FormRequest: Sendable, Hashable, Encodable {
        /// The bucket.
        public var bucket: String
        /// The key of the object.
        public var key: String?
        /// The gateway names the object `<keyPrefix><UUIDv7>[.<keyExtension>]`.
        public var keyPrefix: String?
        /// The end of the name that the gateway gives, without a dot.
        public var keyExtension: String?
        /// The beginning of the key, which the client completes.
        public var keyStartsWith: String?
        /// The types that the object may have. Only Alibaba OSS takes several.
        public var contentTypes: [String]
        /// The least length in bytes.
        public var minBytes: Int64?
        /// The greatest length in bytes.
        public var maxBytes: Int64
        /// Life of the form in seconds.
        public var expiresIn: Int?
        /// The object's own metadata.
        public var metadata: [String: String]?
        /// The status with which the store answers: 200, 201 or 204.
        public var successActionStatus: Int?

        /// A form for files up to a length.
        public init(bucket: String, contentTypes: [String], maxBytes: Int64) {
            self.bucket = bucket
            self.contentTypes = contentTypes
            self.maxBytes = maxBytes
        }
    }
}

/// What `POST /v1/multipart-uploads` takes.
struct PartsStart: Encodable, Sendable {
    let target: Sluice.Target
    let contentLength: Int64?

    private enum Key: String, CodingKey {
        case contentLength
    }

    func encode(to encoder: any Encoder) throws {
        try target.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(contentLength, forKey: .contentLength)
    }
}

/// What `POST /v1/multipart-uploads/{id}/parts` takes.
struct PartsRequest: Encodable, Sendable {
    let parts: [Sluice.PartRequest]
    let expiresIn: Int?
}

/// A part in the list of a completion.
struct PartTag: Encodable, Sendable {
    let partNumber: Int
    let etag: String
}

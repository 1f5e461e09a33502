public import FoundationEssentials

/// A bucket that the gateway signs for.
public struct Bucket: Sendable, Equatable {
    /// Where the bucket's name appears in a URL.
    public enum Addressing: String, Sendable, CaseIterable, Codable {
        /// `bucket.endpoint/key`.
        case virtual
        /// `endpoint/bucket/key`.
        case path
        /// The host of the endpoint identifies the bucket: `endpoint/key`.
        case cname
    }

    /// The signing schemes. The raw values are the names in the documentation and the database.
    public enum Scheme: String, Sendable, CaseIterable, Codable {
        /// AWS Signature Version 4.
        case awsV4 = "aws-v4"
        /// AWS Signature Version 2, for old stores.
        case awsV2 = "aws-v2"
        /// Alibaba OSS, signature version 4.
        case ossV4 = "oss-v4"
        /// Alibaba OSS, signature version 1.
        case ossV1 = "oss-v1"
        /// Google Cloud Storage, version 4, signed with the key of a service account.
        case gcsV4RSA = "gcs-v4-rsa"
        /// Google Cloud Storage, version 4, signed with an HMAC key.
        case gcsV4HMAC = "gcs-v4-hmac"
        /// Google Cloud Storage, version 2, signed with the key of a service account.
        case gcsV2RSA = "gcs-v2-rsa"
    }

    /// The vendor of the store. It takes no part in decisions. It determines which schemes are available and what the
    /// defaults are, and lists show it.
    public enum Provider: String, Sendable, CaseIterable, Codable {
        /// Amazon S3.
        case aws
        /// Any other store with an S3-compatible API.
        case s3
        /// Alibaba OSS.
        case oss
        /// Google Cloud Storage.
        case gcs
    }

    /// Name of the bucket, both in requests and grants and at the store.
    public var name: BucketName
    /// The vendor of the store.
    public var provider: Provider
    /// Origin of the store, `https://host[:port]`, without the bucket's name. The gateway itself calls it.
    public var endpoint: String
    /// Addresses that links name in place of ``endpoint``.
    public var publicEndpoints: [PublicEndpoint.Name: PublicEndpoint]
    /// Region of the credential scope, for example `eu-west-1`. For Google Cloud Storage, the location or `auto`.
    public var region: String
    /// Where the bucket's name appears in a URL.
    public var addressing: Addressing
    /// The signing scheme.
    public var scheme: Scheme
    /// Identifier of the credential that signs.
    public var credentialID: UUID
    /// Lifetime of a URL if the request states none, in seconds.
    public var defaultTTL: Int
    /// Longest lifetime of a URL, in seconds; 1…604,800.
    public var maxTTL: Int
    /// Whether the gateway may issue an upload that the scheme cannot limit in size. The answer then says `enforcedBy:
    /// none`.
    public var allowsUnenforcedSize: Bool
    /// Whether `GET /v1/objects/{bucket}/{key}` redirects to objects of the bucket.
    public var allowsRedirects: Bool
    /// Whether others than the gateway, such as lifecycle rules, delete objects of the bucket. If so, a missing object
    /// does not prove that its upload never arrived.
    public var externalDeletions: Bool
    /// Whether the store obeys vendor headers that a signature does not list, as Ceph does. Upload links then bind
    /// further headers that make such headers ineffective.
    public var honoursUnsignedHeaders: Bool
    /// Whether sessions upload to OSS although their holders may then make symbolic links to any object of the bucket,
    /// which links for downloads follow.
    public var permitsSymlinks: Bool
    /// The request that Alibaba OSS sends when an upload by a link is complete: base64 of the JSON of its `callback`
    /// parameter.
    public var callback: String?
    /// Further variables of that request: base64 of the JSON of the `callback-var` parameter.
    public var callbackVar: String?
    /// The encryption that uploads request of the store, if any.
    public var encryption: ServerSideEncryption?
    /// Origins of the web pages that use links to the bucket, `scheme://host[:port]`. The store must permit them, which
    /// the gateway checks on demand.
    public var allowedOrigins: [String]
    /// Longest lifetime of temporary credentials, in seconds; 0 if the bucket has none.
    public var maxSessionTTL: Int
    /// The protocols of existing clients that the bucket opens.
    public var protocols: Set<ClientProtocol>
    /// The window within which download links are the same, in seconds; 0 if each link begins when it is issued.
    public var stableLinkWindow: Int
    /// When the bucket was created. The store of rows sets it.
    public var createdAt: Date
    /// How links are signed, if this is the bucket as a content delivery network names it, by ``at(_:)``. ``scheme`` is
    /// that of the store behind it.
    var cdn: CDNSigning?

    /// Creates a bucket.
    public init(
        name: BucketName, provider: Provider, endpoint: String, region: String, addressing: Addressing, scheme: Scheme,
        credentialID: UUID, defaultTTL: Int = 900, maxTTL: Int = 604_800, allowsUnenforcedSize: Bool = false,
        allowsRedirects: Bool = false, externalDeletions: Bool = false, honoursUnsignedHeaders: Bool = false,
        permitsSymlinks: Bool = false, callback: String? = nil, callbackVar: String? = nil,
        encryption: ServerSideEncryption? = nil, allowedOrigins: [String] = [],
        maxSessionTTL: Int = SessionRole.durations.upperBound,
        protocols: Set<ClientProtocol> = [], publicEndpoints: [PublicEndpoint.Name: PublicEndpoint] = [:],
        stableLinkWindow: Int = 0, createdAt: Date
    ) {
        self.name = name
        self.provider = provider
        self.endpoint = endpoint
        self.region = region
        self.addressing = addressing
        self.scheme = scheme
        self.credentialID = credentialID
        self.defaultTTL = defaultTTL
        self.maxTTL = maxTTL
        self.allowsUnenforcedSize = allowsUnenforcedSize
        self.allowsRedirects = allowsRedirects
        self.externalDeletions = externalDeletions
        self.honoursUnsignedHeaders = honoursUnsignedHeaders
        self.permitsSymlinks = permitsSymlinks
        self.callback = callback
        self.callbackVar = callbackVar
        self.encryption = encryption
        self.allowedOrigins = allowedOrigins
        self.maxSessionTTL = maxSessionTTL
        self.protocols = protocols
        self.publicEndpoints = publicEndpoints
        self.stableLinkWindow = stableLinkWindow
        self.createdAt = createdAt
    }
}

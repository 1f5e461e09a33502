public import Foundation

/// A bucket that the gateway signs for.
public struct Bucket: Sendable, Equatable {
    /// How the bucket's name reaches the store.
    public enum Addressing: String, Sendable, CaseIterable, Codable {
        /// `bucket.endpoint/key`.
        case virtual
        /// `endpoint/bucket/key`.
        case path
        /// The endpoint's host stands for the bucket.
        case cname
    }

    /// The signing schemes by their names; the raw values are those of the documentation and the database.
    public enum Scheme: String, Sendable, CaseIterable, Codable {
        /// AWS Signature Version 4.
        case awsV4 = "aws-v4"
        /// AWS Signature Version 2, for old stores.
        case awsV2 = "aws-v2"
        /// Alibaba OSS, version 4.
        case ossV4 = "oss-v4"
        /// Alibaba OSS, version 1.
        case ossV1 = "oss-v1"
        /// Google Cloud Storage, version 4, with the key of a service account.
        case gcsV4RSA = "gcs-v4-rsa"
        /// Google Cloud Storage, version 4, with an HMAC key.
        case gcsV4HMAC = "gcs-v4-hmac"
        /// Google Cloud Storage, version 2, with the key of a service account.
        case gcsV2RSA = "gcs-v2-rsa"
    }

    /// Who keeps the bytes; decides nothing by itself, fixes which schemes there are, defaults, and shows in lists.
    public enum Provider: String, Sendable, CaseIterable, Codable {
        /// Amazon S3.
        case aws
        /// Any other store that speaks S3.
        case s3
        /// Alibaba OSS.
        case oss
        /// Google Cloud Storage.
        case gcs
    }

    /// The name that requests and grants use, and the store's own name of the bucket.
    public var name: BucketName
    /// Who keeps the bytes.
    public var provider: Provider
    /// Origin of the store, `https://host[:port]`, without a bucket.
    public var endpoint: String
    /// Region of the credential scope, for example `eu-west-1`; of Google Cloud Storage the location or `auto`.
    public var region: String
    /// How the bucket's name reaches the store.
    public var addressing: Addressing
    /// The signing scheme.
    public var scheme: Scheme
    /// The credential that signs.
    public var credentialID: UUID
    /// Life of a URL for which none was asked, in seconds.
    public var defaultTTL: Int
    /// Longest life of a URL, in seconds; 1…604,800.
    public var maxTTL: Int
    /// Whether a limited size may be answered with `enforcedBy: none` where the scheme cannot bind it.
    public var allowsUnenforcedSize: Bool
    /// Whether `GET /v1/objects/{bucket}/{key}` leads to objects of the bucket.
    public var allowsRedirects: Bool
    /// Whether objects are deleted there by others than the gateway, such as lifecycle rules; a missing object then proves nothing
    /// of an upload.
    public var externalDeletions: Bool
    /// Whether the store obeys headers of its own that a signature does not list, as Ceph does; upload links then bind others that
    /// keep those out.
    public var honoursUnsignedHeaders: Bool
    /// What Alibaba OSS calls when an upload by a link is complete: base64 of the JSON of its `callback` parameter.
    public var callback: String?
    /// Further variables of that call: base64 of the JSON of the `callback-var` parameter.
    public var callbackVar: String?
    /// Origins of the pages that use links to the bucket, `scheme://host[:port]`; the store must let them, which is checked
    /// on demand.
    public var allowedOrigins: [String]
    /// Longest life of temporary credentials, in seconds; 0 where there are none.
    public var maxSessionTTL: Int
    /// Set by the store of rows.
    public var createdAt: Date

    /// Puts a bucket together.
    public init(
        name: BucketName, provider: Provider, endpoint: String, region: String, addressing: Addressing, scheme: Scheme,
        credentialID: UUID, defaultTTL: Int = 900, maxTTL: Int = 604_800, allowsUnenforcedSize: Bool = false,
        allowsRedirects: Bool = false, externalDeletions: Bool = false, honoursUnsignedHeaders: Bool = false,
        callback: String? = nil, callbackVar: String? = nil, allowedOrigins: [String] = [],
        maxSessionTTL: Int = SessionRole.durations.upperBound, createdAt: Date
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
        self.callback = callback
        self.callbackVar = callbackVar
        self.allowedOrigins = allowedOrigins
        self.maxSessionTTL = maxSessionTTL
        self.createdAt = createdAt
    }
}

/// What a store gave us to sign with.
public struct StorageCredential: Sendable, Equatable {
    /// What the secret is.
    public enum Kind: String, Sendable, CaseIterable, Codable {
        /// An access key and its secret, a text.
        case accessKey = "access-key"
        /// A service account of Google Cloud: its e-mail address, and its private RSA key in PEM.
        case serviceAccount = "service-account"
    }

    /// Identifier.
    public var id: UUID
    /// A name for people, unique.
    public var name: String
    /// What the secret is.
    public var secretKind: Kind
    /// Public half: the access key, or the e-mail address of the service account.
    public var accessKeyID: String
    /// Secret half; sealed at rest, never shown again.
    public var secretAccessKey: Secret<String>
    /// Session token of temporary credentials.
    public var sessionToken: Secret<String>?
    /// When temporary credentials end; a URL made with them ends no later.
    public var expiresAt: Date?
    /// The role that it assumes to open sessions for app users, if any.
    public var sessionRole: SessionRole?
    /// Set by the store of rows.
    public var createdAt: Date
    /// The key that this one took the place of; set by the store of rows.
    public var previousKey: PreviousKey?

    /// A key that was replaced.
    public struct PreviousKey: Sendable, Equatable {
        /// Public half.
        public var accessKeyID: String
        /// Until when URLs may live that it signed; the store must know it so long.
        public var neededUntil: Date

        /// Puts both together.
        public init(accessKeyID: String, neededUntil: Date) {
            self.accessKeyID = accessKeyID
            self.neededUntil = neededUntil
        }
    }

    /// Puts a credential together.
    public init(
        id: UUID, name: String, secretKind: Kind = .accessKey, accessKeyID: String, secretAccessKey: Secret<String>,
        sessionToken: Secret<String>? = nil, expiresAt: Date? = nil, sessionRole: SessionRole? = nil, createdAt: Date,
        previousKey: PreviousKey? = nil
    ) {
        self.id = id
        self.name = name
        self.secretKind = secretKind
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiresAt = expiresAt
        self.sessionRole = sessionRole
        self.createdAt = createdAt
        self.previousKey = previousKey
    }
}

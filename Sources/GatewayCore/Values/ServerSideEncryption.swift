/// The encryption that uploads request of the store.
///
/// The API and the database share this JSON form.
public struct ServerSideEncryption: Sendable, Hashable, Codable {
    /// The algorithms, by the names that the stores give them.
    public enum Algorithm: String, Sendable, CaseIterable, Codable {
        /// With keys that the store keeps itself.
        case aes256 = "AES256"
        /// With a key of AWS KMS.
        case awsKMS = "aws:kms"
        /// With a key of AWS KMS, in two layers.
        case awsKMSTwice = "aws:kms:dsse"
        /// With a key of Alibaba Cloud's KMS.
        case alibabaKMS = "KMS"
    }

    /// The algorithm.
    public var algorithm: Algorithm
    /// Name of the key, as the store expects it, in 1…2,048 visible ASCII characters; `nil` for the store's default.
    public var keyID: String?

    /// Creates an encryption.
    public init(algorithm: Algorithm, keyID: String? = nil) {
        self.algorithm = algorithm
        self.keyID = keyID
    }
}

extension Bucket.Provider {
    /// How uploads request encryption; `nil` if they cannot. At Google Cloud Storage, the bucket alone decides.
    var encryption: EncryptionWords? {
        switch self {
        case .aws, .s3: .amazon
        case .oss: .alibaba
        case .gcs: nil
        }
    }
}

/// The words with which uploads request encryption.
struct EncryptionWords {
    let algorithms: [ServerSideEncryption.Algorithm]
    let algorithmHeader: String
    let keyHeader: String

    static let amazon = EncryptionWords(
        algorithms: [.aes256, .awsKMS, .awsKMSTwice], algorithmHeader: "x-amz-server-side-encryption",
        keyHeader: "x-amz-server-side-encryption-aws-kms-key-id")
    static let alibaba = EncryptionWords(
        algorithms: [.aes256, .alibabaKMS], algorithmHeader: "x-oss-server-side-encryption",
        keyHeader: "x-oss-server-side-encryption-key-id")
}

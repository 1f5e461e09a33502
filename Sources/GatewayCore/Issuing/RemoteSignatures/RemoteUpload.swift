/// A principal and the key that it uploads to.
public struct RemoteUpload: Sendable, Hashable {
    /// The principal that uploads.
    public let principal: Principal
    /// The bucket.
    public let bucket: BucketName
    /// The object key.
    public let key: ObjectKey

    /// Creates the identification of an upload.
    public init(principal: Principal, bucket: BucketName, key: ObjectKey) {
        self.principal = principal
        self.bucket = bucket
        self.key = key
    }
}

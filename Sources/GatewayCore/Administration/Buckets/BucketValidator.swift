/// Tests a bucket and its credentials against the store.
public protocol BucketValidator: Sendable {
    /// Writes, reads and removes a probe object, and sends the requests that pages of the bucket's origins would send.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - credential: The credential that signs for the bucket at its store.
    ///   - cdnCredential: The credential that signs links to the bucket's CDN, if it names one.
    ///   - probe: The key of the probe object.
    /// - Returns: The findings with advice. Every failure is a finding, never an error.
    func validate(
        _ bucket: Bucket, with credential: StorageCredential, _ cdnCredential: StorageCredential?, probe: ObjectKey
    ) async -> BucketValidation
}

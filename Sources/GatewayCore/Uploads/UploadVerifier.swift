/// Finds out the result of permitted uploads.
public protocol UploadVerifier: Sendable {
    /// Asks the store for the current object at a key.
    ///
    /// - Returns: The store's answer; `nil` if the store can never be asked.
    /// - Throws: The reason why nothing is known. Asking later may succeed.
    func look(at key: ObjectKey, in bucket: BucketName) async throws(StoreFailure) -> StoreLook?
}

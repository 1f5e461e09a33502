public import Foundation

/// Finds out what became of an upload that was permitted.
public protocol UploadVerifier: Sendable {
    /// Asks the store, once the URL is dead, how many bytes the upload left.
    ///
    /// - Parameters:
    ///   - bucket: The bucket of the issuance.
    ///   - key: Its key.
    ///   - issuance: Its identifier.
    /// - Returns: Bytes that count for the issuance, 0 where nothing was stored; `nil` where that can never be told, so that
    ///   what was reserved stays counted.
    /// - Throws: Where the store does not answer, so that asking later may help.
    func landedBytes(bucket: BucketName, key: ObjectKey, issuance: UUID) async throws -> Int64?
}

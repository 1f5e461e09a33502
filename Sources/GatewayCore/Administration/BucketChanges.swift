import Foundation
import LibCrypto

/// Creates and changes buckets, and keeps credentials from signing for endpoints that their owners did not mean.
///
/// A credential comes to sign for another endpoint only where somebody shows its secret. Whoever may change rows, but
/// does not know the secret, could otherwise have requests that are signed with it sent to a host of their own.
///
/// The secret need not be shown again for an endpoint that the credential signs for already. Nor does the one admin who
/// entered it have to show it, as long as the credential has signed for no bucket.
public struct BucketChanges: Sendable {
    private let buckets: any AdminStore<Bucket>
    private let credentials: any AdminStore<StorageCredential>
    private let dependency: any CredentialDependency

    /// Puts the use case together.
    public init(
        buckets: any AdminStore<Bucket>, credentials: any AdminStore<StorageCredential>,
        dependency: any CredentialDependency
    ) {
        self.buckets = buckets
        self.credentials = credentials
        self.dependency = dependency
    }

    /// Creates a bucket.
    ///
    /// - Parameters:
    ///   - bucket: The row; it is validated here.
    ///   - secret: The secret of its credential, where the admin shows it.
    ///   - change: Who creates it.
    /// - Throws: `invalidArgument` (field `secretAccessKey` where the secret is missing or another one),
    ///   `alreadyExists`, `conflict` (its credential does not exist), `unavailable`.
    public func create(
        _ bucket: Bucket, showing secret: Secret<String>?, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Bucket> {
        let bucket = try bucket.validated()
        try await check(secret, for: bucket, over: nil, by: change.actor)
        return try await buckets.create(bucket, by: change)
    }

    /// Puts a row in the place of a bucket, if that is still of the revision that was read.
    ///
    /// - Parameters:
    ///   - bucket: The new row; it is validated here.
    ///   - old: The bucket as it was read.
    ///   - secret: The secret of the new row's credential, where the admin shows it.
    ///   - change: Who changes it.
    /// - Throws: `invalidArgument` (field `secretAccessKey` where the secret is missing or another one), `notFound`,
    ///   `preconditionFailed`, `conflict` (the credential does not exist), `unavailable`.
    public func update(
        _ bucket: Bucket, over old: Stored<Bucket>, showing secret: Secret<String>?, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Bucket> {
        let bucket = try bucket.validated()
        try await check(secret, for: bucket, over: old.row, by: change.actor)
        return try await buckets.update(bucket, from: old.revision, by: change)
    }

    private func check(
        _ secret: Secret<String>?, for new: Bucket, over old: Bucket?, by actor: Principal
    ) async throws(GatewayError) {
        if let old, old.endpoint == new.endpoint, old.credentialID == new.credentialID { return }
        do throws(GatewayError) {
            if let secret {
                try await compare(secret, with: new.credentialID)
            } else {
                let use = try await dependency.use(of: new.credentialID, at: new.endpoint)
                guard use.signsForEndpoint || use.soleMaker == actor else {
                    throw Self.invalid("The credential does not sign for this endpoint yet: its secret is needed.")
                }
            }
        } catch {
            guard case .notFound = error else { throw error }
            // The store refuses a new row without its credential.
            if old != nil { throw .conflict(reason: "The credential does not exist.") }
        }
    }

    private func compare(_ secret: Secret<String>, with credentialID: UUID) async throws(GatewayError) {
        let known = try await credentials.get(credentialID.lowercaseText).secretAccessKey
        guard constantTimeEqual(Array(secret.reveal().utf8), Array(known.reveal().utf8)) else {
            throw Self.invalid("This is not the secret of the credential.")
        }
    }

    private static func invalid(_ reason: String) -> GatewayError {
        .invalidArgument(field: "secretAccessKey", reason: reason)
    }
}

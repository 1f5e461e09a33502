import FoundationEssentials
import LibCrypto

/// Creates and changes buckets, and prevents credentials from signing for endpoints that their owners did not intend.
///
/// To make a credential sign for another endpoint, an admin must present its secret. Otherwise anyone who can change
/// rows, but does not know the secret, could have requests signed with it and sent to a host of their own. The same
/// holds for public endpoints: the gateway sends requests there when it validates a bucket, and users do with links.
///
/// The secret is not required for an endpoint that the credential already signs for. Nor is it required from the admin
/// who entered it, as long as no other admin has changed the credential and it has never signed for a bucket.
public struct BucketChanges: Sendable {
    private let buckets: any AdminStore<Bucket>
    private let credentials: any AdminStore<StorageCredential>
    private let dependency: any CredentialDependency

    /// Creates the use case from its parts.
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
    ///   - bucket: The new row; this method validates it.
    ///   - secret: The secret of the bucket's credential, if the admin presents it.
    ///   - change: The admin and request that create the bucket.
    /// - Throws: `invalidArgument` (field `secretAccessKey` if the secret is missing or wrong), `alreadyExists`,
    ///   `conflict` if the credential does not exist, `unavailable`.
    public func create(
        _ bucket: Bucket, showing secret: Secret<String>?, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Bucket> {
        let bucket = try bucket.validated()
        try await check(secret, for: bucket, over: nil, by: change.actor)
        return try await buckets.create(bucket, by: change)
    }

    /// Replaces a bucket's row, if it still has the revision that was read.
    ///
    /// - Parameters:
    ///   - bucket: The new row; this method validates it.
    ///   - old: The bucket as it was read.
    ///   - secret: The secret of the new row's credential, if the admin presents it.
    ///   - change: The admin and request that change the bucket.
    /// - Throws: `invalidArgument` (field `secretAccessKey` if the secret is missing or wrong), `notFound`,
    ///   `preconditionFailed`, `conflict` if the credential does not exist, `unavailable`.
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
        let known = old.map { $0.credentialID == new.credentialID ? $0.origins : [] } ?? []
        let origins = new.origins.subtracting(known).sorted()
        guard !origins.isEmpty else { return }
        do throws(GatewayError) {
            if let secret {
                try await compare(secret, with: new.credentialID)
            } else {
                for origin in origins {
                    let use = try await dependency.use(of: new.credentialID, at: origin)
                    guard use.signsForEndpoint || use.soleMaker == actor else {
                        throw Self.invalid(
                            "The credential does not yet sign for this endpoint, so its secret is required.")
                    }
                }
            }
        } catch {
            guard case .notFound = error else { throw error }
            // For a new row, the store itself reports a missing credential.
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

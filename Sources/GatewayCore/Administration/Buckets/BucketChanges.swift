import FoundationEssentials
import LibCrypto

/// Creates and changes buckets, and prevents credentials from signing for endpoints that their owners did not intend.
///
/// To make a credential sign for another endpoint, an admin must present its secret. Otherwise anyone who can change
/// rows, but does not know the secret, could have requests signed with it and sent to a host of their own. The same
/// holds for public endpoints: the gateway sends requests there when it validates a bucket, and users do with links.
///
/// A content delivery network stands for one bucket, and the links to it do not name the bucket: whoever could have
/// them signed for a bucket of their own would read the other one. So the secret of the credential that signs them is
/// required for every new address and every other credential.
///
/// The secret is not required for an endpoint that the credential already signs for. Nor is it required from the admin
/// who entered it, as long as no other admin has changed the credential and it has never signed for a bucket. The admin
/// must come by the same issuer or API key as then: another admin can make a key with the same name. An issuer must not
/// have changed since: another admin can give it keys of their own.
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
    ///   - bucket: The new row.
    ///   - secrets: The secrets that the admin presents.
    ///   - change: The admin and request that create the bucket.
    /// - Throws: `invalidArgument` (field `secretAccessKey` or `cdnSecret` if that secret is missing or wrong),
    ///   `alreadyExists`, `conflict` if a credential does not exist, `unavailable`.
    public func create(
        _ bucket: Validated<Bucket>, showing secrets: ShownSecrets, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Bucket> {
        try await check(secrets, for: bucket.row, over: nil, by: change)
        return try await buckets.create(bucket, by: change)
    }

    /// Replaces a bucket's row, if it still has the revision that was read.
    ///
    /// - Parameters:
    ///   - bucket: The new row.
    ///   - old: The bucket as it was read.
    ///   - secrets: The secrets that the admin presents.
    ///   - change: The admin and request that change the bucket.
    /// - Throws: `invalidArgument` (field `secretAccessKey` or `cdnSecret` if that secret is missing or wrong),
    ///   `notFound`, `preconditionFailed`, `conflict` if a credential does not exist, `unavailable`.
    public func update(
        _ bucket: Validated<Bucket>, over old: Stored<Bucket>, showing secrets: ShownSecrets, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Bucket> {
        try await check(secrets, for: bucket.row, over: old.row, by: change)
        return try await buckets.update(bucket, from: old.revision, by: change)
    }

    private func check(
        _ secrets: ShownSecrets, for new: Bucket, over old: Bucket?, by change: ChangeContext
    ) async throws(GatewayError) {
        do throws(GatewayError) {
            try await checkStore(secrets.secretAccessKey, for: new, over: old, by: change)
            try await checkCDN(secrets.cdnSecret, for: new, over: old, by: change)
        } catch {
            guard case .notFound = error else { throw error }
            // For a new row, the store itself reports a missing credential.
            if old != nil { throw .conflict(reason: "The credential does not exist.") }
        }
    }

    private func checkStore(
        _ secret: Secret<String>?, for new: Bucket, over old: Bucket?, by change: ChangeContext
    ) async throws(GatewayError) {
        let known = old.map { $0.credentialID == new.credentialID ? $0.origins : [] } ?? []
        let origins = new.origins.subtracting(known).sorted()
        guard !origins.isEmpty else { return }
        if let secret { return try await compare(secret, with: new.credentialID, "secretAccessKey") }
        for origin in origins {
            let use = try await dependency.use(of: new.credentialID, at: origin)
            guard use.signsForEndpoint || use.isSoleMaker(change) else {
                throw .invalidArgument(
                    field: "secretAccessKey",
                    reason: "The credential does not yet sign for this endpoint, so its secret is required.")
            }
        }
    }

    private func checkCDN(
        _ secret: Secret<String>?, for new: Bucket, over old: Bucket?, by change: ChangeContext
    ) async throws(GatewayError) {
        guard let place = new.at(.cdn), let kind = place.cdn?.scheme.credentialKind else { return }
        let old = old?.at(.cdn)
        if old?.credentialID != place.credentialID || old?.cdn?.scheme.credentialKind != kind {
            let found = try await credentials.get(place.credentialID.lowercaseText).kind
            try require(
                found == kind, "publicEndpoints.cdn.signing.credentialID",
                "The scheme requires a credential of the kind '\(kind.rawValue)'.")
        }
        if let old, old.hasCDNLinks, old.credentialID == place.credentialID, old.endpoint == place.endpoint,
            old.addressing == place.addressing
        {
            return
        }
        if let secret { return try await compare(secret, with: place.credentialID, "cdnSecret") }
        guard try await dependency.use(of: place.credentialID, at: place.endpoint).isSoleMaker(change) else {
            throw .invalidArgument(
                field: "cdnSecret",
                reason: "The credential does not yet sign for this CDN and bucket, so its secret is required.")
        }
    }

    private func compare(
        _ secret: Secret<String>, with credentialID: UUID, _ field: String
    ) async throws(GatewayError) {
        let known = try await credentials.get(credentialID.lowercaseText).secretAccessKey
        guard constantTimeEqual(Array(secret.reveal().utf8), Array(known.reveal().utf8)) else {
            throw .invalidArgument(field: field, reason: "This is not the secret of the credential.")
        }
    }
}

/// The secrets that an admin presents to make credentials sign for a bucket.
public struct ShownSecrets: Sendable {
    /// The secret of the bucket's credential.
    public var secretAccessKey: Secret<String>?
    /// The secret of the credential that signs links to the bucket's CDN; of a key pair, its private key.
    public var cdnSecret: Secret<String>?

    /// Names what an admin presents.
    public init(secretAccessKey: Secret<String>? = nil, cdnSecret: Secret<String>? = nil) {
        self.secretAccessKey = secretAccessKey
        self.cdnSecret = cdnSecret
    }
}

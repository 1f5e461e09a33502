public import Foundation
public import GatewayCore
import LibCurl
import Signing

/// Asks stores what became of uploads, by a signed HEAD.
public struct StoredUploads: UploadVerifier {
    private let client: OutboundClient
    private let cache: PolicyCache
    private let now: @Sendable () -> Date

    private static let urlLife = 60

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - client: Reaches the stores.
    ///   - cache: Holds the rows of buckets and credentials.
    ///   - now: The clock of the signatures.
    public init(client: OutboundClient, cache: PolicyCache, now: @escaping @Sendable () -> Date) {
        self.client = client
        self.cache = cache
        self.now = now
    }

    /// Asks for the length of the object that lies under the key now.
    ///
    /// It cannot be told which issuance an object came by: one that is replaced or removed before this call counts as what is
    /// there instead.
    public func landedBytes(bucket: BucketName, key: ObjectKey, issuance: UUID) async throws -> Int64? {
        // Without its row nobody will ever be able to ask the store.
        guard let (bucket, credential) = try await cache.location(of: bucket) else { return nil }
        let answer = try await client.send(.head, try url(of: key, in: bucket, signedWith: credential), maxBytes: 0)
        switch answer.status {
        case 200:
            guard let length = answer.contentLength else { throw OutboundError.status(200) }
            return length
        case 404: return 0
        default: throw OutboundError.status(answer.status)
        }
    }

    private func url(
        of key: ObjectKey, in bucket: Bucket, signedWith credential: StorageCredential
    ) throws -> String {
        guard let instant = SigningInstant(epochSeconds: Int64(now().timeIntervalSince1970)) else {
            throw GatewayError.unavailable(retryAfter: 60)
        }
        let addressing: Signing.Addressing =
            switch bucket.addressing {
            case .virtual: .virtual
            case .path: .path
            case .cname: .cname
            }
        let request = PresignRequest(
            method: "HEAD",
            address: try BucketAddress(
                endpoint: StoreEndpoint(bucket.endpoint), bucket: bucket.name.rawValue, addressing: addressing),
            key: key.rawValue, expiresInSeconds: Self.urlLife
        )
        let signer = SigningCredential(
            accessKeyID: credential.accessKeyID, secretAccessKey: credential.secretAccessKey.reveal(),
            securityToken: credential.sessionToken?.reveal()
        )
        return switch bucket.scheme {
        case .awsV4:
            try AWSV4.presignedURL(
                request, with: SigningKeyV4(signer, scope: .aws(region: bucket.region), at: instant), at: instant)
        }
    }
}

public import Foundation
public import GatewayCore
import LibCurl

/// Asks stores what became of uploads, by a signed HEAD.
public struct StoredUploads: UploadVerifier {
    private let client: OutboundClient
    private let cache: PolicyCache
    private let now: @Sendable () -> Date
    private let signer = URLSigner()

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
        let url = try signer.url("HEAD", of: key, in: bucket, with: credential, expiresIn: Self.urlLife, at: now())
        let answer = try await client.send(.head, url.reveal(), maxBytes: 0)
        switch answer.status {
        case 200:
            guard let length = answer.contentLength else { throw OutboundError.status(200) }
            return length
        case 404: return 0
        default: throw OutboundError.status(answer.status)
        }
    }
}

import Foundation
import LibCrypto
import Signing
import Synchronization

/// Signs what a permit says. Keys are derived once per credential, region and day, addresses once per bucket.
final class URLSigner: Sendable {
    private struct Address {
        let endpoint: String
        let addressing: Bucket.Addressing
        let address: BucketAddress
    }

    private static let maxAddresses = 1024

    private let keys = SigningKeyCache(capacity: 256)
    private let addresses = Mutex<[BucketName: Address]>([:])

    /// Signs.
    ///
    /// - Throws: `unavailable` when the rows of bucket or credential cannot be signed with, which only an admin can mend.
    func url(for request: IssueRequest, by permit: Permit) throws(GatewayError) -> Secret<String> {
        do {
            return try Secret(presign(request, by: permit))
        } catch {
            throw .unavailable(retryAfter: 60)
        }
    }

    private func presign(_ request: IssueRequest, by permit: Permit) throws -> String {
        let bucket = permit.bucket
        guard let instant = SigningInstant(epochSeconds: Int64(permit.signedAt.timeIntervalSince1970)) else {
            throw GatewayError.unavailable(retryAfter: 60)
        }
        let presignRequest = PresignRequest(
            method: request.method.rawValue,
            address: try address(of: bucket),
            key: request.key.rawValue,
            headers: permit.headers,
            query: permit.query,
            expiresInSeconds: permit.expiresIn
        )
        let credential = SigningCredential(
            accessKeyID: permit.credential.accessKeyID,
            secretAccessKey: permit.credential.secretAccessKey.reveal(),
            securityToken: permit.credential.sessionToken?.reveal()
        )
        return switch bucket.scheme {
        case .awsV4:
            try AWSV4.presignedURL(
                presignRequest,
                with: keys.key(for: credential, scope: .aws(region: bucket.region), at: instant),
                at: instant
            )
        }
    }

    private func address(of bucket: Bucket) throws(SigningError) -> BucketAddress {
        let held = addresses.withLock { $0[bucket.name] }
        if let held, held.endpoint == bucket.endpoint, held.addressing == bucket.addressing { return held.address }
        let address = try BucketAddress(
            endpoint: StoreEndpoint(bucket.endpoint), bucket: bucket.name.rawValue,
            addressing: bucket.addressing.forSigning
        )
        addresses.withLock { addresses in
            if addresses.count >= Self.maxAddresses { addresses.removeAll() }
            addresses[bucket.name] = Address(
                endpoint: bucket.endpoint, addressing: bucket.addressing, address: address
            )
        }
        return address
    }
}

extension Bucket.Addressing {
    /// The same in the signer's terms.
    var forSigning: Signing.Addressing {
        switch self {
        case .virtual: .virtual
        case .path: .path
        case .cname: .cname
        }
    }
}

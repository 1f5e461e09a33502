import Foundation
import LibCrypto
import Signing

/// Signs what a permit says. Keys are derived once per credential, region and day.
struct URLSigner {
    private let keys = SigningKeyCache(capacity: 256)

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
            address: try BucketAddress(
                endpoint: StoreEndpoint(bucket.endpoint),
                bucket: bucket.name.rawValue,
                addressing: bucket.addressing.forSigning
            ),
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
                with: keys.key(for: credential, region: bucket.region, service: "s3", at: instant),
                at: instant
            )
        }
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

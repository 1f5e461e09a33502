public import Foundation
public import Signing
import Synchronization

/// Signs for buckets, each by its scheme. Keys are derived once per bucket and day, addresses put together once per bucket.
public final class URLSigner: Sendable {
    /// What is kept of a bucket: where it is, and the keys of its credential, which are seldom more than one at a time.
    private final class Place: Sendable {
        let endpoint: String
        let addressing: Bucket.Addressing
        let address: BucketAddress
        let keys = SigningKeyCache(capacity: 2)

        init(_ bucket: Bucket) throws(SigningError) {
            endpoint = bucket.endpoint
            addressing = bucket.addressing
            address = try BucketAddress(
                endpoint: StoreEndpoint(bucket.endpoint), bucket: bucket.name.rawValue,
                addressing: bucket.addressing.forSigning
            )
        }
    }

    private static let maxPlaces = 1024

    private let places = Mutex<[BucketName: Place]>([:])

    /// Makes a signer that holds nothing yet.
    public init() {}

    /// Signs what a permit says.
    ///
    /// - Throws: `unavailable` when the rows of bucket or credential cannot be signed with, which only an admin can mend.
    func url(for request: IssueRequest, by permit: Permit) throws(GatewayError) -> Secret<String> {
        try url(
            request.httpMethod, of: request.key, in: permit.bucketRow.bucket, with: permit.credentialRow.credential,
            headers: permit.headers, query: permit.query, expiresIn: permit.expiresIn, at: permit.signedAt
        )
    }

    /// Signs a URL.
    ///
    /// - Parameters:
    ///   - method: Method in upper case.
    ///   - key: The object; `nil` for the bucket itself.
    ///   - bucket: Where it is.
    ///   - credential: The bucket's.
    ///   - headers: Headers that the URL binds and the client must send.
    ///   - query: Parameters that it binds, decoded.
    ///   - expiresIn: Life in seconds.
    ///   - signedAt: When the life begins.
    /// - Throws: `unavailable` when the rows of bucket or credential cannot be signed with, which only an admin can mend.
    public func url(
        _ method: String, of key: ObjectKey?, in bucket: Bucket, with credential: StorageCredential,
        headers: [NamedValue] = [], query: [NamedValue] = [], expiresIn: Int, at signedAt: Date
    ) throws(GatewayError) -> Secret<String> {
        do throws(SigningError) {
            let place = try place(of: bucket)
            let request = PresignRequest(
                method: method, address: place.address, key: key?.rawValue ?? "", headers: headers, query: query,
                expiresInSeconds: expiresIn
            )
            return Secret(
                try presign(
                    request, in: bucket, with: credential.forSigning, from: place.keys, at: Self.instant(signedAt)))
        } catch {
            throw .unavailable(retryAfter: 60)
        }
    }

    private func presign(
        _ request: PresignRequest, in bucket: Bucket, with credential: SigningCredential, from keys: SigningKeyCache,
        at instant: SigningInstant
    ) throws(SigningError) -> String {
        func key(_ scope: CredentialScope) throws(SigningError) -> SigningKeyV4 {
            try keys.key(for: credential, scope: scope, at: instant)
        }
        return switch bucket.scheme {
        case .awsV4: try AWSV4.presignedURL(request, with: key(.aws(region: bucket.region)), at: instant)
        case .awsV2: try AWSV2.presignedURL(request, with: keys.key(for: credential), at: instant)
        case .ossV4: try OSSV4.presignedURL(request, with: key(.oss(region: bucket.region)), at: instant)
        case .ossV1: try OSSV1.presignedURL(request, with: keys.key(for: credential), at: instant)
        case .gcsV4RSA: try GCSV4.presignedURL(request, with: key(.gcsRSA(location: bucket.region)), at: instant)
        case .gcsV4HMAC: try GCSV4.presignedURL(request, with: key(.gcsHMAC(location: bucket.region)), at: instant)
        case .gcsV2RSA: try GCSV2.presignedURL(request, with: keys.key(forServiceAccount: credential), at: instant)
        }
    }

    /// Signs a form.
    func form(
        key: String, fields: [NamedValue], conditions: [PostPolicy.Condition], in bucket: Bucket,
        with credential: StorageCredential, expiresIn: Int, at signedAt: Date
    ) throws(GatewayError) -> SignedPostForm {
        do throws(SigningError) {
            let place = try place(of: bucket)
            let form = PostForm(
                address: place.address, key: key, fields: fields, conditions: conditions, expiresInSeconds: expiresIn
            )
            return try sign(
                form, in: bucket, with: credential.forSigning, from: place.keys, at: Self.instant(signedAt))
        } catch {
            throw .unavailable(retryAfter: 60)
        }
    }

    private func sign(
        _ form: PostForm, in bucket: Bucket, with credential: SigningCredential, from keys: SigningKeyCache,
        at instant: SigningInstant
    ) throws(SigningError) -> SignedPostForm {
        func key(_ scope: CredentialScope) throws(SigningError) -> SigningKeyV4 {
            try keys.key(for: credential, scope: scope, at: instant)
        }
        return switch bucket.scheme {
        case .awsV4: try AWSV4.sign(form, with: key(.aws(region: bucket.region)), at: instant)
        case .ossV4: try OSSV4.sign(form, with: key(.oss(region: bucket.region)), at: instant)
        case .gcsV4RSA: try GCSV4.sign(form, with: key(.gcsRSA(location: bucket.region)), at: instant)
        case .gcsV4HMAC: try GCSV4.sign(form, with: key(.gcsHMAC(location: bucket.region)), at: instant)
        case .ossV1: try OSSV1.sign(form, with: keys.key(for: credential), at: instant)
        case .awsV2, .gcsV2RSA: throw .conditionNotSupported("form")
        }
    }

    private static func instant(_ date: Date) throws(SigningError) -> SigningInstant {
        guard let instant = SigningInstant(epochSeconds: Int64(date.timeIntervalSince1970)) else {
            throw .keyOfAnotherDay
        }
        return instant
    }

    private func place(of bucket: Bucket) throws(SigningError) -> Place {
        let held = places.withLock { $0[bucket.name] }
        if let held, held.endpoint == bucket.endpoint, held.addressing == bucket.addressing { return held }
        let place = try Place(bucket)
        places.withLock { places in
            if places.count >= Self.maxPlaces { places.removeAll() }
            places[bucket.name] = place
        }
        return place
    }
}

extension StorageCredential {
    /// The same in the signer's terms.
    var forSigning: SigningCredential {
        SigningCredential(
            accessKeyID: accessKeyID, secretAccessKey: secretAccessKey.reveal(), securityToken: sessionToken?.reveal()
        )
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

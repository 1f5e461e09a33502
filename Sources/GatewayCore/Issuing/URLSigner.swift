public import FoundationEssentials
import Bytes
public import Signing
import Synchronization

/// Signs for buckets, each by its scheme. Signing keys are derived once per bucket and day, and addresses are built
/// once per address of a bucket.
public final class URLSigner: Sendable {
    /// The state cached for an address of a bucket: the address, and the signer for the bucket's credential.
    private final class Place: Sendable {
        enum Signer: Sendable {
            case version4(V4Presigner)
            case version2(SigningKeyV2)
            case cdn(CDNSigner)
        }

        let address: BucketAddress
        let signer: Signer
        /// The capabilities of the scheme.
        let binding: SchemeBinding
        private let endpoint: String
        private let addressing: Bucket.Addressing
        private let region: String
        private let scheme: Bucket.Scheme
        private let cdnScheme: CDNScheme?
        private let credential: SigningCredential

        init(_ bucket: Bucket, _ credential: SigningCredential) throws(SigningError) {
            endpoint = bucket.endpoint
            addressing = bucket.addressing
            region = bucket.region
            scheme = bucket.scheme
            cdnScheme = bucket.cdn?.forSigning
            binding = bucket.binding
            self.credential = credential
            address = try BucketAddress(
                endpoint: StoreEndpoint(bucket.endpoint), bucket: bucket.name.rawValue,
                addressing: bucket.addressing.forSigning
            )
            if let cdnScheme {
                signer = .cdn(try CDNSigner(cdnScheme, credential))
                return
            }
            signer =
                switch bucket.scheme {
                case .awsV4: .version4(V4Presigner(credential, scope: .aws(region: bucket.region)))
                case .ossV4: .version4(V4Presigner(credential, scope: .oss(region: bucket.region)))
                case .gcsV4RSA: .version4(V4Presigner(credential, scope: .gcsRSA(location: bucket.region)))
                case .gcsV4HMAC: .version4(V4Presigner(credential, scope: .gcsHMAC(location: bucket.region)))
                case .awsV2, .ossV1: .version2(try SigningKeyV2(credential))
                case .gcsV2RSA: .version2(try SigningKeyV2(serviceAccount: credential))
                }
        }

        /// Returns whether the bucket and credential are unchanged since this value was built.
        func isFor(_ bucket: Bucket, _ other: StorageCredential) -> Bool {
            binding === bucket.binding && scheme == bucket.scheme && cdnScheme == bucket.cdn?.forSigning
                && isAt(bucket)
                && region.isSameBytes(as: bucket.region) && credential.accessKeyID.isSameBytes(as: other.accessKeyID)
                && credential.secretAccessKey.isSameBytes(as: other.secretAccessKey.reveal())
                && hasToken(other.sessionToken?.reveal())
        }

        /// Returns whether the bucket has the same address as when this value was built.
        func isAt(_ bucket: Bucket) -> Bool {
            endpoint.isSameBytes(as: bucket.endpoint) && addressing == bucket.addressing
        }

        private func hasToken(_ token: String?) -> Bool {
            guard let token, let own = credential.securityToken else {
                return token == nil && credential.securityToken == nil
            }
            return own.isSameBytes(as: token)
        }
    }

    private static let maxPlaces = 1024

    private let places = Mutex<[BucketName: [Place]]>([:])

    /// Creates a signer with an empty cache.
    public init() {}

    /// Signs a URL for a permit and proves that it binds what the permit states.
    ///
    /// - Throws: `unproven`; `unavailable` if the bucket or credential row is unusable for signing, which only an admin
    ///   can fix.
    public func url(for request: IssueRequest, by permit: Permit) throws(GatewayError) -> Secret<String> {
        let row = permit.bucketRow
        let artefact: PresignArtefact
        let url: String
        do throws(SigningError) {
            let place = try place(of: row.bucket, with: permit.credentialRow.credential)
            artefact = PresignArtefact(
                request: PresignRequest(
                    method: request.httpMethod, address: place.address, key: request.pathKey,
                    headers: permit.headers, query: permit.query, expiresInSeconds: permit.signedSeconds),
                instant: try Self.instant(permit.signedAt), binding: place.binding,
                sourceAddress: permit.sourceAddress)
            url = try Self.url(
                artefact.request, row.bucket.scheme, with: place.signer, for: artefact.sourceAddress,
                at: artefact.instant)
        } catch {
            throw Self.unsignable(row.bucket, error)
        }
        try prove(artefact, by: permit, of: request)
        return Secret(url)
    }

    /// Signs cookies for a permit and proves that they open what the permit states.
    ///
    /// - Throws: `unproven`; `unavailable` if the bucket or credential row is unusable for signing, which only an admin
    ///   can fix.
    func cookies(by permit: CookiePermit) throws(GatewayError) -> SignedCookies {
        let signed: SignedCookies
        let address: BucketAddress
        do throws(SigningError) {
            let place = try place(of: permit.bucket, with: permit.credential)
            guard case .cdn(let signer) = place.signer else { throw .conditionNotSupported("cookies") }
            address = place.address
            signed = try signer.cookies(
                CDNCookieRequest(
                    address: address, prefix: permit.prefix.rawValue, expiresInSeconds: permit.expiresIn),
                for: permit.sourceAddress?.description, at: Self.instant(permit.decidedAt))
        } catch {
            throw Self.unsignable(permit.bucket, error)
        }
        try prove(signed, by: permit, at: address)
        return signed
    }

    /// Signs a URL without a permit, for the gateway's own use.
    ///
    /// - Parameters:
    ///   - method: HTTP method in upper case.
    ///   - key: The object key; `nil` for the bucket itself.
    ///   - bucket: The bucket to address.
    ///   - credential: The bucket's storage credential.
    ///   - headers: Headers that the URL binds and the client must send.
    ///   - query: Query parameters that the URL binds, decoded.
    ///   - expiresIn: Lifetime in seconds.
    ///   - signedAt: The instant at which the lifetime begins.
    /// - Throws: `unavailable` if the bucket or credential row is unusable for signing, which only an admin can fix.
    public func url(
        _ method: String, of key: ObjectKey?, in bucket: Bucket, with credential: StorageCredential,
        headers: [NamedValue] = [], query: [NamedValue] = [], expiresIn: Int, at signedAt: Date
    ) throws(GatewayError) -> Secret<String> {
        do throws(SigningError) {
            let place = try place(of: bucket, with: credential)
            let request = PresignRequest(
                method: method, address: place.address, key: key?.rawValue ?? "", headers: headers, query: query,
                expiresInSeconds: expiresIn
            )
            return Secret(try Self.url(request, bucket.scheme, with: place.signer, at: Self.instant(signedAt)))
        } catch {
            throw Self.unsignable(bucket, error)
        }
    }

    /// Returns the URL of an object without a signature, for the gateway's own use.
    ///
    /// - Throws: `unavailable` if the bucket row is unusable, which only an admin can fix.
    public func unsignedURL(of key: ObjectKey, in bucket: Bucket) throws(GatewayError) -> String {
        do throws(SigningError) {
            return try BucketAddress(
                endpoint: StoreEndpoint(bucket.endpoint), bucket: bucket.name.rawValue,
                addressing: bucket.addressing.forSigning
            ).url(of: key.rawValue)
        } catch {
            throw Self.unsignable(bucket, error)
        }
    }

    private static func url(
        _ request: borrowing PresignRequest, _ scheme: Bucket.Scheme, with signer: Place.Signer,
        for sourceAddress: IPAddress? = nil, at instant: SigningInstant
    ) throws(SigningError) -> String {
        // The signatures of stores cannot bind an address.
        if sourceAddress != nil {
            guard case .cdn = signer else { throw .conditionNotSupported("IpAddress") }
        }
        return switch signer {
        case .version4(let signer): try signer.url(for: request, at: instant)
        case .version2(let key): try url(copy request, scheme, with: key, at: instant)
        case .cdn(let signer): try signer.presign(copy request, for: sourceAddress?.description, at: instant).url
        }
    }

    private static func url(
        _ request: PresignRequest, _ scheme: Bucket.Scheme, with key: SigningKeyV2, at instant: SigningInstant
    ) throws(SigningError) -> String {
        switch scheme {
        case .awsV2: try AWSV2.presignedURL(request, with: key, at: instant)
        case .gcsV2RSA: try GCSV2.presignedURL(request, with: key, at: instant)
        case .ossV1: try OSSV1.presignedURL(request, with: key, at: instant)
        case .awsV4, .ossV4, .gcsV4RSA, .gcsV4HMAC: throw .keyOfAnotherScheme
        }
    }

    /// Signs the policy of a browser form.
    func form(
        key: String, fields: [NamedValue], conditions: [PostPolicy.Condition], in bucket: Bucket,
        with credential: StorageCredential, expiresIn: Int, at signedAt: Date
    ) throws(GatewayError) -> SignedPostForm {
        do throws(SigningError) {
            let place = try place(of: bucket, with: credential)
            let form = PostForm(
                address: place.address, key: key, fields: fields, conditions: conditions, expiresInSeconds: expiresIn
            )
            let instant = try Self.instant(signedAt)
            switch place.signer {
            case .version4(let signer):
                return try Self.sign(form, bucket.scheme, with: signer.key(at: instant), at: instant)
            case .version2(let key):
                guard bucket.scheme == .ossV1 else { throw SigningError.conditionNotSupported("form") }
                return try OSSV1.sign(form, with: key, at: instant)
            case .cdn: throw SigningError.conditionNotSupported("form")
            }
        } catch {
            throw Self.unsignable(bucket, error)
        }
    }

    private static func sign(
        _ form: PostForm, _ scheme: Bucket.Scheme, with key: SigningKeyV4, at instant: SigningInstant
    ) throws(SigningError) -> SignedPostForm {
        switch scheme {
        case .awsV4: try AWSV4.sign(form, with: key, at: instant)
        case .ossV4: try OSSV4.sign(form, with: key, at: instant)
        case .gcsV4RSA, .gcsV4HMAC: try GCSV4.sign(form, with: key, at: instant)
        case .awsV2, .ossV1, .gcsV2RSA: throw .keyOfAnotherScheme
        }
    }

    /// Only an admin can fix rows that are unusable for signing.
    private static func unsignable(_ bucket: Bucket, _ error: SigningError) -> GatewayError {
        .unavailable(retryAfter: 60, cause: "bucket \(bucket.name) cannot be signed for: \(error.code)")
    }

    private static func instant(_ date: Date) throws(SigningError) -> SigningInstant {
        guard let instant = SigningInstant(epochSeconds: Int64(date.timeIntervalSince1970)) else {
            throw .keyOfAnotherDay
        }
        return instant
    }

    private func place(of bucket: Bucket, with credential: StorageCredential) throws(SigningError) -> Place {
        let held = places.withLock { $0[bucket.name] }
        if let place = held?.first(where: { $0.isFor(bucket, credential) }) { return place }
        let place = try Place(bucket, credential.forSigning)
        places.withLock { places in
            if places.count >= Self.maxPlaces { places.removeAll() }
            var others = places[bucket.name, default: []]
            others.removeAll { $0.isAt(bucket) }
            // More than these are left over from addresses that the bucket no longer has.
            if others.count > PublicEndpoint.Name.allCases.count { others.removeFirst() }
            places[bucket.name] = others + [place]
        }
        return place
    }
}

extension StorageCredential {
    /// The same credential as the type that signers take.
    var forSigning: SigningCredential {
        SigningCredential(
            accessKeyID: accessKeyID, secretAccessKey: secretAccessKey.reveal(), securityToken: sessionToken?.reveal()
        )
    }
}

extension Bucket.Addressing {
    /// The same addressing mode as the type that signers take.
    var forSigning: Signing.Addressing {
        switch self {
        case .virtual: .virtual
        case .path: .path
        case .cname: .cname
        }
    }
}

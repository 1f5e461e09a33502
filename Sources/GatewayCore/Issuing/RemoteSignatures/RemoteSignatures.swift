public import Signing

/// Signs requests that clients build themselves: parse, refuse on doubt, decide, record, and sign exactly the parsed
/// string.
public struct RemoteSignatures: Sendable {
    /// The signature schemes that clients can request.
    public enum Scheme: Sendable {
        /// Alibaba OSS, for the OSS SDKs: version 1, or version 4 with the canonical request.
        case oss
        /// AWS version 2, for S3 stores and Google Cloud Storage's interoperability.
        case awsV2
        /// AWS version 4 in the `Authorization` header, for S3 stores.
        case awsV4

        /// The vendor whose vocabulary the strings use.
        var vendor: StoreVendor {
            switch self {
            case .oss: .alibaba
            case .awsV2, .awsV4: .amazon
            }
        }

        /// Returns whether the bucket takes signatures of this scheme.
        ///
        /// A store that obeys unsigned headers may obey parameters that AWS version 2 leaves unsigned, as Ceph does
        /// with `legal-hold`. Such a bucket must have chosen that version for its links too.
        func fits(_ bucket: Bucket) -> Bool {
            switch self {
            case .oss: bucket.provider == .oss
            case .awsV2:
                bucket.provider != .oss && (bucket.scheme == .awsV2 || !bucket.honoursUnsignedHeaders)
            case .awsV4: bucket.scheme == .awsV4
            }
        }
    }

    private let issuing: ProvenIssuing
    private let cache: PolicyCache
    private let uploads: any RemoteUploadStore

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - issuing: Proves and records.
    ///   - cache: Finds the bucket to which the URL of a request leads.
    ///   - uploads: Remembers which principal started which multipart upload.
    public init(_ issuing: ProvenIssuing, cache: PolicyCache, uploads: any RemoteUploadStore) {
        self.issuing = issuing
        self.cache = cache
        self.uploads = uploads
    }

    /// Signs a string.
    ///
    /// - Parameters:
    ///   - string: The string to sign, as the SDK built it.
    ///   - scheme: The requested signature scheme.
    ///   - context: The caller and the circumstances of the request.
    /// - Throws: `invalidArgument` for a string that must not be signed for anyone; the refusal; or `slowDown`,
    ///   `unavailable`, `unauthenticated`, `expiredToken`. If it throws, no signature has left the process; one that
    ///   starts an upload may be on record and charged all the same. No error repeats the string.
    public func sign(
        _ string: RemoteString, scheme: Scheme, in context: RequestContext
    ) async throws(GatewayError) -> RemoteSignature {
        let body = SignatureBody(string: string, scheme: scheme, place: try string.place(), uploads: uploads)
        let signature = try await issuing.issue(body, in: context)
        // After the recording, so that refused requests leave nothing, and before the store can tell the client an id.
        if let start = signature.start { try await uploads.begin(start.upload, contentType: start.contentType) }
        return signature
    }

    /// Signs a request of AWS version 4.
    ///
    /// - Parameters:
    ///   - request: The request, as the client will send it.
    ///   - region: The region that the client signs for, which must be the bucket's.
    ///   - context: The caller and the circumstances of the request.
    /// - Throws: As ``sign(_:scheme:in:)``; `accessDenied` also if the URL leads to no bucket, or to more than one.
    public func sign(
        _ request: RequestToSign, region: String, in context: RequestContext
    ) async throws(GatewayError) -> RemoteSignature {
        var found = try await places(of: request, for: context.caller)
        if found.count != 1 {
            // The bucket may be newer than what memory holds.
            try await cache.advance()
            found = try await places(of: request, for: context.caller)
        }
        guard let (bucket, text) = found.first, found.count == 1 else {
            throw issuing.refused(hasNone: found.isEmpty, at: request.authority, in: context)
        }
        let place = RemoteString.place(of: request, naming: text, in: bucket)
        return try await sign(.request(request, place, region: region), scheme: .awsV4, in: context)
    }

    /// Returns the buckets to which the URL of a request leads, and what it names there.
    private func places(
        of request: RequestToSign, for caller: Caller
    ) async throws(GatewayError) -> [(bucket: BucketName, key: String)] {
        var places: [(BucketName, String)] = []
        for name in Set(request.bucketNames) {
            guard let name = try? BucketName(name), let bucket = try await bucket(named: name, for: caller),
                let key = bucket.addresses.lazy.compactMap({ request.key(at: $0) }).first
            else { continue }
            places.append((name, key))
        }
        return places
    }

    /// Returns a bucket; `nil` if it does not exist, or if it cannot be read and the caller has no grant in it. Such a
    /// caller must not learn that there is one.
    ///
    /// - Throws: `slowDown`; `unavailable`, also if the bucket cannot be read.
    private func bucket(named name: BucketName, for caller: Caller) async throws(GatewayError) -> Bucket? {
        do throws(GatewayError) {
            return try await cache.bucket(named: name)
        } catch {
            guard error == .unreadable(.bucket(name)),
                let policy = try await cache.access(
                    of: caller.principal, groups: caller.groups, to: name, around: ExactText(""))
            else { throw error }
            if policy.bucket != nil { return policy.bucket }
            let refusal = policy.refusalWithoutBucket(name, for: caller.subject)
            guard refusal.reason != .failed else { throw refusal.error }
            return nil
        }
    }
}

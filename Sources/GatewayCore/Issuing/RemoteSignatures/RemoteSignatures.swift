public import FoundationEssentials
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
        var found = try await places(of: request)
        if found.count != 1 {
            // The bucket may be newer than what memory holds.
            try await cache.advance()
            found = try await places(of: request)
        }
        guard let (bucket, text) = found.first, found.count == 1 else { throw issuing.refused(in: context) }
        let place = RemoteString.place(of: request, naming: text, in: bucket)
        return try await sign(.request(request, place, region: region), scheme: .awsV4, in: context)
    }

    /// Returns the buckets to which the URL of a request leads, and what it names there.
    private func places(
        of request: RequestToSign
    ) async throws(GatewayError) -> [(bucket: BucketName, key: String)] {
        var places: [(BucketName, String)] = []
        for name in Set(request.bucketNames) {
            guard let name = try? BucketName(name), let bucket = try await cache.location(of: name)?.bucket,
                let key = bucket.addresses.lazy.compactMap({ request.key(at: $0) }).first
            else { continue }
            places.append((name, key))
        }
        return places
    }
}

/// A signature for a request that the client sends itself.
struct SignatureBody: ProvenBody {
    struct Content {
        let accessKeyID: String
        let signature: Secret<String>
        let authorization: Secret<String>?
        let headers: [NamedValue]
        let start: RemoteSignature.Start?
    }

    let string: RemoteString
    let scheme: RemoteSignatures.Scheme
    let place: RemoteString.Place
    let uploads: any RemoteUploadStore

    var target: RefusalTarget { RefusalTarget(string.action, on: place.key.rawValue, in: place.bucket) }

    var endsUpload: Bool { string.endsUpload }

    func policy(for caller: Caller, in cache: PolicyCache) async throws(GatewayError) -> AccessPolicy {
        try await cache.access(
            of: caller.principal, groups: caller.groups, to: place.bucket, key: place.key, listing: place.listing)
    }

    func draft(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date, for issuing: ProvenIssuing
    ) async throws(GatewayError) -> Drafted<Content> {
        let step = RemoteStep(
            string: string, scheme: scheme,
            upload: RemoteUpload(principal: attempt.caller.principal, bucket: place.bucket, key: place.key),
            caller: attempt.caller, policy: policy, sourceAddress: attempt.context.sourceAddress, now: instant)
        let decided: Decided
        do throws(Refusal) {
            decided = try await self.decided(step, attempt.context, issuing)
        } catch {
            // A failure decides nothing.
            guard error.reason != .failed else { throw error.error }
            return .refused(error)
        }
        return .draft(try signed(decided, step, attempt.context))
    }

    func issued(_ draft: Draft<Content>, quotas: [QuotaBalance]) -> RemoteSignature {
        let (proposal, content) = (draft.proposal, draft.content)
        return RemoteSignature(
            id: proposal.id, accessKeyID: content.accessKeyID, signature: content.signature,
            authorization: content.authorization, headers: content.headers, action: proposal.action,
            method: proposal.method, expiresAt: proposal.expiresAt, quotas: quotas, start: content.start)
    }

    /// A string that may be signed, and what signs it.
    private struct Decided {
        let string: PermittedString
        /// Headers that the client must send besides those of its own request.
        let headers: [NamedValue]
        let bucket: Bucket
        let credential: StorageCredential
        /// The content type that the object gets; `nil` if nothing is uploaded.
        let contentType: String?
        let id: UUID
        let consent: RemoteStep.Consent
        let hidden: RemoteStep.Consent?
    }

    private func decided(
        _ step: RemoteStep, _ context: RequestContext, _ issuing: ProvenIssuing
    ) async throws(Refusal) -> Decided {
        try step.checkCoverage(of: place)
        let (bucket, credential) = try step.signer()
        let (permitted, headers) = try step.permitted(in: bucket, with: credential)
        guard permitted.permission.bucket == bucket.name.rawValue,
            place.listing != nil
                ? permitted.permission.key.isEmpty && permitted.permission.operation == .listObjects
                : ExactText(permitted.permission.key) == ExactText(place.key.rawValue)
        else { throw .noGrant }
        let types = try await contentTypes(of: permitted.permission, step, in: bucket)
        let id: UUID
        do throws(GatewayError) {
            id = try issuing.id(of: context.repeatable?.issuance(at: 0), at: step.now)
        } catch {
            throw .failed(error)
        }
        for other in types.dropFirst() {
            _ = try step.decided(permitted.permission, in: bucket, contentType: other, id: id)
        }
        let (consent, hidden) = try step.decided(
            permitted.permission, in: bucket, contentType: types.first, id: id)
        return Decided(
            string: permitted, headers: headers, bucket: bucket, credential: credential, contentType: types.first,
            id: id, consent: consent, hidden: hidden)
    }

    private func signed(
        _ decided: Decided, _ step: RemoteStep, _ context: RequestContext
    ) throws(GatewayError) -> Draft<Content> {
        let (permission, credential) = (decided.string.permission, decided.credential)
        try prove(
            StringArtefact(decided.string, for: decided.bucket), by: decided.consent.permit, of: decided.consent.request
        )
        let expiresAt = Date(timeIntervalSince1970: TimeInterval(permission.validUntil.epochSeconds))
        let (signature, authorization) = try step.signature(of: decided.string, in: decided.bucket, with: credential)
        return Draft(
            step.proposal(
                id: decided.id, decided.consent.permit, hidden: decided.hidden, permission, expiresAt: expiresAt,
                requestID: context.requestID),
            Content(
                accessKeyID: credential.accessKeyID, signature: Secret(signature),
                authorization: authorization.map { Secret($0) }, headers: decided.headers,
                start: permission.operation == .initiateMultipartUpload
                    ? decided.contentType.map { RemoteSignature.Start(upload: step.upload, contentType: $0) } : nil),
            by: .store(step.string.scheme))
    }

    /// Maximum number of content types with which a user may have started uploads of a key. Each of them is decided
    /// for each part.
    private static let maxTypes = 16
    private static let tooManyTypes = GatewayError.notEnforceable(
        reason: "Uploads of this key were started with more than \(maxTypes) content types; use another key.")

    /// Returns the content types that the object may get, all of which must be permitted: the one of this request, or
    /// those of the requests of which one started the multipart upload. None if nothing is uploaded.
    private func contentTypes(
        of permission: StringPermission, _ step: RemoteStep, in bucket: Bucket
    ) async throws(Refusal) -> [String] {
        guard permission.operation.isUpload else { return [] }
        guard let uploadID = permission.uploadID else {
            return [permission.contentType ?? StringPermission.defaultContentType]
        }
        let known: [String]?
        do throws(GatewayError) {
            known = try await uploads.contentTypes(ofUpload: uploadID, step.upload)
        } catch {
            throw .failed(error)
        }
        guard let types = known else { throw .noGrant }
        guard types.count <= Self.maxTypes else { throw .unmet(Self.tooManyTypes) }
        // The version 2 string of a part is also that of a whole object: of one whose key ends with the parameters, or
        // of a request whose first parameter ends with the second. So it may bind only the type of the upload, or the
        // one that SDKs send with parts.
        guard case .plain = step.string, permission.operation == .uploadPart else { return types }
        let typesOfParts = types + [StringPermission.defaultContentType]
        let own = permission.contentType ?? StringPermission.defaultContentType
        guard typesOfParts.contains(own) else { throw .unmet(.conditionFailed(.contentType(allowed: typesOfParts))) }
        let mayBeWhole = bucket.scheme != .awsV2 && step.string.hidesParameters(at: bucket)
        return mayBeWhole && !types.contains(own) ? types + [own] : types
    }
}

/// A signature that is recorded in the ledger and may leave the process.
public struct RemoteSignature: Sendable, CustomStringConvertible {
    /// Identifier of the ledger row.
    public let id: UUID
    /// The access key id that belongs to the signing secret. The client sends it with the signature.
    public let accessKeyID: String
    /// The signature: hexadecimal for version 4, otherwise base64.
    public let signature: Secret<String>
    /// The value of the `Authorization` header; `nil` for version 4, where the client builds it.
    public let authorization: Secret<String>?
    /// The headers that the client must send besides those of the request that it asked for, names in lower case.
    public let headers: [NamedValue]
    /// The action that the signature permits.
    public let action: Action
    /// The HTTP method that the signature binds.
    public let method: String
    /// The last instant at which a store can be expected to accept the signature.
    public let expiresAt: Date
    /// The quotas that were charged, and what remains of each.
    public let quotas: [QuotaBalance]
    /// The multipart upload that the signature starts, if it starts one.
    let start: Start?

    /// A multipart upload that a client is about to start.
    struct Start: Sendable {
        let upload: RemoteUpload
        let contentType: String
    }

    /// The issuance id, without the signature.
    public var description: String { "RemoteSignature(\(id))" }
}

/// Remembers multipart uploads that clients start with signatures from this gateway. The store reports their ids only
/// to the clients.
public protocol RemoteUploadStore: Sendable {
    /// Records that a user is about to start an upload, whose signature is on record.
    ///
    /// - Throws: `unavailable`.
    func begin(_ upload: RemoteUpload, contentType: String) async throws(GatewayError)

    /// Binds an upload id to a user who started an upload to the key, unless the id is already bound. Which of several
    /// starts it was, only the client knows.
    ///
    /// - Returns: The content types of these starts, that of the bound one first, at most 17; `nil` if the id is bound
    ///   to another user or key, or if the user started no upload.
    /// - Throws: `unavailable`.
    func contentTypes(ofUpload id: String, _ upload: RemoteUpload) async throws(GatewayError) -> [String]?
}

/// A principal and the key that it uploads to.
public struct RemoteUpload: Sendable, Hashable {
    /// The principal that uploads.
    public let principal: Principal
    /// The bucket.
    public let bucket: BucketName
    /// The object key.
    public let key: ObjectKey

    /// Creates the identification of an upload.
    public init(principal: Principal, bucket: BucketName, key: ObjectKey) {
        self.principal = principal
        self.bucket = bucket
        self.key = key
    }
}

public import Foundation
import Signing

/// Signs requests that clients make themselves: parse, refuse on doubt, decide, record, sign exactly what was parsed.
public struct RemoteSignatures: Sendable {
    /// Whose signatures there are.
    public enum Scheme: Sendable {
        /// Alibaba OSS, for the OSS SDKs: version 1, or version 4 with the canonical request.
        case oss
        /// AWS version 2, for S3 stores and Google Cloud Storage's interoperability.
        case awsV2

        /// Whose words the strings use.
        var vendor: StoreVendor {
            switch self {
            case .oss: .alibaba
            case .awsV2: .amazon
            }
        }

        /// Whether a bucket's store takes such signatures.
        func fits(_ bucket: Bucket) -> Bool {
            switch self {
            case .oss: bucket.provider == .oss
            case .awsV2: bucket.provider != .oss
            }
        }
    }

    private let issuing: ProvenIssuing
    private let uploads: any RemoteUploadStore

    /// Puts the use case together.
    ///
    /// - Parameters:
    ///   - issuing: Proves and records.
    ///   - uploads: Remembers who started which upload in parts.
    public init(_ issuing: ProvenIssuing, uploads: any RemoteUploadStore) {
        self.issuing = issuing
        self.uploads = uploads
    }

    /// Signs a string.
    ///
    /// - Parameters:
    ///   - string: The string to sign, as the SDK made it.
    ///   - scheme: Which signature is wanted.
    ///   - context: Who asks.
    /// - Throws: `invalidArgument` for what must not be signed for anybody, the refusal of the decision, or `slowDown`,
    ///   `unavailable`, `unauthenticated`, `expiredToken`. Nothing is signed then. No error repeats the string.
    public func sign(
        _ string: RemoteString, scheme: Scheme, in context: RequestContext
    ) async throws(GatewayError) -> RemoteSignature {
        let (bucket, key) = try string.place()
        let body = SignatureBody(string: string, scheme: scheme, bucket: bucket, key: key, uploads: uploads)
        return try await issuing.issue(body, in: context)
    }
}

/// A signature for a request that the client makes itself.
struct SignatureBody: ProvenBody {
    struct Content {
        let accessKeyID: String
        let signature: Secret<String>
        let authorization: Secret<String>?
    }

    let string: RemoteString
    let scheme: RemoteSignatures.Scheme
    let bucket: BucketName
    let key: ObjectKey
    let uploads: any RemoteUploadStore

    func policy(for caller: Caller, in cache: PolicyCache) async throws(GatewayError) -> AccessPolicy {
        try await cache.access(of: caller.principal, groups: caller.groups, to: bucket, key: key)
    }

    func draft(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date, for issuing: ProvenIssuing
    ) async throws(GatewayError) -> Drafted<Content> {
        let step = RemoteStep(
            string: string, scheme: scheme,
            upload: RemoteUpload(principal: attempt.caller.principal, bucket: bucket, key: key),
            caller: attempt.caller, policy: policy, sourceAddress: attempt.context.sourceAddress, now: instant)
        do throws(GatewayError) {
            return .draft(try await draft(step, attempt.context, issuing))
        } catch {
            guard error.isDecided else { throw error }
            return .refused(error)
        }
    }

    func issued(_ draft: Draft<Content>, quotas: [QuotaBalance]) -> RemoteSignature {
        let (proposal, content) = (draft.proposal, draft.content)
        return RemoteSignature(
            id: proposal.id, accessKeyID: content.accessKeyID, signature: content.signature,
            authorization: content.authorization, action: proposal.action, method: proposal.method,
            expiresAt: proposal.expiresAt, quotas: quotas)
    }

    private func draft(
        _ step: RemoteStep, _ context: RequestContext, _ issuing: ProvenIssuing
    ) async throws(GatewayError) -> Draft<Content> {
        let (bucket, credential) = try step.signer()
        let permitted = try step.permitted(in: bucket, with: credential)
        guard permitted.permission.bucket == bucket.name.rawValue,
            ExactText(permitted.permission.key) == ExactText(step.upload.key.rawValue)
        else { throw .accessDenied }
        let contentType = try await contentType(of: permitted.permission, step)
        let id = try issuing.id(of: context.repeatable?.issuance(at: 0), at: step.now)
        let (request, permit) = try step.decided(permitted.permission, in: bucket, contentType: contentType, id: id)
        try prove(StringArtefact(permitted, at: bucket.provider), by: permit, of: request)
        let expiresAt = Date(timeIntervalSince1970: TimeInterval(permitted.permission.validUntil.epochSeconds))
        let (signature, authorization) = try step.signature(of: permitted, in: bucket, with: credential)
        if permitted.permission.operation == .initiateMultipartUpload, let contentType {
            try await uploads.begin(step.upload, contentType: contentType)
        }
        return Draft(
            step.proposal(
                id: id, permit, permitted.permission, expiresAt: expiresAt, requestID: context.requestID),
            Content(
                accessKeyID: credential.accessKeyID, signature: Secret(signature),
                authorization: authorization.map { Secret($0) }))
    }

    /// The type of the object: of what is written now, or of what its upload in parts was started with.
    private func contentType(
        of permission: StringPermission, _ step: RemoteStep
    ) async throws(GatewayError) -> String? {
        guard permission.operation.isUpload else { return nil }
        guard let uploadID = permission.uploadID else {
            return permission.contentType ?? StringPermission.defaultContentType
        }
        guard let type = try await uploads.contentType(ofUpload: uploadID, step.upload) else { throw .accessDenied }
        return type
    }
}

/// A signature that is on record and may leave the process.
public struct RemoteSignature: Sendable, CustomStringConvertible {
    /// Identifier of the row in the ledger.
    public let id: UUID
    /// The access key whose secret signed, which the client names beside the signature.
    public let accessKeyID: String
    /// The signature: base64, of version 4 hexadecimal.
    public let signature: Secret<String>
    /// The value of the `Authorization` header; `nil` for version 4, where the client writes it.
    public let authorization: Secret<String>?
    /// What it permits.
    public let action: Action
    /// The method that it binds.
    public let method: String
    /// Last instant at which a store can be expected to accept it.
    public let expiresAt: Date
    /// The quotas that were charged, with what is left of each.
    public let quotas: [QuotaBalance]

    /// Names the issuance, never the signature.
    public var description: String { "RemoteSignature(\(id))" }
}

/// Remembers uploads in parts that clients start with signatures of ours: the store tells their ids to the clients alone.
public protocol RemoteUploadStore: Sendable {
    /// Remembers that a user is about to start an upload.
    ///
    /// - Throws: `unavailable`.
    func begin(_ upload: RemoteUpload, contentType: String) async throws(GatewayError)

    /// Binds the id of an upload to a user who started one of the key, unless it is bound already.
    ///
    /// - Returns: The type that the upload was started with; `nil` where the id is bound to another user or key, or where the
    ///   user started none.
    /// - Throws: `unavailable`.
    func contentType(ofUpload id: String, _ upload: RemoteUpload) async throws(GatewayError) -> String?
}

/// Who uploads to which key.
public struct RemoteUpload: Sendable, Hashable {
    /// The user.
    public let principal: Principal
    /// The bucket.
    public let bucket: BucketName
    /// The key.
    public let key: ObjectKey

    /// Names an upload.
    public init(principal: Principal, bucket: BucketName, key: ObjectKey) {
        self.principal = principal
        self.bucket = bucket
        self.key = key
    }
}

extension GatewayError {
    /// Whether newer rows could decide otherwise.
    fileprivate var isDecided: Bool {
        switch self {
        case .accessDenied, .conditionFailed, .entityTooLarge, .notEnforceable, .invalidArgument: true
        default: false
        }
    }
}

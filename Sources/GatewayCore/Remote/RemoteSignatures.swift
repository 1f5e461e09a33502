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

    private let cache: PolicyCache
    private let authenticator: any Authenticator
    private var ledger: any IssuanceLedger
    private var repeatable: RepeatableIssuing?
    private let uploads: any RemoteUploadStore
    private let now: @Sendable () -> Date
    private let randomBytes: @Sendable (Int) throws -> [UInt8]

    private static let maxAttempts = 32

    /// Puts the use case together.
    ///
    /// - Parameters:
    ///   - cache: The rows to decide by.
    ///   - authenticator: Checks a caller's token anew when policy changed meanwhile.
    ///   - ledger: Where issuances are proved, charged and recorded.
    ///   - uploads: Remembers who started which upload in parts.
    ///   - now: The clock that stores compare with.
    ///   - randomBytes: As many bytes as asked for that nobody can predict.
    public init(
        cache: PolicyCache, authenticator: any Authenticator, ledger: any IssuanceLedger,
        uploads: any RemoteUploadStore, now: @escaping @Sendable () -> Date,
        randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.cache = cache
        self.authenticator = authenticator
        self.ledger = ledger
        self.uploads = uploads
        self.now = now
        self.randomBytes = randomBytes
    }

    /// The same use case for a request that came with an idempotency key: what it signed already is proved and signed again.
    public func repeating(_ issuing: RepeatableIssuing?) -> RemoteSignatures {
        guard let issuing else { return self }
        var copy = self
        copy.ledger = issuing.ledger
        copy.repeatable = issuing
        return copy
    }

    /// Signs a string.
    ///
    /// - Parameters:
    ///   - string: The string to sign, as the SDK made it.
    ///   - scheme: Which signature is wanted.
    ///   - caller: Who asks, authenticated.
    ///   - sourceAddress: Where the request came from; `nil` where that cannot be known.
    ///   - requestID: Identifier of the request, as in logs.
    ///   - deadline: After this nothing is recorded any more.
    /// - Throws: `invalidArgument` for what must not be signed for anybody, the refusal of the decision, or `slowDown`,
    ///   `unavailable`, `unauthenticated`, `expiredToken`. Nothing is signed then. No error repeats the string.
    public func sign(
        _ string: RemoteString, scheme: Scheme, for caller: Caller, sourceAddress: IPAddress?, requestID: String,
        deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> RemoteSignature {
        let (bucket, key) = try string.place()
        var caller = caller
        var isConfirmed = false
        for _ in 0..<Self.maxAttempts {
            let policy = try await cache.access(
                of: caller.principal, groups: caller.groups, to: bucket, key: key)
            let instant = now()
            if let end = caller.expiresAt, end <= instant { throw .expiredToken }
            if caller.position.mayPrecede(policy.position) {
                let step = RemoteStep(
                    string: string, scheme: scheme,
                    upload: RemoteUpload(principal: caller.principal, bucket: bucket, key: key), caller: caller,
                    policy: policy, sourceAddress: sourceAddress, now: instant)
                do throws(GatewayError) {
                    if let signature = try await record(step, requestID, deadline) { return signature }
                } catch {
                    // Only a refusal of the decision may be one of memory's.
                    guard isConfirmed || !error.isDecided else {
                        try await cache.advance()
                        isConfirmed = true
                        caller = try await authenticator.authenticate(caller.token)
                        continue
                    }
                    ledger.count(
                        Denial(principal: caller.principal, bucket: policy.bucket?.name, code: error.code))
                    throw error
                }
            }
            try await cache.advance()
            isConfirmed = true
            caller = try await authenticator.authenticate(caller.token)
        }
        throw .slowDown(retryAfter: 1)
    }

    /// Decides and records; `nil` where policy changed meanwhile.
    private func record(
        _ step: RemoteStep, _ requestID: String, _ deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> RemoteSignature? {
        let (bucket, credential) = try step.signer()
        let permitted = try step.permitted(in: bucket, with: credential)
        guard permitted.permission.bucket == bucket.name.rawValue,
            ExactText(permitted.permission.key) == ExactText(step.upload.key.rawValue)
        else { throw .accessDenied }
        let contentType = try await contentType(of: permitted.permission, step)
        guard let bytes = try? randomBytes(10), bytes.count == 10 else { throw .unavailable(retryAfter: 1) }
        let id = repeatable?.issuance(at: 0).id(at: step.now) ?? .version7(at: step.now, randomBytes: bytes)
        let (request, permit) = try step.decided(permitted.permission, in: bucket, contentType: contentType, id: id)
        try prove(StringArtefact(permitted, at: bucket.provider), by: permit, of: request)
        let expiresAt = Date(timeIntervalSince1970: TimeInterval(permitted.permission.validUntil.epochSeconds))
        let (signature, authorization) = try step.signature(of: permitted, in: bucket, with: credential)
        if permitted.permission.operation == .initiateMultipartUpload, let contentType {
            try await uploads.begin(step.upload, contentType: contentType)
        }
        let proposal = step.proposal(
            id: id, permit, permitted.permission, expiresAt: expiresAt, requestID: requestID)
        switch try await ledger.record(proposal, deadline: deadline) {
        case .recorded(let remaining):
            return RemoteSignature(
                id: proposal.id, accessKeyID: credential.accessKeyID, signature: Secret(signature),
                authorization: authorization.map { Secret($0) },
                action: proposal.action, method: proposal.method, expiresAt: expiresAt,
                quotas: step.caller.balances(of: permit.charges, remaining))
        case .quotaExceeded(let refusal): throw step.caller.error(for: refusal)
        case .stale: return nil
        }
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
    /// Whether policy that is read anew could decide otherwise.
    fileprivate var isDecided: Bool {
        switch self {
        case .accessDenied, .conditionFailed, .entityTooLarge, .notEnforceable, .invalidArgument: true
        default: false
        }
    }
}

public import FoundationEssentials

/// Answers what clients of Git LFS ask about objects: links for what is to be moved, and whether an upload arrived.
public struct GitLFSLinks: Sendable {
    /// What a client wants to do.
    public enum Operation: String, Sendable, CaseIterable {
        case download
        case upload
    }

    /// What the gateway finds of an upload.
    public enum Verdict: Sendable {
        /// The object that was announced is at the store.
        case arrived
        /// Nothing is at the store.
        case absent
        /// Something else is at the store.
        case different
    }

    private let urls: PresignedURLs
    private let uploads: MissingUploads
    private let confirmation: UploadConfirmation
    private let clientsCanVerify: Bool

    /// Creates the use case from its parts.
    ///
    /// - Parameter clientsCanVerify: Whether the gateway can tell clients where to have an upload verified.
    public init(
        urls: PresignedURLs, uploads: MissingUploads, confirmation: UploadConfirmation, clientsCanVerify: Bool
    ) {
        self.urls = urls
        self.uploads = uploads
        self.confirmation = confirmation
        self.clientsCanVerify = clientsCanVerify
    }

    /// Answers for each object of a batch.
    ///
    /// Where the bucket's scheme cannot bind the SHA-256 of an upload, and the bucket opens the protocol for that,
    /// links bind the length alone. Clients must be able to have it verified.
    /// - Parameters:
    ///   - objects: The objects.
    ///   - operation: What the client wants to do with them.
    ///   - bucket: The bucket.
    ///   - prefix: Prefix of the keys.
    ///   - context: The caller and the circumstances of the request.
    ///   - timeout: Longest time that the links may wait to be recorded, once the store has answered.
    /// - Returns: For each object, in order, the outcome or the refusal; `notEnforceable` where nobody would check what
    ///   is uploaded.
    /// - Throws: The errors of ``MissingUploads/issue(_:in:timeout:)``.
    public func answers(
        for objects: [GitLFSObject], to operation: Operation, in bucket: BucketName, below prefix: String,
        context: RequestContext, timeout: Duration
    ) async throws(GatewayError) -> [Result<MissingUploads.Outcome, GatewayError>] {
        let checksSizesAlone = try await uploads.checksSizesAlone(in: bucket, by: .gitLFSVerify)
        let context = checksSizesAlone ? context.with(clientProtocol: .gitLFSVerify) : context
        let wishes = objects.map { object in
            Result { () throws(GatewayError) in
                try IssueRequest(
                    object.fields(to: operation, in: bucket, below: prefix, bindsDigest: !checksSizesAlone))
            }
        }
        let requests = wishes.compactMap { try? $0.get() }
        let outcomes: [Result<MissingUploads.Outcome, GatewayError>]
        switch operation {
        case .download:
            outcomes = await urls.issue(requests, in: context).map { $0.map(MissingUploads.Outcome.link) }
        case .upload where checksSizesAlone && !clientsCanVerify:
            // Only callers who may upload learn what the bucket lacks.
            let refusals = try await uploads.refusals(of: requests, in: context)
            outcomes = refusals.map { .failure($0?.advised ?? .noVerification) }
        case .upload:
            let links = try await uploads.issue(requests, in: context, timeout: timeout)
            outcomes = links.map { $0.mapError(\.advised) }
        }
        return wishes.answered(by: outcomes)
    }

    /// Looks whether an object that was uploaded by a link is the announced one, and records what was found.
    ///
    /// - Parameters:
    ///   - object: The object as announced.
    ///   - id: The issuance of the link.
    ///   - bucket: Name of the bucket.
    ///   - prefix: Prefix of the key.
    ///   - caller: The caller.
    /// - Throws: `notFound` if the issuance is not the caller's or is for another object, and the errors of
    ///   ``UploadConfirmation/confirm(_:by:)``.
    public func verify(
        _ object: GitLFSObject, issuedAs id: UUID, in bucket: String, below prefix: String, by caller: Caller
    ) async throws(GatewayError) -> Verdict {
        let upload = try await confirmation.confirm(id, by: caller)
        guard upload.record.bucket == bucket, upload.record.key == object.key(below: prefix) else {
            throw .notFound(.issuance)
        }
        guard let finding = upload.finding, finding.kind != .absent else { return .absent }
        return finding.kind != .mismatched && finding.size == object.size ? .arrived : .different
    }
}

extension GatewayError {
    /// The error, and what helps if the bucket's scheme cannot bind what an upload of Git LFS binds.
    fileprivate var advised: GatewayError {
        if self == SchemeBinding.unboundChecksum { return .noDigest }
        return self == SchemeBinding.unboundCreation ? .noCreation : self
    }

    private static let noDigest = GatewayError.notEnforceable(
        reason: """
            The bucket's signing scheme cannot bind the SHA-256 of an upload. Git LFS needs a bucket with the scheme \
            'aws-v4'; or an admin may open the protocol 'git-lfs-verify' instead, which checks sizes alone.
            """)
    private static let noCreation = GatewayError.notEnforceable(
        reason: """
            The bucket's signing scheme cannot bind that an upload replaces no object. Give the bucket the scheme \
            'aws-v4'.
            """)
    fileprivate static let noVerification = GatewayError.notEnforceable(
        reason: """
            The store cannot bind the SHA-256 of an upload, and the gateway has no public URL at which clients could have \
            its size verified.
            """)
}

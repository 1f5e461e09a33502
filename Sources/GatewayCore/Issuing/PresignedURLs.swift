/// Issues presigned URLs.
public struct PresignedURLs: Sendable {
    /// Maximum number of requests in a batch.
    public static let maxBatch = 1000

    private let issuing: ProvenIssuing
    private let signer: URLSigner

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - issuing: Proves and records.
    ///   - signer: Signs the URLs.
    public init(_ issuing: ProvenIssuing, signer: URLSigner = URLSigner()) {
        self.issuing = issuing
        self.signer = signer
    }

    /// Validates the fields of a request. If the gateway is to name the object, this generates the name.
    ///
    /// - Parameters:
    ///   - fields: The fields as the client sent them.
    ///   - place: The index of this item within its request.
    ///   - context: The caller and the circumstances of the request.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``; `unavailable` if no random bytes are available for a
    ///   name.
    public func request(
        _ fields: borrowing IssueRequest.Fields, at place: Int = 0, in context: RequestContext
    ) throws(GatewayError) -> IssueRequest {
        guard fields.keyPrefix != nil else { return try IssueRequest(fields) }
        return try IssueRequest(fields) { () throws(GatewayError) in
            try issuing.newName(at: place, in: context.repeatable)
        }
    }

    /// Issues a URL.
    ///
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. If it throws, no URL has
    ///   left the process.
    public func issue(
        _ request: IssueRequest, in context: RequestContext
    ) async throws(GatewayError) -> IssuedURL {
        try await issuing.issue(URLBody(request.identified(at: 0, in: context), signer), in: context)
    }

    /// Issues several URLs independently of each other and records them together.
    ///
    /// - Returns: For each request, in order, the result that ``issue(_:in:)`` would give for it alone.
    public func issue(
        _ requests: [IssueRequest], in context: RequestContext
    ) async -> [Result<IssuedURL, GatewayError>] {
        let bodies = requests.enumerated().map { URLBody($1.identified(at: $0, in: context), signer) }
        return await issuing.issue(bodies, in: context)
    }
}

extension IssueRequest {
    /// Returns a request that leads to the same issuance each time, if it came with an idempotency key.
    func identified(at place: Int, in context: RequestContext) -> IssueRequest {
        guard let issuing = context.repeatable, repeatable == nil else { return self }
        return with(issuing.issuance(at: place))
    }
}

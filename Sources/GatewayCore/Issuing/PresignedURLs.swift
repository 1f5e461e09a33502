/// Issues presigned URLs and browser forms.
public struct PresignedURLs: Sendable {
    /// Most requests that are answered together.
    public static let maxBatch = 1000

    let issuing: ProvenIssuing
    let signer = URLSigner()

    /// Puts the use case together.
    public init(_ issuing: ProvenIssuing) {
        self.issuing = issuing
    }

    /// Checks the fields of a request; where the object's name is left to the gateway, it is made here.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - place: Which of several in one request it is.
    ///   - context: Who asks.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, `unavailable` without random bytes for a name.
    public func request(
        _ fields: IssueRequest.Fields, at place: Int = 0, in context: RequestContext
    ) throws(GatewayError) -> IssueRequest {
        guard fields.keyPrefix != nil else { return try IssueRequest(fields) }
        return try IssueRequest(fields) { () throws(GatewayError) in
            try issuing.newName(at: place, in: context.repeatable)
        }
    }

    /// Issues a URL.
    ///
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. No URL has left then.
    public func issue(
        _ request: IssueRequest, in context: RequestContext
    ) async throws(GatewayError) -> IssuedURL {
        try await issuing.issue(URLBody(request.identified(at: 0, in: context), signer), in: context)
    }

    /// Issues URLs, each for itself, and records them together.
    ///
    /// - Returns: For each request, in their order, what ``issue(_:in:)`` would give for it alone.
    public func issue(
        _ requests: [IssueRequest], in context: RequestContext
    ) async -> [Result<IssuedURL, GatewayError>] {
        let bodies = requests.enumerated().map { URLBody($1.identified(at: $0, in: context), signer) }
        return await issuing.issue(bodies, in: context)
    }
}

extension IssueRequest {
    /// A request that is the same issuance each time, where it came with an idempotency key.
    func identified(at place: Int, in context: RequestContext) -> IssueRequest {
        guard let issuing = context.repeatable, repeatable == nil else { return self }
        return with(issuing.issuance(at: place))
    }
}

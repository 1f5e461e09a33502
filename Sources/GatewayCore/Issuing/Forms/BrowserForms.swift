/// Issues the fields of browser forms, each with a signed policy.
public struct BrowserForms: Sendable {
    private let issuing: ProvenIssuing
    private let signer: URLSigner

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - issuing: Proves and records.
    ///   - signer: Signs the policy of a form.
    public init(_ issuing: ProvenIssuing, signer: URLSigner = URLSigner()) {
        self.issuing = issuing
        self.signer = signer
    }

    /// Validates the fields of a request. If the gateway is to name the object, this generates the name.
    ///
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``; `unavailable` if no random bytes are available for a
    ///   name.
    public func request(
        _ fields: PostPolicyRequest.Fields, in context: RequestContext
    ) throws(GatewayError) -> PostPolicyRequest {
        try PostPolicyRequest(fields) { () throws(GatewayError) in
            try issuing.newName(at: 0, in: context.repeatable)
        }
    }

    /// Issues a form.
    ///
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. If it throws, no form
    ///   has left the process.
    public func issue(
        _ request: PostPolicyRequest, in context: RequestContext
    ) async throws(GatewayError) -> IssuedPostPolicy {
        let upload = request.uploads[0].identified(at: 0, in: context)
        return try await issuing.issue(FormBody(request: request, upload: upload, signer: signer), in: context)
    }
}

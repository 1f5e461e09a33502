/// Issues cookies with which a client downloads from a bucket's content delivery network.
public struct CDNCookies: Sendable {
    private let issuing: ProvenIssuing
    private let signer: URLSigner

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - issuing: Proves and records.
    ///   - signer: Signs the policy of the cookies.
    public init(_ issuing: ProvenIssuing, signer: URLSigner = URLSigner()) {
        self.issuing = issuing
        self.signer = signer
    }

    /// Issues cookies.
    ///
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. If it throws, no cookie
    ///   has left the process.
    public func issue(_ request: CookieRequest, in context: RequestContext) async throws(GatewayError) -> IssuedCookies
    {
        try await issuing.issue(CookieBody(request: request, signer: signer), in: context)
    }
}

import Foundation

extension PresignedURLs {
    /// A signed URL that is not on record yet, and what goes on record.
    final class Issuance: Sendable {
        let proposal: IssuanceProposal
        let url: Secret<String>
        let request: IssueRequest
        let permit: Permit
        let caller: Caller

        init(
            proposal: IssuanceProposal, url: Secret<String>, request: IssueRequest, permit: Permit, caller: Caller
        ) {
            self.proposal = proposal
            self.url = url
            self.request = request
            self.permit = permit
            self.caller = caller
        }

        /// What the caller gets once the proposal is committed.
        func answer(remaining: [QuotaRemainder]) -> IssuedURL {
            IssuedURL(
                id: proposal.id,
                method: request.method,
                bucket: request.bucket,
                key: request.key,
                url: url,
                headers: permit.headers,
                expiresAt: permit.expiresAt,
                expiresIn: permit.expiresIn,
                enforcedBy: permit.enforcedBy,
                quotas: caller.balances(of: permit.charges, remaining)
            )
        }
    }

    /// Signs, and writes down what the signature rests on.
    func prepare(
        _ request: IssueRequest, _ permit: Permit, _ caller: Caller, _ policy: AccessPolicy, _ requestID: String
    ) throws(GatewayError) -> Issuance {
        let proposal = try proposal(for: request, permit, caller, policy, requestID)
        return Issuance(
            proposal: proposal, url: try signer.url(for: request, by: permit), request: request, permit: permit,
            caller: caller
        )
    }

    /// Writes down what is issued and what it rests on.
    func proposal(
        for request: IssueRequest, _ permit: Permit, _ caller: Caller, _ policy: AccessPolicy, _ requestID: String
    ) throws(GatewayError) -> IssuanceProposal {
        let id = try id(of: request, signedAt: permit.signedAt)
        return IssuanceProposal(
            id: id,
            // The proof covers what happened since the oldest thing that was relied on: the token was checked first.
            position: caller.position,
            scopes: policy.scopes + caller.scopes,
            principal: caller.principal,
            matchedPrincipal: permit.grant.principal,
            grantID: permit.grant.id,
            credentialID: permit.credential.id,
            delivery: request.delivery,
            action: request.action,
            method: request.httpMethod,
            bucket: request.bucket,
            key: request.key,
            expiresAt: permit.expiresAt,
            contentType: request.contentType?.text,
            contentMD5: request.contentMD5,
            contentLength: request.contentLength,
            requestID: requestID,
            charges: permit.charges
        )
    }

    /// Counts a refusal and hands it back to be thrown.
    func refused(_ error: GatewayError, _ caller: Caller, _ bucket: BucketName?) -> GatewayError {
        ledger.count(Denial(principal: caller.principal, bucket: bucket, code: error.code))
        return error
    }

    private func id(of request: IssueRequest, signedAt: Date) throws(GatewayError) -> UUID {
        if let repeatable = request.repeatable { return repeatable.id(at: signedAt) }
        if let fixed = request.issuance { return fixed }
        return try newID(at: signedAt)
    }

    /// Requests that are the same issuances each time, where the request came with an idempotency key.
    func identified(_ requests: [IssueRequest]) -> [IssueRequest] {
        guard let repeatable else { return requests }
        return requests.enumerated().map { place, request in
            guard request.repeatable == nil else { return request }
            var request = request
            request.repeatable = repeatable.issuance(at: place)
            return request
        }
    }

    /// The name of an object that the gateway names.
    func newName(at place: Int) throws(GatewayError) -> UUID {
        if let repeatable { return repeatable.name(at: place) }
        return try newID(at: now())
    }

    func newID(at instant: Date) throws(GatewayError) -> UUID {
        guard let bytes = try? randomBytes(10), bytes.count == 10 else { throw .unavailable(retryAfter: 1) }
        return .version7(at: instant, randomBytes: bytes)
    }
}

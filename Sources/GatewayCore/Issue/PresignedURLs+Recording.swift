import Foundation

extension PresignedURLs {
    /// A signed URL that is not on record yet, and what goes on record.
    final class Issuance: Sendable {
        let proposal: IssuanceProposal
        let url: Secret<String>
        let request: IssueRequest
        let permit: Permit

        init(proposal: IssuanceProposal, url: Secret<String>, request: IssueRequest, permit: Permit) {
            self.proposal = proposal
            self.url = url
            self.request = request
            self.permit = permit
        }
    }

    /// Decides a request and signs what is permitted; `nil` where policy has to be read before anything can be said.
    ///
    /// - Parameters:
    ///   - request: What is asked for.
    ///   - caller: Who asks, as last authenticated.
    ///   - policy: The rows that bear on it.
    ///   - sourceAddress: Where the request came from; `nil` where that cannot be known.
    ///   - requestID: Identifier of the request, as in logs.
    ///   - isConfirmed: Whether policy was read since the request came, so that a refusal is final.
    /// - Throws: The refusal, `expiredToken`, `unavailable`.
    func prepare(
        _ request: IssueRequest, for caller: Caller, under policy: AccessPolicy, from sourceAddress: IPAddress?,
        requestID: String, isConfirmed: Bool
    ) throws(GatewayError) -> Issuance? {
        let instant = now()
        if let end = caller.expiresAt, end <= instant { throw .expiredToken }
        // No position covers both the caller's token and the rows: only after a failover or a restart of the cache.
        guard caller.position.mayPrecede(policy.position) else { return nil }
        let subject = caller.subject
        switch decide(request, for: subject, under: policy, sourceAddress: sourceAddress, now: instant) {
        case .permit(let permit):
            let permit = try again(request, permit, at: instant) { signedAt in
                decide(request, for: subject, under: policy, sourceAddress: sourceAddress, now: signedAt)
            }
            return Issuance(
                proposal: try proposal(for: request, permit, caller, policy, requestID),
                url: try signer.url(for: request, by: permit), request: request, permit: permit)
        case .refuse(let refusal):
            guard isConfirmed else { return nil }
            throw refused(refusal.error, caller, policy.bucket?.name)
        }
    }

    /// Decides a request by policy as it is committed, for what the gateway does itself: nothing is signed, recorded or charged.
    ///
    /// - Throws: The refusal, `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`.
    func check(
        _ request: IssueRequest, for caller: Caller, sourceAddress: IPAddress?
    ) async throws(GatewayError) {
        for _ in 0..<Self.maxAttempts {
            try await cache.advance()
            let caller = try await authenticator.authenticate(caller.token)
            let policy = try await cache.access(
                of: caller.principal, groups: caller.groups, to: request.bucket, key: request.key)
            let instant = now()
            if let end = caller.expiresAt, end <= instant { throw .expiredToken }
            guard caller.position.mayPrecede(policy.position) else { continue }
            switch decide(request, for: caller.subject, under: policy, sourceAddress: sourceAddress, now: instant) {
            case .permit: return
            case .refuse(let refusal): throw refused(refusal.error, caller, policy.bucket?.name)
            }
        }
        throw .slowDown(retryAfter: 1)
    }

    /// What was permitted when the request was signed first, where it was; it is permitted now as well.
    ///
    /// - Throws: `idempotency` for what has expired meanwhile, or would be another thing now.
    func again(
        _ request: IssueRequest, _ permit: Permit, at instant: Date, _ decideAt: (Date) -> Decision
    ) throws(GatewayError) -> Permit {
        guard let signedAt = request.repeatable?.signedAt else { return permit }
        guard case .permit(let then) = decideAt(signedAt), then.expiresAt > instant else {
            throw .idempotency(.answerGone)
        }
        return then
    }

    /// What the caller gets for a verdict; `nil` where policy changed and it has to be decided anew.
    ///
    /// - Throws: `quotaExceeded`, or `expiredToken` for a ticket without uses left.
    func answer(
        _ issuance: Issuance, by verdict: RecordVerdict, for caller: Caller
    ) throws(GatewayError) -> IssuedURL? {
        let (request, permit) = (issuance.request, issuance.permit)
        switch verdict {
        case .recorded(let remaining):
            return IssuedURL(
                id: issuance.proposal.id,
                method: request.method,
                bucket: request.bucket,
                key: request.key,
                url: issuance.url,
                headers: permit.headers,
                expiresAt: permit.expiresAt,
                expiresIn: permit.expiresIn,
                enforcedBy: permit.enforcedBy,
                quotas: caller.balances(of: permit.charges, remaining)
            )
        case .quotaExceeded(let refusal): throw refused(caller.error(for: refusal), caller, request.bucket)
        case .stale: return nil
        }
    }

    /// Writes down what is issued and what it rests on.
    func proposal(
        for request: IssueRequest, _ permit: Permit, _ caller: Caller, _ policy: AccessPolicy, _ requestID: String
    ) throws(GatewayError) -> IssuanceProposal {
        let id = try id(of: request, signedAt: permit.signedAt)
        var proposal = IssuanceProposal(
            id: id,
            // The proof covers what happened since the oldest thing that was relied on: the token was checked first.
            position: caller.position,
            scopes: policy.scopes(with: caller),
            principal: caller.principal,
            matchedPrincipal: permit.grantRow.grant.principal,
            grantID: permit.grantRow.grant.id,
            credentialID: permit.credentialRow.credential.id,
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
        proposal.contentSHA256 = request.checksumSHA256
        proposal.signsPayload = permit.bucketRow.binding.closesUploads
        return proposal
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

    /// A request that is the same issuance each time, where it came with an idempotency key.
    func identified(_ request: IssueRequest, at place: Int) -> IssueRequest {
        guard let repeatable, request.repeatable == nil else { return request }
        return request.with(repeatable.issuance(at: place))
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

public import Foundation

/// The one way in which a credential of any form leaves the process: look up, decide, sign, record, and only then answer.
///
/// Decisions are made from memory and proved by the statement that records them. Where policy changed in between, nothing is
/// recorded and everything is decided anew: the log of changes is read, and the caller is authenticated again. What differs
/// from delivery to delivery is a ``ProvenBody``.
public final class ProvenIssuing: Sendable {
    let cache: PolicyCache
    /// The clock that stores compare with.
    let now: @Sendable () -> Date
    private let authenticator: any Authenticator
    private let ledger: any IssuanceLedger
    private let randomBytes: @Sendable (Int) throws -> [UInt8]

    // A script that changes a hundred rows a second for one group lets about one attempt in ten of its members through.
    // Whoever runs out of attempts has met something wilder; the deadline mostly comes first.
    private static let maxAttempts = 32

    /// Puts the parts together.
    ///
    /// - Parameters:
    ///   - cache: The rows to decide by.
    ///   - authenticator: Checks a caller's token again when policy has changed.
    ///   - ledger: Where issuances are proved, charged and recorded.
    ///   - now: The clock that stores compare with.
    ///   - randomBytes: Returns as many unpredictable bytes as it is asked for.
    public init(
        cache: PolicyCache, authenticator: any Authenticator, ledger: any IssuanceLedger,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.cache = cache
        self.authenticator = authenticator
        self.ledger = ledger
        self.now = now
        self.randomBytes = randomBytes
    }

    /// Issues one credential.
    ///
    /// A refusal rests on policy as it is committed: what memory refuses is decided again after the log of changes is read,
    /// so that a grant works from the moment it is made.
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. Nothing has left then.
    func issue<Body: ProvenBody>(
        _ body: Body, in context: RequestContext
    ) async throws(GatewayError) -> Body.Issued {
        try await untilProved(ProofAttempt(context)) { attempt throws(GatewayError) -> Body.Issued? in
            let policy = try await body.policy(for: attempt.caller, in: self.cache)
            guard let draft = try await self.draft(body, under: policy, in: attempt) else { return nil }
            let verdict = try await self.ledger(for: context).record(draft.proposal, deadline: context.deadline)
            return try self.answer(body, draft, by: verdict, to: attempt.caller)
        }
    }

    /// Decides by policy as it is committed, for what the gateway does itself: nothing is signed, recorded or charged.
    ///
    /// - Throws: The refusal, `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`.
    func check(_ request: IssueRequest, in context: RequestContext) async throws(GatewayError) {
        try await untilProved(ProofAttempt(context, isConfirmed: true)) { attempt throws(GatewayError) -> Void? in
            let caller = attempt.caller
            let policy = try await self.cache.access(
                of: caller.principal, groups: caller.groups, to: request.bucket, key: request.key)
            guard let instant = try self.instant(for: caller, under: policy) else { return nil }
            let decision = decide(
                request, for: caller.subject, under: policy, sourceAddress: context.sourceAddress, now: instant)
            if case .refuse(let refusal) = decision {
                throw self.counted(refusal.error, of: caller, in: policy.bucket?.name)
            }
            return ()
        }
    }

    /// The loop of the proof: tries until an attempt has an answer; before each but the first, reads what changed and
    /// authenticates the caller again.
    ///
    /// - Parameter body: One attempt; returns `nil` where policy changed, or may have changed, under it.
    /// - Throws: What the attempt throws, and `slowDown` when there was no answer in too many of them.
    func untilProved<Answer>(
        _ first: ProofAttempt, _ body: (ProofAttempt) async throws(GatewayError) -> Answer?
    ) async throws(GatewayError) -> Answer {
        var attempt = first
        for _ in 0..<Self.maxAttempts {
            if attempt.isConfirmed {
                try await cache.advance()
                attempt.caller = try await authenticator.authenticate(attempt.caller.token)
            }
            if let answer = try await body(attempt) { return answer }
            attempt.isConfirmed = true
        }
        throw .slowDown(retryAfter: 1, cause: "policy changed under every attempt")
    }
}

// MARK: - Steps of an attempt

extension ProvenIssuing {
    /// Decides and signs; `nil` where policy has to be read before anything can be said.
    ///
    /// - Throws: The refusal, once it is confirmed; `expiredToken`, `unavailable`.
    func draft<Body: ProvenBody>(
        _ body: Body, under policy: AccessPolicy, in attempt: ProofAttempt
    ) async throws(GatewayError) -> Draft<Body.Content>? {
        guard let instant = try instant(for: attempt.caller, under: policy) else { return nil }
        switch try await body.draft(under: policy, in: attempt, at: instant, for: self) {
        case .draft(let draft): return draft
        case .refused(let error):
            guard attempt.isConfirmed else { return nil }
            throw counted(error, of: attempt.caller, in: policy.bucket?.name)
        }
    }

    /// Records drafts together; their verdicts in the same order.
    func record(
        _ proposals: [IssuanceProposal], in context: RequestContext
    ) async -> [Result<RecordVerdict, GatewayError>] {
        await ledger(for: context).record(proposals, deadline: context.deadline)
    }

    /// What the caller gets for a verdict; `nil` where policy changed and everything has to be decided anew.
    ///
    /// - Throws: `quotaExceeded`, or `expiredToken` for a ticket without uses left.
    func answer<Body: ProvenBody>(
        _ body: Body, _ draft: Draft<Body.Content>, by verdict: RecordVerdict, to caller: Caller
    ) throws(GatewayError) -> Body.Issued? {
        switch verdict {
        case .recorded(let remaining):
            return body.issued(draft, quotas: caller.balances(of: draft.proposal.charges, remaining))
        case .quotaExceeded(let refusal):
            throw counted(caller.error(for: refusal), of: caller, in: draft.proposal.bucket)
        case .stale: return nil
        }
    }

    /// The instant to decide at; `nil` where no position covers both the caller's token and the rows, which happens only after
    /// a failover or a restart of the cache.
    private func instant(for caller: Caller, under policy: AccessPolicy) throws(GatewayError) -> Date? {
        let instant = now()
        if let end = caller.expiresAt, end <= instant { throw .expiredToken }
        return caller.position.mayPrecede(policy.position) ? instant : nil
    }

    /// Counts a refusal and returns it to be thrown.
    private func counted(_ error: GatewayError, of caller: Caller, in bucket: BucketName?) -> GatewayError {
        ledger.count(Denial(principal: caller.principal, bucket: bucket, code: error.code))
        return error
    }

    private func ledger(for context: RequestContext) -> any IssuanceLedger {
        context.repeatable?.ledger ?? ledger
    }
}

// MARK: - Identifiers

extension ProvenIssuing {
    /// The identifier of an issuance: the same each time where the request can be repeated, else a new one.
    ///
    /// - Throws: `unavailable` without random bytes.
    func id(of repeatable: RepeatableIssuance?, at instant: Date) throws(GatewayError) -> UUID {
        if let repeatable { return repeatable.id(at: instant) }
        return try newID(at: instant)
    }

    /// The name of an object that the gateway names: the same each time where the request can be repeated.
    ///
    /// - Parameter place: Which of several objects of one request it is.
    /// - Throws: `unavailable` without random bytes.
    func newName(at place: Int, in repeatable: RepeatableIssuing?) throws(GatewayError) -> UUID {
        if let repeatable { return repeatable.name(at: place) }
        return try newID(at: now())
    }

    /// A new UUIDv7.
    ///
    /// - Throws: `unavailable` without random bytes.
    func newID(at instant: Date) throws(GatewayError) -> UUID {
        guard let bytes = try? randomBytes(10), bytes.count == 10 else {
            throw .unavailable(retryAfter: 1, cause: "the system gives no random bytes")
        }
        return .version7(at: instant, randomBytes: bytes)
    }
}

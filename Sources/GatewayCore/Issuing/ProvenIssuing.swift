import Figures
public import FoundationEssentials

/// The only path by which a credential of any form leaves the process: look up, decide, sign, record, and only then
/// answer.
///
/// Decisions are made from memory and proved by the statement that records them. If policy changed in between, or
/// another primary took over, nothing is recorded. The log of changes is then read, the caller is authenticated again,
/// and the request is decided again. A ``ProvenBody`` supplies the part that differs between deliveries.
public final class ProvenIssuing: Sendable {
    let cache: PolicyCache
    /// The clock that stores compare expiry times with.
    let now: @Sendable () -> Date
    /// Counts what was recorded.
    public let issued = IssuanceCounts()
    private let authenticator: any Authenticator
    private let ledger: any IssuanceLedger
    private let denials: any DenialCounting
    private let randomBytes: @Sendable (Int) throws -> [UInt8]

    // While a script changes a hundred rows a second for one group, about one attempt in ten succeeds for the group's
    // members. Running out of attempts takes faster changes than that, and the deadline usually passes first.
    private static let maxConfirmedAttempts = 31

    /// Creates the issuing steps from their parts.
    ///
    /// - Parameters:
    ///   - cache: The policy rows that decisions use.
    ///   - authenticator: Checks the caller's token again after policy has changed.
    ///   - ledger: Proves, charges and records issuances.
    ///   - denials: Counts refusals.
    ///   - now: The clock that stores compare expiry times with.
    ///   - randomBytes: Returns the requested number of unpredictable bytes.
    public init(
        cache: PolicyCache, authenticator: any Authenticator, ledger: any IssuanceLedger, denials: any DenialCounting,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.cache = cache
        self.authenticator = authenticator
        self.ledger = ledger
        self.denials = denials
        self.now = now
        self.randomBytes = randomBytes
    }

    /// Issues one credential.
    ///
    /// A refusal is based on committed policy: if memory refuses a request, the log of changes is read and the request
    /// is decided again. A grant therefore takes effect as soon as it is made.
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. If it throws, no
    ///   credential has left the process.
    func issue<Body: ProvenBody>(
        _ body: Body, in context: RequestContext
    ) async throws(GatewayError) -> Body.Issued {
        // Most requests need one attempt, which has no frame for what follows a change of policy.
        if let issued = try await issue(body, in: ProofAttempt(context)) { return issued }
        return try await untilProved(context) { attempt throws(GatewayError) in
            try await self.issue(body, in: attempt)
        }
    }

    /// Attempts to issue one credential; returns `nil` if policy changed, or may have changed, meanwhile.
    private func issue<Body: ProvenBody>(
        _ body: Body, in attempt: ProofAttempt
    ) async throws(GatewayError) -> Body.Issued? {
        let policy = try await body.policy(for: attempt.caller, in: cache)
        guard let draft = try await draft(body, under: policy, in: attempt) else { return nil }
        let context = attempt.context
        let verdict = try await ledger(for: context).record(draft.proposal, deadline: context.deadline)
        return try answer(body, draft, by: verdict, in: attempt)
    }

    /// Decides by committed policy about an operation that the gateway performs itself. Nothing is signed, recorded or
    /// charged.
    ///
    /// - Throws: The refusal, `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`.
    func check(_ request: IssueRequest, in context: RequestContext) async throws(GatewayError) {
        try await untilProved(context) { attempt throws(GatewayError) -> Void? in
            let caller = attempt.caller
            let policy = try await self.cache.access(
                of: caller.principal, groups: caller.groups, to: request.bucket, key: request.key)
            return try self.check(request, under: policy, in: attempt) ? () : nil
        }
    }

    /// Runs attempts until one has an answer. Before each, it reads the policy changes and authenticates the caller
    /// again, so that a refusal is final.
    ///
    /// - Parameters:
    ///   - context: The caller and the circumstances of the request.
    ///   - body: One attempt; returns `nil` if policy changed, or may have changed, during it.
    /// - Throws: The errors of the attempt; `slowDown` if too many attempts had no answer.
    @inline(never)
    func untilProved<Answer>(
        _ context: RequestContext, _ body: (ProofAttempt) async throws(GatewayError) -> Answer?
    ) async throws(GatewayError) -> Answer {
        var attempt = ProofAttempt(context, isConfirmed: true)
        for _ in 0..<Self.maxConfirmedAttempts {
            try await cache.advance()
            attempt.caller = try await authenticator.authenticate(attempt.caller.token)
            if let answer = try await body(attempt) { return answer }
        }
        throw .slowDown(retryAfter: 1, cause: "policy changed under every attempt")
    }
}

// MARK: - Steps of an attempt

// The frame of an asynchronous function holds the variables of every function that is inlined into it, those of
// refusals too. A frame of more than 984 bytes is an allocation of its own for each request, which is why these steps
// are not inlined.
extension ProvenIssuing {
    /// Decides and signs; returns `nil` if policy must be read again before the request can be decided.
    ///
    /// - Throws: The refusal, once it is confirmed; `expiredToken`, `unavailable`.
    @inline(never)
    func draft<Body: ProvenBody>(
        _ body: Body, under policy: AccessPolicy, in attempt: ProofAttempt
    ) async throws(GatewayError) -> Draft<Body.Content>? {
        guard let instant = try instant(for: attempt.caller, under: policy) else { return nil }
        let drafted: Drafted<Body.Content> =
            if !body.endsUpload, let closure = attempt.context.closure(under: policy) {
                .refused(closure)
            } else {
                try await body.draft(under: policy, in: attempt, at: instant, for: self)
            }
        return try settled(drafted, of: body, under: policy, in: attempt)
    }

    /// Returns the draft; `nil` for a refusal before which policy must be read again.
    ///
    /// - Throws: The refusal, once it is confirmed.
    @inline(never)
    private func settled<Body: ProvenBody>(
        _ drafted: Drafted<Body.Content>, of body: Body, under policy: AccessPolicy, in attempt: ProofAttempt
    ) throws(GatewayError) -> Draft<Body.Content>? {
        switch drafted {
        case .draft(let draft): return draft
        case .refused(let refusal):
            guard attempt.isConfirmed else { return nil }
            throw counted(refusal, body.target, in: policy.bucket?.name, attempt)
        }
    }

    /// Decides about a request for which nothing is signed; returns `false` if policy must be read again before that.
    ///
    /// - Throws: The refusal; `expiredToken`.
    func check(
        _ request: IssueRequest, under policy: AccessPolicy, in attempt: ProofAttempt
    ) throws(GatewayError) -> Bool {
        let (caller, context) = (attempt.caller, attempt.context)
        guard let instant = try instant(for: caller, under: policy) else { return false }
        let refusal: Refusal
        if let closure = context.closure(under: policy) {
            refusal = closure
        } else {
            let decision = decide(
                request, for: caller.subject, under: policy, sourceAddress: context.sourceAddress, now: instant)
            guard case .refuse(let found) = decision else { return true }
            refusal = found
        }
        throw counted(refusal, RefusalTarget(request), in: policy.bucket?.name, attempt)
    }

    /// Counts the refusal of a request whose URL leads to no bucket or to several, notes the host, and returns its
    /// error for throwing.
    func refused(hasNone: Bool, at host: String, in context: RequestContext) -> GatewayError {
        let error = GatewayError.accessDenied
        denials.count(Denial(principal: context.caller.principal, bucket: nil, code: error.code))
        let note =
            hasNone
            ? RefusalNote(code: error.code, .noSuchBucket, subject: "the URL leads to no bucket at \(host)")
            : RefusalNote(code: error.code, .notPermitted, subject: "the URL leads to several buckets at \(host)")
        context.refusals?.note(note)
        return error
    }

    /// Records drafts together; the verdicts are in the same order.
    func record(
        _ proposals: [IssuanceProposal], in context: RequestContext
    ) async -> [Result<RecordVerdict, GatewayError>] {
        await ledger(for: context).record(proposals, deadline: context.deadline)
    }

    /// Returns the value that the caller receives for a verdict; `nil` if policy changed and the request must be
    /// decided again.
    ///
    /// - Throws: `quotaExceeded`; `expiredToken` for a ticket without remaining uses.
    @inline(never)
    func answer<Body: ProvenBody>(
        _ body: Body, _ draft: Draft<Body.Content>, by verdict: RecordVerdict, in attempt: ProofAttempt
    ) throws(GatewayError) -> Body.Issued? {
        let caller = attempt.caller
        switch verdict {
        case .recorded(let remaining):
            if attempt.context.repeatable?.isRecorded(draft.proposal.id) != true {
                issued[draft.proposal.delivery, draft.scheme, draft.proposal.action].add()
            }
            return body.issued(draft, quotas: caller.balances(of: draft.proposal.charges, remaining))
        case .quotaExceeded(let refusal):
            throw counted(.unmet(caller.error(for: refusal)), body.target, in: draft.proposal.bucket, attempt)
        case .stale: return nil
        }
    }

    /// Returns the instant to decide at; `nil` if no policy position covers both the caller's token and the rows. That
    /// happens only after a failover or a restart of the cache.
    private func instant(for caller: Caller, under policy: AccessPolicy) throws(GatewayError) -> Date? {
        let instant = now()
        if let end = caller.expiresAt, end <= instant { throw .expiredToken }
        return caller.position.mayPrecede(policy.position) ? instant : nil
    }

    /// Counts a refusal, notes its reason, and returns its error for throwing.
    private func counted(
        _ refusal: Refusal, _ target: @autoclosure () -> RefusalTarget, in bucket: BucketName?,
        _ attempt: ProofAttempt
    ) -> GatewayError {
        let caller = attempt.caller
        denials.count(Denial(principal: caller.principal, bucket: bucket, code: refusal.error.code))
        if let refusals = attempt.context.refusals {
            refusals.note(RefusalNote(refusal, target()))
        }
        return refusal.error
    }

    private func ledger(for context: RequestContext) -> any IssuanceLedger {
        context.repeatable?.ledger ?? ledger
    }
}

// MARK: - Identifiers

extension ProvenIssuing {
    /// Returns the identifier of an issuance: the same each time if the request can be repeated, otherwise a new one.
    ///
    /// - Throws: `unavailable` if no random bytes are available.
    func id(of repeatable: RepeatableIssuance?, at instant: Date) throws(GatewayError) -> UUID {
        if let repeatable { return repeatable.id(at: instant) }
        return try newID(at: instant)
    }

    /// Returns a name for an object that the gateway names: the same each time if the request can be repeated.
    ///
    /// - Parameter place: The index of the object within its request.
    /// - Throws: `unavailable` if no random bytes are available.
    func newName(at place: Int, in repeatable: RepeatableIssuing?) throws(GatewayError) -> UUID {
        if let repeatable { return repeatable.name(at: place) }
        return try newID(at: now())
    }

    /// Generates a UUIDv7.
    ///
    /// - Throws: `unavailable` if no random bytes are available.
    func newID(at instant: Date) throws(GatewayError) -> UUID {
        guard let bytes = try? randomBytes(10), bytes.count == 10 else {
            throw .unavailable(retryAfter: 1, cause: "the system gives no random bytes")
        }
        return .version7(at: instant, randomBytes: bytes)
    }
}

extension RequestContext {
    /// Returns the refusal for a bucket that does not open the protocol of the request; `nil` if it does.
    fileprivate func closure(under policy: AccessPolicy) -> Refusal? {
        guard let clientProtocol, let bucket = policy.bucket, !bucket.opens(clientProtocol) else {
            return nil
        }
        return .closed(clientProtocol)
    }
}

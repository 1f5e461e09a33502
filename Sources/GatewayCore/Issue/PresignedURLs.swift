public import Foundation

/// Issues presigned URLs: look up, decide, sign, record, answer.
///
/// Decisions are made from memory and proved when they are recorded; nothing is answered that is not on record.
public final class PresignedURLs: Sendable {
    /// Most requests that are answered together.
    public static let maxBatch = 1000

    let cache: PolicyCache
    let authenticator: any Authenticator
    let now: @Sendable () -> Date
    let ledger: any IssuanceLedger
    let randomBytes: @Sendable (Int) throws -> [UInt8]
    let signer = URLSigner()
    let repeatable: RepeatableIssuing?

    // A script that changes a hundred rows a second for one group lets about one attempt in ten of its members through. Who
    // runs out of attempts has met something wilder; the deadline mostly comes first.
    static let maxAttempts = 32

    /// Puts the use case together.
    ///
    /// - Parameters:
    ///   - cache: The rows to decide by.
    ///   - authenticator: Checks a caller's token anew when policy changed meanwhile.
    ///   - ledger: Where issuances are proved, charged and recorded.
    ///   - now: The clock that stores compare with.
    ///   - randomBytes: As many bytes as asked for that nobody can predict.
    public convenience init(
        cache: PolicyCache, authenticator: any Authenticator, ledger: any IssuanceLedger,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.init(
            cache: cache, authenticator: authenticator, ledger: ledger, now: now, randomBytes: randomBytes,
            repeatable: nil)
    }

    private init(
        cache: PolicyCache, authenticator: any Authenticator, ledger: any IssuanceLedger,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8],
        repeatable: RepeatableIssuing?
    ) {
        self.repeatable = repeatable
        self.cache = cache
        self.authenticator = authenticator
        self.ledger = ledger
        self.now = now
        self.randomBytes = randomBytes
    }

    /// Checks the fields of a request; where the object's name is left to the gateway, it is made here.
    ///
    /// - Parameters:
    ///   - fields: The fields.
    ///   - place: Which of several in one request it is.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)``, `unavailable` without random bytes for a name.
    public func request(_ fields: IssueRequest.Fields, at place: Int = 0) throws(GatewayError) -> IssueRequest {
        guard fields.keyPrefix != nil else { return try IssueRequest(fields) }
        return try IssueRequest(fields) { () throws(GatewayError) in try self.newName(at: place) }
    }

    /// The same use case for a request that came with an idempotency key: what it issued already is proved and signed again.
    public func repeating(_ issuing: RepeatableIssuing?) -> PresignedURLs {
        guard let issuing else { return self }
        return PresignedURLs(
            cache: cache, authenticator: authenticator, ledger: issuing.ledger, now: now, randomBytes: randomBytes,
            repeatable: issuing)
    }

    /// Issues a URL.
    ///
    /// A refusal rests on policy as it is committed: what memory refuses is decided again after the log of changes is read,
    /// so that a grant works from the moment it is made.
    /// - Parameters:
    ///   - request: What is asked for.
    ///   - caller: Who asks, authenticated.
    ///   - sourceAddress: Where the request came from; `nil` where that cannot be known.
    ///   - requestID: Identifier of the request, as in logs.
    ///   - deadline: After this nothing is recorded any more.
    /// - Throws: The refusal, or `slowDown`, `unavailable`, `unauthenticated`, `expiredToken`. No URL exists then that left.
    public func issue(
        _ request: IssueRequest, for caller: Caller, sourceAddress: IPAddress?, requestID: String,
        deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> IssuedURL {
        let request = identified(request, at: 0)
        var caller = caller
        var isConfirmed = false
        for _ in 0..<Self.maxAttempts {
            let policy = try await cache.access(
                of: caller.principal, groups: caller.groups, to: request.bucket, key: request.key)
            let issuance = try prepare(
                request, for: caller, under: policy, from: sourceAddress, requestID: requestID,
                isConfirmed: isConfirmed)
            if let issuance {
                let verdict = try await ledger.record(issuance.proposal, deadline: deadline)
                if let issued = try answer(issuance, by: verdict, for: caller) { return issued }
            }
            try await cache.advance()
            isConfirmed = true
            caller = try await authenticator.authenticate(caller.token)
        }
        throw .slowDown(retryAfter: 1)
    }

    /// Issues URLs, each for itself, and records them together.
    ///
    /// - Returns: For each request, in their order, what ``issue(_:for:sourceAddress:requestID:deadline:)`` would give for it
    ///   alone.
    public func issue(
        _ requests: [IssueRequest], for caller: Caller, sourceAddress: IPAddress?, requestID: String,
        deadline: ContinuousClock.Instant
    ) async -> [Result<IssuedURL, GatewayError>] {
        var round = IssueRound(
            requests: requests.enumerated().map { identified($1, at: $0) }, caller: caller,
            sourceAddress: sourceAddress, requestID: requestID,
            deadline: deadline
        )
        do throws(GatewayError) {
            for _ in 0..<Self.maxAttempts {
                await run(&round)
                guard !round.pending.isEmpty else { break }
                try await cache.advance()
                round.isConfirmed = true
                round.caller = try await authenticator.authenticate(round.caller.token)
            }
            round.failPending(.slowDown(retryAfter: 1))
        } catch {
            round.failPending(error)
        }
        return round.results
    }
}
